-- one row per scheme, round and part of both attributes: the proportion of a part of the first attribute given each part of the second, from the fitted joint distribution of the current runs; low and high are the cell's confidence limits divided by the fitted proportion of its column
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
