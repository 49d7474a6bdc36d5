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

create table weights (
    run_id varchar not null,
    attribute varchar not null,
    labels varchar not null,
    reports bigint not null,
    effective_n double not null,
    design_effect double not null,
    most double not null,
    constraint weights_key primary key (run_id, attribute)
);

comment on table weights is 'one row per run and attribute whose estimates are weighted by known totals of the population';
comment on column weights.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column weights.attribute is 'name of the attribute in the scheme';
comment on column weights.labels is 'labels whose totals are known, with commas between; given is ''weighted='' and these';
comment on column weights.reports is 'reports of the attribute, reports';
comment on column weights.effective_n is 'reports that count the same and would be as sure, (sum w n)^2 / sum w^2 n, reports';
comment on column weights.design_effect is 'by how much weights make variances larger, reports over effective_n, a ratio';
comment on column weights.most is 'what the heaviest report counts for, where one counts for 1 on average, a ratio';
