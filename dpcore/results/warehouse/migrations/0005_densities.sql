-- one row per run, attribute, estimator, group and grid point
create table densities (
    run_id varchar not null,
    attribute varchar not null,
    estimator varchar not null,
    given varchar not null default '',
    x double not null,
    density double not null,
    low double,
    high double,
    cdf double,
    cdf_low double,
    cdf_high double,
    confidence double not null,
    constraint densities_key primary key (run_id, attribute, estimator, given, x),
    constraint densities_interval check (low <= high),
    constraint densities_cdf_interval check (cdf_low <= cdf_high),
    constraint densities_confidence check (confidence > 0 and confidence < 1)
);

comment on table densities is 'one row per run, attribute, estimator, group and grid point';
comment on column densities.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column densities.attribute is 'name of the attribute in the scheme';
comment on column densities.estimator is 'estimator that made this row';
comment on column densities.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column densities.x is 'grid point, in the attribute''s unit';
comment on column densities.density is 'density at x, per unit of the attribute; integrates to 1 over its bounds';
comment on column densities.low is 'lower end of the pointwise band, per unit of the attribute';
comment on column densities.high is 'upper end of the pointwise band, per unit of the attribute';
comment on column densities.cdf is 'share of the clients at or below x, a probability';
comment on column densities.cdf_low is 'lower end of the pointwise band of the cdf, a probability';
comment on column densities.cdf_high is 'upper end of the pointwise band of the cdf, a probability';
comment on column densities.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1';
