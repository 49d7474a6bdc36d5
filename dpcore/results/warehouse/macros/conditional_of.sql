-- one row per scheme, round and part of both attributes: the share that a part of the first has among those of each part of the second, in the runs that stand, of the law that is shown; low and high are those of the cell, over the share of its column as shown
create or replace macro conditional_of(attribute, given) as table
select
    cells.scheme,
    cells."round",
    cells.second_part,
    cells.first_part,
    cells.share / sum(cells.share) over part as share,
    cells.low / sum(cells.share) over part as low,
    least(1, cells.high / sum(cells.share) over part) as high,
    cells.confidence
from latest_joint as cells
where cells."first" = attribute and cells."second" = given
window part as (partition by cells.run_id, cells."first", cells."second", cells.second_part)
order by cells.scheme, cells."round", cells.second_position, cells.first_position;
