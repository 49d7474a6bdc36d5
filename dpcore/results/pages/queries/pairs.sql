-- one row per pair of attributes with joint estimates
select associations."first", associations."second"
from associations
left join attributes as own on own.run_id = associations.run_id and own.attribute = associations."first"
left join attributes as other on other.run_id = associations.run_id and other.attribute = associations."second"
where associations.run_id = $run_id
group by all
order by min(own.position), min(other.position)
