-- one row per run, attribute, group and quantity (and x, for the density) of simulated people
create table truths (
    run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    quantity varchar not null,
    x double,
    value double not null,
    constraint truths_key unique (run_id, attribute, given, quantity, x),
    constraint truths_x_with_density check ((quantity = 'density') = (x is not null))
);

comment on table truths is 'one row per run, attribute, group and quantity (and x, for the density) of simulated people';
comment on column truths.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column truths.attribute is 'name of the attribute in the scheme';
comment on column truths.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column truths.quantity is 'density, frequency(CATEGORY), or the functional''s name';
comment on column truths.x is 'point of the density, in the attribute''s unit; null for other quantities';
comment on column truths.value is 'true value, in the unit of its estimate';
