-- one row per run of a round, landed, failed or waiting: what runs holds from here on
alter table runs rename to earlier_runs;

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
    late bigint,
    constraint waiting_key primary key (run_id),
    constraint waiting_run_id check (regexp_full_match(run_id, '[0-9a-f]{16}')),
    constraint waiting_source check (source in ('simulated', 'records', 'reports')),
    constraint waiting_randomness check (randomness in ('secure', 'seeded')),
    constraint waiting_state check (state in ('landed', 'failed', 'waiting')),
    constraint waiting_counts check (clients >= 0 and accepted >= 0 and rejected >= 0 and late >= 0),
    constraint waiting_late_are_of_all check (late <= accepted + rejected),
    constraint waiting_seed_only_of_a_simulation check (seed is null or (source = 'simulated' and randomness = 'seeded')),
    constraint waiting_landed_is_complete check (state <> 'landed' or (accepted is not null and rejected is not null and finished_at is not null)),
    constraint waiting_times check (finished_at >= started_at)
);

insert into runs by name from earlier_runs;

drop table earlier_runs;

comment on table runs is 'one row per run of a round, landed, failed or waiting';
comment on column runs.run_id is 'first 16 hex digits of SHA-256 over scheme digest, round, and seed, flow run, nonce or files of reports';
comment on column runs.scheme is 'name of the scheme';
comment on column runs.scheme_digest is 'SHA-256 of the canonical scheme, hex digits';
comment on column runs.round is 'name of the round; sorts as text, such as 2026-11-20';
comment on column runs.source is 'where the reports came from: simulated people, records privatized here, or reports collected';
comment on column runs.clients is 'clients that took part, persons';
comment on column runs.accepted is 'reports that passed validation, reports';
comment on column runs.rejected is 'reports or records that were refused, reports';
comment on column runs.randomness is 'secure: the operating system''s; seeded: reproducible, a rehearsal or a simulation';
comment on column runs.seed is 'seed of a simulation; never kept with records, whose noise it would undo';
comment on column runs.state is 'landed: all tables hold the run; failed: only this row does; waiting: likewise, for too few clients';
comment on column runs.started_at is 'start of the run, UTC';
comment on column runs.finished_at is 'end of the run, UTC';
comment on column runs.version is 'version of ldpflow that ran';
comment on column runs.flow_run_id is 'Prefect flow run, where one ran it';
comment on column runs.late is 'of accepted and rejected, those sent for an earlier round; null before version 20 and where the run has not landed';
