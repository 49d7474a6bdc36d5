-- one row per run of a round, landed or failed
create table runs (
    run_id varchar not null,
    scheme varchar not null,
    scheme_digest varchar not null,
    round varchar not null,
    source varchar not null,
    clients bigint,
    accepted bigint,
    rejected bigint,
    randomness varchar not null,
    seed bigint,
    state varchar not null,
    started_at timestamp not null,
    finished_at timestamp,
    version varchar not null,
    flow_run_id varchar,
    constraint runs_key primary key (run_id),
    constraint runs_run_id check (regexp_full_match(run_id, '[0-9a-f]{16}')),
    constraint runs_source check (source in ('simulated', 'records', 'reports')),
    constraint runs_randomness check (randomness in ('secure', 'seeded')),
    constraint runs_state check (state in ('landed', 'failed')),
    constraint runs_counts check (clients >= 0 and accepted >= 0 and rejected >= 0),
    constraint runs_seed_only_of_a_simulation check (seed is null or (source = 'simulated' and randomness = 'seeded')),
    constraint runs_landed_is_complete check (state = 'failed' or (accepted is not null and rejected is not null and finished_at is not null)),
    constraint runs_times check (finished_at >= started_at)
);

comment on table runs is 'one row per run of a round, landed or failed';
comment on column runs.run_id is 'first 16 hex digits of SHA-256 over scheme digest, round, and seed, flow run or nonce';
comment on column runs.scheme is 'name of the scheme';
comment on column runs.scheme_digest is 'SHA-256 of the canonical scheme, hex digits';
comment on column runs.round is 'name of the round; sorts as text, such as 2026-11-20';
comment on column runs.source is 'where the reports came from: simulated people, records privatized here, or reports collected';
comment on column runs.clients is 'clients that took part, persons';
comment on column runs.accepted is 'reports that passed validation, reports';
comment on column runs.rejected is 'reports or records that were refused, reports';
comment on column runs.randomness is 'secure: the operating system''s; seeded: reproducible, a rehearsal or a simulation';
comment on column runs.seed is 'seed of a simulation; never kept with records, whose noise it would undo';
comment on column runs.state is 'landed: all tables hold the run; failed: only this row does';
comment on column runs.started_at is 'start of the run, UTC';
comment on column runs.finished_at is 'end of the run, UTC';
comment on column runs.version is 'version of ldpflow that ran';
comment on column runs.flow_run_id is 'Prefect flow run, where one ran it';
