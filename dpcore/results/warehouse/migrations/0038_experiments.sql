-- one row per run, label with a control arm, other arm, attribute and outcome
create table experiments (
    run_id varchar not null,
    label varchar not null,
    arm varchar not null,
    control varchar not null,
    attribute varchar not null,
    functional varchar not null,
    difference double,
    standard_error double,
    low double,
    high double,
    confidence double not null,
    p_value double,
    adjusted_p_value double,
    outcomes bigint not null,
    ratio double,
    ratio_low double,
    ratio_high double,
    reason varchar,
    constraint experiments_key primary key (run_id, label, arm, attribute, functional),
    constraint experiments_error check (standard_error >= 0),
    constraint experiments_intervals check (low <= difference and difference <= high and ratio_low <= ratio and ratio <= ratio_high),
    constraint experiments_p_values check (p_value >= 0 and p_value <= adjusted_p_value and adjusted_p_value <= 1)
);

comment on table experiments is 'one row per run, label with a control arm, other arm, attribute and outcome';
comment on column experiments.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column experiments.label is 'name of the label whose categories are the arms';
comment on column experiments.arm is 'category of the arm that is compared with the control arm';
comment on column experiments.control is 'category of the control arm';
comment on column experiments.attribute is 'name of the attribute in the scheme';
comment on column experiments.functional is 'functional as in the scheme, or frequency(CATEGORY)';
comment on column experiments.difference is 'value of the arm less that of the control arm, in the functional''s unit, using raw for frequencies; null if unavailable';
comment on column experiments.standard_error is 'standard error of the difference, in the functional''s unit';
comment on column experiments.low is 'lower confidence limit of the difference, in the functional''s unit';
comment on column experiments.high is 'upper confidence limit of the difference, in the functional''s unit';
comment on column experiments.confidence is 'confidence level of each interval alone, a probability';
comment on column experiments.p_value is 'probability of a difference as large if the true one is zero, for this row alone';
comment on column experiments.adjusted_p_value is 'p_value adjusted for all outcomes of the experiment in the round, by Holm''s method';
comment on column experiments.outcomes is 'number of outcomes of all arms that are tested together; two proportions that sum to one count once';
comment on column experiments.ratio is 'value of the arm divided by that of the control arm; null unless the control is significantly above zero';
comment on column experiments.ratio_low is 'lower confidence limit of the ratio, by Fieller''s method';
comment on column experiments.ratio_high is 'upper confidence limit of the ratio, by Fieller''s method';
comment on column experiments.reason is 'why there is no difference or no ratio, and what to do; null otherwise';
