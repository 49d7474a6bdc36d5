-- one row per run and check
create table checks (
    run_id varchar not null,
    name varchar not null,
    passed boolean not null,
    observed double,
    threshold double,
    detail varchar,
    constraint checks_key primary key (run_id, name)
);

comment on table checks is 'one row per run and check';
comment on column checks.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column checks.name is 'name of the check';
comment on column checks.passed is 'whether the run passed it';
comment on column checks.observed is 'what was observed, in the check''s unit';
comment on column checks.threshold is 'what it was compared with, same unit';
comment on column checks.detail is 'one line for people';
