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
