-- one row per scheme, round, estimator and group: the density of an attribute at x with its pointwise band, between grid points on a straight line, in the newest landed runs
create or replace macro density_at(attribute, x) as table
with pieces as (
    select
        points.scheme,
        points."round",
        points.run_id,
        points.estimator,
        points.given,
        points.confidence,
        points.x as left_x,
        lead(points.x) over neighbours as right_x,
        points.density as left_density,
        lead(points.density) over neighbours as right_density,
        points.low as left_low,
        lead(points.low) over neighbours as right_low,
        points.high as left_high,
        lead(points.high) over neighbours as right_high
    from latest_densities as points
    where points.attribute = attribute
    window neighbours as (partition by points.run_id, points.estimator, points.given order by points.x)
),
around as (
    select pieces.*, (x - pieces.left_x) / (pieces.right_x - pieces.left_x) as way
    from pieces
    where x between pieces.left_x and pieces.right_x
    qualify row_number() over (partition by pieces.run_id, pieces.estimator, pieces.given order by pieces.left_x) = 1
)
select
    around.scheme,
    around."round",
    around.estimator,
    around.given,
    around.left_density + around.way * (around.right_density - around.left_density) as density,
    around.left_low + around.way * (around.right_low - around.left_low) as low,
    around.left_high + around.way * (around.right_high - around.left_high) as high,
    around.confidence
from around
order by around.scheme, around."round", around.estimator, around.given;
