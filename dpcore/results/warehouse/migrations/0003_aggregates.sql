-- one row per run, attribute, group, statistic, level and cell: the exact integers that all estimates come from
create table aggregates (
    run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    statistic varchar not null,
    level bigint not null,
    cell bigint not null,
    value bigint not null,
    constraint aggregates_key primary key (run_id, attribute, given, statistic, level, cell),
    constraint aggregates_statistic check (statistic in ('reports', 'count', 'sum')),
    constraint aggregates_cell check (cell >= 0),
    constraint aggregates_counts check (statistic = 'sum' or value >= 0)
);

comment on table aggregates is 'one row per run, attribute, group, statistic, level and cell: the exact integers that all estimates come from';
comment on column aggregates.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column aggregates.attribute is 'name of the attribute in the scheme';
comment on column aggregates.given is 'empty, or ATTRIBUTE=CATEGORY: the reported category of the attribute it is paired with';
comment on column aggregates.statistic is 'reports: how many reports; count: of a reported cell; sum: of reported integers';
comment on column aggregates.level is 'resolution level or block, from 0; 0 where the mechanism has none';
comment on column aggregates.cell is 'position within the level, from 0';
comment on column aggregates.value is 'the statistic: reports, or lattice units of the mechanism for sums';
