-- one row per run and attribute: the privacy that was promised and what is kept
create table budgets (
    run_id varchar not null,
    attribute varchar not null,
    mechanism varchar not null,
    stated varchar not null,
    epsilon double not null,
    certificate varchar not null,
    charges bigint not null,
    constraint budgets_key primary key (run_id, attribute),
    constraint budgets_epsilon check (epsilon > 0),
    constraint budgets_charges check (charges >= 0)
);

comment on table budgets is 'one row per run and attribute: the privacy that was promised and what is kept';
comment on column budgets.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column budgets.attribute is 'name of the attribute in the scheme';
comment on column budgets.mechanism is 'mechanism that privatized the attribute';
comment on column budgets.stated is 'epsilon as the scheme states it, natural-log units, such as 1 or ln 3';
comment on column budgets.epsilon is 'epsilon of one charge as a number, natural-log units';
comment on column budgets.certificate is 'what the mechanism keeps, exactly: a bound on e^epsilon or on epsilon as a fraction';
comment on column budgets.charges is 'charges made against this budget in the run, one a report, a count';
