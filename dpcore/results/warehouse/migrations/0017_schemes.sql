-- one row per run: the scheme it ran under, whole
create table schemes (
    run_id varchar not null,
    description varchar not null,
    planned_clients bigint not null,
    reporting varchar not null,
    stated varchar not null,
    epsilon double not null,
    canonical varchar not null,
    constraint schemes_key primary key (run_id),
    constraint schemes_reporting check (reporting in ('all', 'one')),
    constraint schemes_epsilon check (epsilon > 0)
);

comment on table schemes is 'one row per run: the scheme it ran under, whole';
comment on column schemes.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column schemes.description is 'what is collected, in the scheme''s words; may be empty';
comment on column schemes.planned_clients is 'clients the scheme was made for, persons';
comment on column schemes.reporting is 'all: a client reports every attribute; one: it reports one, drawn publicly';
comment on column schemes.stated is 'epsilon a client spends in one round in total, as the scheme states it, natural-log units, such as 4 + ln 3';
comment on column schemes.epsilon is 'the same as a number';
comment on column schemes.canonical is 'the scheme''s canonical text (TOML), whose SHA-256 is the digest in runs';
