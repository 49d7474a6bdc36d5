-- one row per scheme, round, attribute, estimator, group and number: the estimate of the current run, its change since the previous round, and the estimate of all rounds together
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
    smoothed.smoothed,
    smoothed.smoothed_low,
    smoothed.smoothed_high,
    smoothed.filtered,
    smoothed.filtered_low,
    smoothed.filtered_high,
    smoothed.forecast,
    smoothed.forecast_low,
    smoothed.forecast_high,
    smoothed.shift,
    smoothed.shift_p_value,
    smoothed.shifted,
    coalesce(estimates.reason, changes.reason) as reason
from latest_estimates as estimates
left join latest_comparisons as changes
    on changes.run_id = estimates.run_id
    and changes.attribute = estimates.attribute
    and changes.given = estimates.given
    and changes.other_given = estimates.given -- two groups of one run are others
    and changes.functional = estimates.number
left join smoothed
    on smoothed.run_id = estimates.run_id
    and smoothed.attribute = estimates.attribute
    and smoothed.given = estimates.given
    and smoothed.number = estimates.number
    and estimates.estimator not in ('bias_aware', 'distribution_free', 'two_rounds'); -- of other estimates of the number

comment on column trends.previous_round is 'previous round with the same scheme digest and source; null if there is none';
comment on column trends.change is 'change since the previous round, in the number''s unit, using raw for frequencies; null if no difference is available';
comment on column trends.change_low is 'lower confidence limit of the change, in the number''s unit';
comment on column trends.change_high is 'upper confidence limit of the change, in the number''s unit';
comment on column trends.differs is 'true if the change is statistically significant, simultaneously over all rows of the two rounds; null if there is no change';
comment on column trends.reason is 'why there is no estimate or no change and what to do, or a remark; null if there is neither';
