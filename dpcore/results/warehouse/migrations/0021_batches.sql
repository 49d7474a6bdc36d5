-- one row per run and file of collected reports that it counted
create table batches (
    run_id varchar not null,
    file varchar not null,
    sent_for varchar not null,
    reports bigint not null,
    constraint batches_key primary key (run_id, file),
    constraint batches_reports check (reports >= 0)
);

comment on table batches is 'one row per run and file of collected reports that it counted';
comment on column batches.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column batches.file is 'SHA-256 of the file''s bytes, hex digits, by which no file is counted in two rounds';
comment on column batches.sent_for is 'round the file says it is for; late where that is before the run''s own; empty where it says none';
comment on column batches.reports is 'reports in the file, accepted or not, reports';
