-- one row per run, attribute, estimator, group and number: how far malicious clients can have moved it
create table sensitivities (
    run_id varchar not null,
    attribute varchar not null,
    estimator varchar not null,
    given varchar not null,
    number varchar not null,
    sensitivity double not null,
    is_exact boolean not null,
    constraint sensitivities_key primary key (run_id, attribute, estimator, given, number),
    constraint sensitivities_sensitivity check (sensitivity >= 0)
);

comment on table sensitivities is 'one row per run, attribute, estimator, group and number: how far malicious clients can have moved it';
comment on column sensitivities.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column sensitivities.attribute is 'name of the attribute in the scheme';
comment on column sensitivities.estimator is 'estimator that made the number';
comment on column sensitivities.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column sensitivities.number is 'the number: a functional, as in functionals, or frequency(CATEGORY), of the unbiased frequencies.raw';
comment on column sensitivities.sensitivity is 'what one report is worth at most, in the number''s unit: a share beta of malicious reports moves it by no more than sensitivity * beta / (1 - beta)';
comment on column sensitivities.is_exact is 'whether the bound holds whatever beta is; else to first order in beta, before an estimate is cut to its range';
