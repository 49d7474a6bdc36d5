-- one row per scheme, round, estimator and group: the density of an attribute at x with its pointwise band, interpolated linearly between grid points, in the current runs
create or replace macro density_at(attribute, x) as table
with around as (
    select pieces.*, (x - pieces.x) / (pieces.next_x - pieces.x) as way
    from density_pieces as pieces
    where pieces.attribute = attribute and x between pieces.x and pieces.next_x
    qualify row_number() over (partition by pieces.run_id, pieces.estimator, pieces.given order by pieces.x) = 1
)
select
    around.scheme,
    around."round",
    around.estimator,
    around.given,
    around.density + around.way * (around.next_density - around.density) as density,
    around.low + around.way * (around.next_low - around.low) as low,
    around.high + around.way * (around.next_high - around.high) as high,
    around.confidence
from around
order by around.scheme, around."round", around.estimator, around.given;
