-- one row per scheme, round, attribute, estimator, group and grid point except the last, of the current run: the density there and at the next grid point
create or replace view density_pieces as
select
    points.*,
    lead(points.x) over neighbours as next_x,
    lead(points.density) over neighbours as next_density,
    lead(points.low) over neighbours as next_low,
    lead(points.high) over neighbours as next_high,
    lead(points.cdf) over neighbours as next_cdf,
    lead(points.cdf_low) over neighbours as next_cdf_low,
    lead(points.cdf_high) over neighbours as next_cdf_high
from latest_densities as points
where points.estimator not in ('bias_aware', 'distribution_free') -- whose bands are of the same curves, and hold all points at once
window neighbours as (partition by points.run_id, points.attribute, points.estimator, points.given order by points.x)
qualify next_x is not null;

comment on column density_pieces.next_x is 'the next grid point, in the attribute''s unit';
comment on column density_pieces.next_density is 'density at next_x, per unit of the attribute';
comment on column density_pieces.next_low is 'lower limit of the band at next_x, per unit of the attribute';
comment on column density_pieces.next_high is 'upper limit of the band at next_x, per unit of the attribute';
comment on column density_pieces.next_cdf is 'proportion of clients at or below next_x';
comment on column density_pieces.next_cdf_low is 'lower limit of the band of the cdf at next_x';
comment on column density_pieces.next_cdf_high is 'upper limit of the band of the cdf at next_x';
