-- one row per run, other run, attribute, group, other group and functional: what comparisons holds from here on
alter table comparisons rename to earlier_comparisons;

create table comparisons (
    run_id varchar not null,
    other_run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    other_given varchar not null default '',
    functional varchar not null,
    difference double,
    standard_error double,
    correlation double,
    confidence double not null,
    low double,
    high double,
    deviations double,
    threshold double,
    differs boolean,
    reason varchar,
    constraint group_comparisons_key primary key (run_id, other_run_id, attribute, given, other_given, functional),
    constraint group_comparisons_difference_or_reason check (difference is not null or reason is not null),
    constraint group_comparisons_two_sides check (run_id <> other_run_id or given <> other_given),
    constraint group_comparisons_standard_error check (standard_error >= 0),
    constraint group_comparisons_correlation check (correlation between -1 and 1),
    constraint group_comparisons_confidence check (confidence > 0 and confidence < 1),
    constraint group_comparisons_interval check (low <= high),
    constraint group_comparisons_deviations check (deviations >= 0 and threshold >= 0)
);

insert into comparisons by name
select
    run_id, other_run_id, attribute, functional, difference, standard_error,
    case when difference is not null then 0 end as correlation,
    confidence, low, high, reason
from earlier_comparisons;

drop table earlier_comparisons;

alter table frequencies add column raw double;

comment on table comparisons is 'one row per run, other run, attribute, group, other group and functional';
comment on column comparisons.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column comparisons.other_run_id is 'the run it is compared with, usually of the round before; its own where two of its groups are compared';
comment on column comparisons.attribute is 'name of the attribute in the scheme';
comment on column comparisons.given is 'group of this run: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column comparisons.other_given is 'group of the other run, likewise';
comment on column comparisons.functional is 'the number compared, as in functionals, or frequency(CATEGORY)';
comment on column comparisons.difference is 'estimate of given in run_id minus that of other_given in other_run_id, in the functional''s unit; null where it was refused';
comment on column comparisons.standard_error is 'standard error of the difference, in the functional''s unit';
comment on column comparisons.correlation is 'of the two sides'' errors, as it was counted: 0 for two runs, known or bounded for groups of one, -1 to 1; null where refused';
comment on column comparisons.confidence is 'stated coverage of this row''s interval alone, a probability strictly between 0 and 1';
comment on column comparisons.low is 'lower end of the interval, in the functional''s unit';
comment on column comparisons.high is 'upper end of the interval, in the functional''s unit';
comment on column comparisons.deviations is 'distance of the difference from zero, in standard errors as the interval''s end on that side counts them';
comment on column comparisons.threshold is 'deviations that no row of the two runs exceeds by chance, with 0.99: the thresholds of their rows hold at once';
comment on column comparisons.differs is 'whether deviations exceed threshold, which is what check drift(ATTRIBUTE) asks; null where refused and before version 16';
comment on column comparisons.reason is 'why there is no difference, or a remark; null when nothing is to be said';
comment on column frequencies.estimate is 'share of the category: the nearest possible ones to raw, nonnegative and of sum one, a probability';
comment on column frequencies.raw is 'the unbiased estimate, which may be below 0 or above 1 and which differences are made of; null before version 16';
