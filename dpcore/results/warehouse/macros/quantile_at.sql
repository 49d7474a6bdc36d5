-- one row per scheme, round, estimator and group: the p-quantile of an attribute, in the current runs; the interval inverts the pointwise band of the distribution function, and its coverage is at least its confidence
create or replace macro quantile_at(attribute, p) as table
with ends as (
    select
        pieces.*,
        min(pieces.x) over curve as lower_bound,
        max(pieces.next_x) over curve as upper_bound,
        pieces.next_x = upper_bound as is_last
    from density_pieces as pieces
    where pieces.attribute = attribute
    window curve as (partition by pieces.run_id, pieces.estimator, pieces.given)
),
ways as (
    select
        ends.*,
        -- a point mass at the upper bound is reached at the bound only: the line and the band end below it
        case when ends.is_last then ends.next_cdf - coalesce(atoms.plug_in, 0) else ends.next_cdf end as end_cdf,
        case when ends.is_last and atoms.plug_in > 0 then ends.cdf_low else ends.next_cdf_low end as end_cdf_low,
        (p - ends.cdf) / (end_cdf - ends.cdf) as way,
        (p - ends.cdf_high) / (ends.next_cdf_high - ends.cdf_high) as way_high,
        (p - ends.cdf_low) / (end_cdf_low - ends.cdf_low) as way_low
    from ends
    left join functionals as atoms
        on atoms.run_id = ends.run_id
        and atoms.attribute = ends.attribute
        and atoms.estimator = ends.estimator
        and atoms.given = ends.given
        and try_cast(regexp_extract(atoms.functional, '^atom\((.*)\)$', 1) as double) = ends.upper_bound
)
select
    ways.scheme,
    ways."round",
    ways.estimator,
    ways.given,
    case
        when p <= min(ways.cdf) then any_value(ways.lower_bound)
        else coalesce(min(ways.x + ways.way * (ways.next_x - ways.x)) filter (where ways.cdf < p and p <= ways.end_cdf), any_value(ways.upper_bound))
    end as quantile,
    case
        when p <= min(ways.cdf_high) then any_value(ways.lower_bound)
        else coalesce(min(ways.x + ways.way_high * (ways.next_x - ways.x)) filter (where ways.cdf_high < p and p <= ways.next_cdf_high), any_value(ways.upper_bound))
    end as low,
    case
        when p < min(ways.cdf_low) then any_value(ways.lower_bound)
        else coalesce(max(ways.x + ways.way_low * (ways.next_x - ways.x)) filter (where ways.cdf_low <= p and p < ways.end_cdf_low), any_value(ways.upper_bound))
    end as high,
    ways.confidence
from ways
where case when p between 0 and 1 then true else error('quantile_at(attribute, p) needs p between 0 and 1') end
group by ways.scheme, ways."round", ways.run_id, ways.estimator, ways.given, ways.confidence
order by ways.scheme, ways."round", ways.estimator, ways.given;
