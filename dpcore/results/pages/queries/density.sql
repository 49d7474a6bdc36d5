-- one row per grid point of the density, with the true density of simulated clients and the previous round, if any
select
    densities.*,
    truths.value as truth,
    before.density as before
from densities
left join truths
    on truths.run_id = densities.run_id
    and truths.attribute = densities.attribute
    and truths.given = densities.given
    and truths.quantity = 'density'
    and truths.x = densities.x
left join densities as before
    on before.run_id = $previous
    and before.attribute = densities.attribute
    and before.estimator = densities.estimator
    and before.given = densities.given
    and before.x = densities.x
where densities.run_id = $run_id and densities.attribute = $attribute and densities.given = ''
order by densities.x
