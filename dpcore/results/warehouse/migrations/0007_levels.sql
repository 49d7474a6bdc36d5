-- one row per run, attribute, group and level that the level rule looked at
create table levels (
    run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    level bigint not null,
    statistic double,
    threshold double,
    selected boolean not null,
    constraint levels_key primary key (run_id, attribute, given, level)
);

comment on table levels is 'one row per run, attribute, group and level that the level rule looked at';
comment on column levels.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column levels.attribute is 'name of the attribute in the scheme';
comment on column levels.given is 'empty for everybody, or ATTRIBUTE=CATEGORY';
comment on column levels.level is 'resolution level j: cells are 2^-j of the attribute''s range wide';
comment on column levels.statistic is 'what the rule compared, L2 distance on the unit interval; null where there was nothing to compare';
comment on column levels.threshold is 'what the rule compared it with, same unit';
comment on column levels.selected is 'whether the estimate uses this level';
