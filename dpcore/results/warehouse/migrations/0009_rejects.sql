-- one row per run and reason for refusing reports or records
create table rejects (
    run_id varchar not null,
    reason varchar not null,
    count bigint not null,
    example_position bigint,
    constraint rejects_key primary key (run_id, reason),
    constraint rejects_count check ("count" > 0),
    constraint rejects_example_position check (example_position >= 0)
);

comment on table rejects is 'one row per run and reason for refusing reports or records';
comment on column rejects.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column rejects.reason is 'why they were refused; never their content';
comment on column rejects.count is 'how many were refused for this reason, reports';
comment on column rejects.example_position is 'position of one of them in its batch, from 0';
