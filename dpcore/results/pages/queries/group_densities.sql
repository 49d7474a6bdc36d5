-- one row per group and grid point of its density, with the true density of simulated clients
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
left join labels
    on labels.run_id = densities.run_id
    and densities.given = labels.label || '=' || labels.category
where densities.run_id = $run_id and densities.attribute = $attribute and densities.given <> ''
order by split_part(densities.given, '=', 1), coalesce(categories.position, labels.position), densities.given, densities.x
