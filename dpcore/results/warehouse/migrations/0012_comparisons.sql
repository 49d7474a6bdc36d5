-- one row per run, other run, attribute and functional
create table comparisons (
    run_id varchar not null,
    other_run_id varchar not null,
    attribute varchar not null,
    functional varchar not null,
    difference double,
    standard_error double,
    confidence double not null,
    low double,
    high double,
    reason varchar,
    constraint comparisons_key primary key (run_id, other_run_id, attribute, functional),
    constraint comparisons_difference_or_reason check (difference is not null or reason is not null),
    constraint comparisons_two_runs check (run_id <> other_run_id),
    constraint comparisons_standard_error check (standard_error >= 0),
    constraint comparisons_confidence check (confidence > 0 and confidence < 1),
    constraint comparisons_interval check (low <= high)
);

comment on table comparisons is 'one row per run, other run, attribute and functional';
comment on column comparisons.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column comparisons.other_run_id is 'the run it is compared with, usually of the round before';
comment on column comparisons.attribute is 'name of the attribute in the scheme';
comment on column comparisons.functional is 'the number compared, as in functionals';
comment on column comparisons.difference is 'this run''s estimate minus the other''s, in the functional''s unit; null where it was refused';
comment on column comparisons.standard_error is 'standard error of the difference, in the functional''s unit';
comment on column comparisons.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1';
comment on column comparisons.low is 'lower end of the interval, in the functional''s unit';
comment on column comparisons.high is 'upper end of the interval, in the functional''s unit';
comment on column comparisons.reason is 'why there is no difference, or a remark; null when nothing is to be said';
