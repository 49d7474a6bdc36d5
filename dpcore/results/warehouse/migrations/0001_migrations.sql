-- one row per migration applied to this file
create table migrations (
    version integer not null,
    name varchar not null,
    sha256 varchar not null,
    applied_at timestamp not null,
    constraint migrations_key primary key (version),
    constraint migrations_version check (version >= 1),
    constraint migrations_sha256 check (regexp_full_match(sha256, '[0-9a-f]{64}'))
);

comment on table migrations is 'one row per migration applied to this file';
comment on column migrations.version is 'number of the migration, contiguous from 1';
comment on column migrations.name is 'what the migration does, from its file name';
comment on column migrations.sha256 is 'SHA-256 of the migration''s text with Unix line ends, 64 hex digits';
comment on column migrations.applied_at is 'time of application, UTC';
