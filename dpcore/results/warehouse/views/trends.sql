-- one row per scheme, round, attribute, estimator, group and number: the estimate of the run that stands, and its change since the round before
create or replace view trends as
select
    estimates.scheme,
    estimates."round",
    estimates.run_id,
    estimates.attribute,
    estimates.estimator,
    estimates.given,
    estimates.number,
    estimates.estimate,
    estimates.low,
    estimates.high,
    estimates.confidence,
    changes.other_round as previous_round,
    changes.difference as change,
    changes.low as change_low,
    changes.high as change_high,
    changes.differs,
    coalesce(estimates.reason, changes.reason) as reason
from latest_estimates as estimates
left join latest_comparisons as changes
    on changes.run_id = estimates.run_id
    and changes.attribute = estimates.attribute
    and changes.given = estimates.given
    and changes.other_given = estimates.given -- two groups of one run are others
    and changes.functional = estimates.number;

comment on column trends.previous_round is 'the round before, of the same scheme digest and source, that this one was compared with; null where there is none';
comment on column trends.change is 'how far the number has moved since then, in its unit, of shares before they are made possible; null where it was refused';
comment on column trends.change_low is 'lower end of the change''s interval, in the number''s unit';
comment on column trends.change_high is 'upper end of the change''s interval, in the number''s unit';
comment on column trends.differs is 'whether more than chance explains it, in all rows of the two rounds at once; null where there is no change';
comment on column trends.reason is 'why there is no estimate or no change and what would do, or a remark; null when nothing is to be said';
