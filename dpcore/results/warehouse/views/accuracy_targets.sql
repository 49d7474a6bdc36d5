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

comment on column accuracy_targets.cells is 'number of cells of clients and epsilon';
comment on column accuracy_targets.to_hindsight is 'geometric mean of the ratios of our error to that of the best peer';
comment on column accuracy_targets.to_published is 'geometric mean of the ratios of our error to that of SW-EMS at 1024 bins';
