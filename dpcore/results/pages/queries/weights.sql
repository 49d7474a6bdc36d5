-- one row per attribute with estimates weighted by known population totals
select weights.*
from weights
where weights.run_id = $run_id
order by weights.attribute
