-- name: conditional_of
-- one row per scheme, round and part of both attributes: the proportion of a part of the first attribute given each part of the second, from the fitted joint distribution of the current runs; low and high are the cell's confidence limits divided by the fitted proportion of its column
create or replace macro conditional_of(attribute, given) as table
select
    cells.scheme,
    cells."round",
    cells.second_part,
    cells.first_part,
    cells.share / sum(cells.share) over part as share,
    cells.low / sum(cells.share) over part as low,
    least(1, cells.high / sum(cells.share) over part) as high,
    cells.confidence
from latest_joint as cells
where cells."first" = attribute and cells."second" = given
window part as (partition by cells.run_id, cells."first", cells."second", cells.second_part)
order by cells.scheme, cells."round", cells.second_position, cells.first_position;

-- name: density_at
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

-- name: largest_of
-- one row per scheme, round, estimator, group and category: the largest categories of an attribute, as many as requested, in the current runs; low and high are simultaneous for all categories, so they are valid for the selected ones; differs: the interval excludes an equal proportion, 1 / categories; any_differs: at least one category's interval does; low, high, differs and any_differs are null for rounds that landed before version 35
create or replace macro largest_of(attribute, number) as table
select
    shares.scheme,
    shares."round",
    shares.estimator,
    shares.given,
    shares.category,
    shares.estimate,
    shares.simultaneous_low as low,
    shares.simultaneous_high as high,
    shares.confidence,
    count(*) over of_all as categories,
    count(*) over of_all > 1
    and (
        shares.simultaneous_low > 1 / count(*) over of_all or shares.simultaneous_high < 1 / count(*) over of_all
    ) as differs,
    count(*) over of_all > 1
    and (
        max(shares.simultaneous_low) over of_all > 1 / count(*) over of_all
        or min(shares.simultaneous_high) over of_all < 1 / count(*) over of_all
    ) as any_differs
from latest_frequencies as shares
where shares.attribute = attribute
window of_all as (partition by shares.run_id, shares.estimator, shares.given)
-- estimates of zero are ordered by their unprojected values
qualify row_number() over (
    partition by shares.run_id, shares.estimator, shares.given
    order by shares.estimate desc, shares.raw desc, shares.category
) <= number
order by shares.scheme, shares."round", shares.estimator, shares.given, shares.estimate desc, shares.raw desc, shares.category;

-- name: quantile_at
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

-- name: share_between
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

-- name: share_of
-- one row per scheme, round, estimator and group: the proportion of a union of categories (a list) of an attribute in the current runs, with an interval from their joint covariance; plug_in is the sum of the estimates
create or replace macro share_of(attribute, categories) as table
with whole as (
    select
        shares.scheme,
        shares."round",
        shares.run_id,
        shares.estimator,
        shares.given,
        shares.confidence,
        list_filter(list_distinct(categories), lambda name: not list_contains(list(shares.category), name)) as unknown,
        count(*) as k,
        count(*) filter (where list_contains(categories, shares.category)) / k as part, -- of all categories
        case when len(unknown) = 0 then sum(shares.estimate) filter (where list_contains(categories, shares.category)) end as plug_in,
        -- every category shifted by the same amount, so that all sum to one
        sum(shares.raw) filter (where list_contains(categories, shares.category)) - part * (sum(shares.raw) - 1) as sum_of_raw,
        case when len(unknown) = 0 then sum_of_raw end as raw,
        any_value(attributes.own_variance_none) as none,
        any_value(attributes.own_variance_all) - none as gain,
        any_value(budgets.charges) as n,
        (1 - shares.confidence) / 2 as tail
    from latest_frequencies as shares
    join attributes on attributes.run_id = shares.run_id and attributes.attribute = shares.attribute
    join budgets on budgets.run_id = shares.run_id and budgets.attribute = shares.attribute
    where shares.attribute = attribute
        and case
            when len(categories) > 0 then true
            else error('share_of(attribute, categories) needs a list of categories, such as [''a'', ''b'']')
        end
    group by shares.scheme, shares."round", shares.run_id, shares.estimator, shares.given, shares.confidence
),
quantiles as (
    -- normal quantile of (1 + confidence) / 2 in double precision: Wichura, algorithm AS 241
    select
        whole.*,
        0.5 - whole.tail as q,
        case when q <= 0.425 then 0.180625 - q * q else sqrt(-ln(whole.tail)) - 1.6 end as r,
        case
            when q <= 0.425 then [
                2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
                13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080
            ]::double[]
            else [
                7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
                3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734
            ]::double[]
        end as above,
        case
            when q <= 0.425 then [
                5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
                5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1
            ]::double[]
            else [
                1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
                6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1
            ]::double[]
        end as below,
        case when q <= 0.425 then q else 1 end
        * list_reduce(above, lambda sum, next: sum * r + next)
        / list_reduce(below, lambda sum, next: sum * r + next) as z
    from whole
),
scored as (
    -- reports times the variance of raw at a proportion f is constant + slope f - f^2, and 0 for all categories; the interval is
    -- the f within z standard errors of raw, each f with its own standard error
    select
        quantiles.*,
        none * k * part * (1 - part) + (gain - 1) * part * part as constant,
        gain + 2 * part * (1 - gain) as slope,
        constant + slope * plug_in - plug_in * plug_in as variance,
        case when part < 1 then sqrt(case when variance < 0 then 0 else variance end / n) when raw is not null then 0 * none end as standard_error,
        z * z / n as narrow,
        raw + narrow * slope / 2 as middle,
        middle * middle - (1 + narrow) * (raw * raw - narrow * constant) as square,
        case when part < 1 then sqrt(case when square < 0 then 0 else square end) else 0 end as half,
        -- a proportion outside [0, 1] is clipped, and its interval shifted with it
        case when raw < 0 then 0 when raw > 1 then 1 else raw end as share
    from quantiles
),
placed as (
    select
        scored.*,
        case when part < 1 then (middle - half) / (1 + narrow) else raw + standard_error end + share - raw as below_share,
        case when part < 1 then (middle + half) / (1 + narrow) else raw + standard_error end + share - raw as above_share
    from scored
)
select
    placed.scheme,
    placed."round",
    placed.estimator,
    placed.given,
    placed.share,
    placed.standard_error,
    case when placed.below_share < 0 then 0 else placed.below_share end as low,
    case when placed.above_share > 1 then 1 else placed.above_share end as high,
    placed.confidence,
    placed.plug_in,
    case
        when len(placed.unknown) > 0 then 'no such category in this round: ' || array_to_string(placed.unknown, ', ')
        when placed.raw is null then 'landed before version 16 of the warehouse; estimate the round again'
        when placed.none is null then 'no interval: landed before version 28 of the warehouse, or by a mechanism whose categories are not alike; share_of in Python has one'
    end as reason
from placed
order by placed.scheme, placed."round", placed.estimator, placed.given;
