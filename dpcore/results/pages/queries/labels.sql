-- one row per label, with its number of categories
select labels.label, count(*) as categories, count(labels.population) > 0 as is_known
from labels
where labels.run_id = $run_id
group by labels.label
order by labels.label
