-- one row per cell of the two-way table, with its expected proportion under independence
select
    joint.*,
    sum(joint.share) over (partition by joint.first_part) * sum(joint.share) over (partition by joint.second_part) as independent
from joint
where joint.run_id = $run_id and joint."first" = $first and joint."second" = $second
order by joint.first_position, joint.second_position
