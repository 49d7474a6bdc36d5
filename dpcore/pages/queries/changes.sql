-- one row per attribute and number that an earlier round has too: how much it has moved since
select comparisons.*, other."round" as since
from comparisons
join runs as other on other.run_id = comparisons.other_run_id
left join attributes on attributes.run_id = comparisons.run_id and attributes.attribute = comparisons.attribute
where comparisons.run_id = $run_id
order by other."round" desc, attributes.position, comparisons.attribute, comparisons.functional
