-- one row per scheme, round, estimator and group: the proportion of clients from a to b, both included, in the current runs; the coverage of the interval is at least its confidence
create or replace macro share_between(attribute, a, b) as table
with ways as (
    select
        pieces.*,
        (a - pieces.x) / (pieces.next_x - pieces.x) as way_a,
        (b - pieces.x) / (pieces.next_x - pieces.x) as way_b
    from density_pieces as pieces
    where pieces.attribute = attribute
),
ends as (
    select
        ways.scheme,
        ways."round",
        ways.estimator,
        ways.given,
        ways.confidence,
        a <= min(ways.x) as from_lower,
        b >= max(ways.next_x) as to_upper,
        a < max(ways.next_x) and b >= min(ways.x) as is_within,
        min(ways.cdf + ways.way_a * (ways.next_cdf - ways.cdf)) filter (where ways.way_a between 0 and 1) as cdf_a,
        min(ways.cdf_low + ways.way_a * (ways.next_cdf_low - ways.cdf_low)) filter (where ways.way_a between 0 and 1) as low_a,
        max(ways.cdf_high + ways.way_a * (ways.next_cdf_high - ways.cdf_high)) filter (where ways.way_a between 0 and 1) as high_a,
        max(ways.cdf + ways.way_b * (ways.next_cdf - ways.cdf)) filter (where ways.way_b between 0 and 1) as cdf_b,
        min(ways.cdf_low + ways.way_b * (ways.next_cdf_low - ways.cdf_low)) filter (where ways.way_b between 0 and 1) as low_b,
        max(ways.cdf_high + ways.way_b * (ways.next_cdf_high - ways.cdf_high)) filter (where ways.way_b between 0 and 1) as high_b
    from ways
    group by ways.scheme, ways."round", ways.run_id, ways.estimator, ways.given, ways.confidence
)
select
    ends.scheme,
    ends."round",
    ends.estimator,
    ends.given,
    -- values were clipped: none is below the lower bound or above the upper bound
    case when ends.to_upper then 1 else ends.cdf_b end - case when ends.from_lower then 0 else ends.cdf_a end as share,
    greatest(0, case when ends.to_upper then 1 else ends.low_b end - case when ends.from_lower then 0 else ends.high_a end) as low,
    least(1, case when ends.to_upper then 1 else ends.high_b end - case when ends.from_lower then 0 else ends.low_a end) as high,
    -- joint coverage of two pointwise intervals, by Bonferroni's inequality
    case when ends.from_lower or ends.to_upper then ends.confidence else 2 * ends.confidence - 1 end as confidence
from ends
where case when a <= b then ends.is_within else error('share_between(attribute, a, b) needs a <= b') end
order by ends.scheme, ends."round", ends.estimator, ends.given;
