-- one row per attribute, group and functional in this and an earlier round: the change between them
select comparisons.*, other."round" as since, other.finished_at as since_landed
from comparisons
join runs as other on other.run_id = comparisons.other_run_id
left join attributes on attributes.run_id = comparisons.run_id and attributes.attribute = comparisons.attribute
left join categories
    on categories.run_id = comparisons.run_id
    and categories.attribute = comparisons.attribute
    and 'frequency(' || categories.category || ')' = comparisons.functional
where comparisons.run_id = $run_id and comparisons.other_run_id <> comparisons.run_id
order by
    other."round" desc,
    attributes.position,
    comparisons.attribute,
    comparisons.given <> '',
    categories.position,
    comparisons.functional,
    comparisons.given
