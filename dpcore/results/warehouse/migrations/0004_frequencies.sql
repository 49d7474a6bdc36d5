-- one row per run, attribute, estimator, group and category
create table frequencies (
    run_id varchar not null,
    attribute varchar not null,
    estimator varchar not null,
    given varchar not null default '',
    category varchar not null,
    estimate double not null,
    standard_error double,
    confidence double not null,
    low double,
    high double,
    constraint frequencies_key primary key (run_id, attribute, estimator, given, category),
    constraint frequencies_standard_error check (standard_error >= 0),
    constraint frequencies_confidence check (confidence > 0 and confidence < 1),
    constraint frequencies_interval check (low <= high)
);

comment on table frequencies is 'one row per run, attribute, estimator, group and category';
comment on column frequencies.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column frequencies.attribute is 'name of the attribute in the scheme';
comment on column frequencies.estimator is 'estimator that made this row';
comment on column frequencies.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column frequencies.category is 'category of the attribute';
comment on column frequencies.estimate is 'share of the clients in the category, a probability; shares of a group add up to 1';
comment on column frequencies.standard_error is 'standard error of the unprojected share, a probability';
comment on column frequencies.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1';
comment on column frequencies.low is 'lower end of the interval, a probability';
comment on column frequencies.high is 'upper end of the interval, a probability';
