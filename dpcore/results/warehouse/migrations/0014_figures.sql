-- one row per run and picture
create table figures (
    run_id varchar not null,
    name varchar not null,
    path varchar not null,
    constraint figures_key primary key (run_id, name)
);

comment on table figures is 'one row per run and picture';
comment on column figures.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column figures.name is 'name of the picture';
comment on column figures.path is 'file of the picture on the machine that drew it';
