-- one row per run and attribute whose estimates are weighted by known totals of the population
create table weights (
    run_id varchar not null,
    attribute varchar not null,
    labels varchar not null,
    reports bigint not null,
    effective_n double not null,
    design_effect double not null,
    constraint weights_key primary key (run_id, attribute)
);

comment on table weights is 'one row per run and attribute whose estimates are weighted by known totals of the population';
comment on column weights.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column weights.attribute is 'name of the attribute in the scheme';
comment on column weights.labels is 'labels whose totals are known, with commas between; given is ''weighted='' and these';
comment on column weights.reports is 'reports of the attribute, reports';
comment on column weights.effective_n is 'reports over design_effect, rounded, reports';
comment on column weights.design_effect is 'Kish''s, n sum w^2 n / (sum w n)^2, rounded: by how much weights make variances larger where all labels are alike; intervals count what labels explain, a ratio';
