-- one row per attribute whose estimates are weighted by known totals of the population
select weights.*
from weights
where weights.run_id = $run_id
order by weights.attribute
