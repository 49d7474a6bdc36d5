-- one row per run, attribute, estimator, group and functional
create table functionals (
    run_id varchar not null,
    attribute varchar not null,
    estimator varchar not null,
    given varchar not null default '',
    functional varchar not null,
    kind varchar not null,
    estimate double,
    plug_in double,
    standard_error double,
    confidence double not null,
    low double,
    high double,
    reason varchar,
    constraint functionals_key primary key (run_id, attribute, estimator, given, functional),
    constraint functionals_estimate_or_reason check (estimate is not null or reason is not null),
    constraint functionals_standard_error check (standard_error >= 0),
    constraint functionals_confidence check (confidence > 0 and confidence < 1),
    constraint functionals_interval check (low <= high)
);

comment on table functionals is 'one row per run, attribute, estimator, group and functional';
comment on column functionals.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column functionals.attribute is 'name of the attribute in the scheme';
comment on column functionals.estimator is 'estimator that made this row';
comment on column functionals.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column functionals.functional is 'the number, as in the scheme: mean, entropy, quantile(0.5)';
comment on column functionals.kind is 'kind of the functional, which decides how its interval is made';
comment on column functionals.estimate is 'corrected estimate, in the functional''s unit; null where it was refused';
comment on column functionals.plug_in is 'the functional of the estimated density, in the functional''s unit';
comment on column functionals.standard_error is 'standard error of the estimate, in the functional''s unit';
comment on column functionals.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1';
comment on column functionals.low is 'lower end of the interval, in the functional''s unit';
comment on column functionals.high is 'upper end of the interval, in the functional''s unit';
comment on column functionals.reason is 'why no estimate was given and what would do, or a remark; null when nothing is to be said';
