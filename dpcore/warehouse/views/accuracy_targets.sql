-- one row per method of ours, metric and target of the newest accuracy study: geometric means over clients and epsilons of error ratios
create or replace view accuracy_targets as
select
    method,
    metric,
    target,
    count(*) as cells,
    exp(avg(ln(to_hindsight))) as to_hindsight,
    exp(avg(ln(to_published))) as to_published
from accuracy_cells
group by method, metric, target;
