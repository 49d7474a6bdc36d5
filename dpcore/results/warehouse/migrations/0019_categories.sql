-- one row per run, categorical attribute and category of its scheme
create table categories (
    run_id varchar not null,
    attribute varchar not null,
    category varchar not null,
    position bigint not null,
    value double,
    constraint categories_key primary key (run_id, attribute, category)
);

comment on table categories is 'one row per run, categorical attribute and category of its scheme';
comment on column categories.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column categories.attribute is 'name of the attribute in the scheme';
comment on column categories.category is 'category of the attribute';
comment on column categories.position is 'place of the category in the scheme, from 0';
comment on column categories.value is 'number the scheme gives the category; null where it gives none';
