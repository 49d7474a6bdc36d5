-- one row per two groups of this round and number: the first group's minus the second's
select comparisons.*
from comparisons
where comparisons.run_id = $run_id
    and comparisons.other_run_id = comparisons.run_id
    and comparisons.attribute = $attribute
order by comparisons.functional, comparisons.given, comparisons.other_given
