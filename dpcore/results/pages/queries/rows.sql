-- one row per row of this table for the attribute
select *
from query_table($table)
where run_id = $run_id and attribute = $attribute
order by all
