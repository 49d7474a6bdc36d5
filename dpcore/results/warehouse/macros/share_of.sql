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
