-- one row per run and attribute of its scheme
create table attributes (
    run_id varchar not null,
    attribute varchar not null,
    position bigint not null,
    type varchar not null,
    unit varchar not null,
    lower double,
    upper double,
    constraint attributes_key primary key (run_id, attribute),
    constraint attributes_type check (type in ('numeric', 'categorical')),
    constraint attributes_bounds check (lower < upper)
);

comment on table attributes is 'one row per run and attribute of its scheme';
comment on column attributes.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column attributes.attribute is 'name of the attribute in the scheme';
comment on column attributes.position is 'place of the attribute in the scheme, from 0';
comment on column attributes.type is 'numeric or categorical';
comment on column attributes.unit is 'unit of the attribute''s values, such as USD; empty where it has none';
comment on column attributes.lower is 'least value, in the attribute''s unit; null for categories';
comment on column attributes.upper is 'largest value, in the attribute''s unit; null for categories';
