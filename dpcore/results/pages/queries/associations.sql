-- one row per joint functional or test, ordered by the parts of the second attribute
with pair as (
    select *
    from joint
    where run_id = $run_id and "first" = $first and "second" = $second
)
select associations.*
from associations
left join (select distinct second_part, second_position from pair) as along on along.second_part = associations.second_part
left join (select distinct first_part, first_position from pair) as own on own.first_part = associations.first_part
where associations.run_id = $run_id and associations."first" = $first and associations."second" = $second
order by
    along.second_position nulls first,
    own.first_position,
    list_position(['correlation', 'rank_correlation', 'slope', 'intercept', 'independence', 'trend', 'equal_means'], associations.functional),
    associations.functional
