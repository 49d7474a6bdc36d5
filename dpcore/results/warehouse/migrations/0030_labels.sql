-- one row per run, label and category of its scheme
create table labels (
    run_id varchar not null,
    label varchar not null,
    category varchar not null,
    position bigint not null,
    reports bigint,
    population double,
    constraint labels_key primary key (run_id, label, category),
    constraint labels_reports check (reports >= 0),
    constraint labels_population check (population >= 0)
);

comment on table labels is 'one row per run, label and category of its scheme';
comment on column labels.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column labels.label is 'name of the label, which reports carry in clear';
comment on column labels.category is 'category of the label';
comment on column labels.position is 'place of the category in the scheme, from 0';
comment on column labels.reports is 'reports accepted, reports; null where so few must not be told, or there are none';
comment on column labels.population is 'known share of the population, a ratio; null where the round was given no totals of the label';
