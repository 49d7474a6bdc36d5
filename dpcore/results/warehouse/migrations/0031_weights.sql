-- one row per run and attribute whose estimates are weighted by known totals of the population
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
