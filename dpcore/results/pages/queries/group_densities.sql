-- one row per group and grid point of its density, with the truth where people are simulated
select densities.*, truths.value as truth
from densities
left join truths
    on truths.run_id = densities.run_id
    and truths.attribute = densities.attribute
    and truths.given = densities.given
    and truths.quantity = 'density'
    and truths.x = densities.x
left join categories
    on categories.run_id = densities.run_id
    and densities.given = categories.attribute || '=' || categories.category
where densities.run_id = $run_id and densities.attribute = $attribute and densities.given <> ''
order by split_part(densities.given, '=', 1), categories.position, densities.given, densities.x
