-- one row per pair of groups and functional: the estimate of the first group minus that of the second
select comparisons.*
from comparisons
where comparisons.run_id = $run_id
    and comparisons.other_run_id = comparisons.run_id
    and comparisons.attribute = $attribute
order by comparisons.functional, comparisons.given, comparisons.other_given
