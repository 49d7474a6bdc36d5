-- one row per row that this table has of the attribute
select *
from query_table($table)
where run_id = $run_id and attribute = $attribute
order by all
