-- one row per method of ours and metric of the newest accuracy study: geometric means of error ratios, share of cells won, worst target
create or replace view accuracy_summary as
with worst as (
    select method, metric, target as worst_target, to_hindsight as worst_ratio
    from accuracy_targets
    qualify row_number() over (partition by method, metric order by to_hindsight desc, target) = 1
)
select
    cells.method,
    cells.metric,
    count(*) as cells,
    exp(avg(ln(cells.to_hindsight))) as to_hindsight,
    exp(avg(ln(cells.to_published))) as to_published,
    avg(case when cells.to_hindsight < 1 then 1.0 else 0.0 end) as won,
    any_value(worst.worst_target) as worst_target,
    any_value(worst.worst_ratio) as worst_ratio
from accuracy_cells as cells
join worst using (method, metric)
group by cells.method, cells.metric;

comment on column accuracy_summary.cells is 'number of cells of target, clients and epsilon';
comment on column accuracy_summary.to_hindsight is 'geometric mean of the ratios of our error to that of the best peer';
comment on column accuracy_summary.to_published is 'geometric mean of the ratios of our error to that of SW-EMS at 1024 bins';
comment on column accuracy_summary.won is 'proportion of cells in which our error is below that of the best peer';
comment on column accuracy_summary.worst_target is 'target with the largest ratio to the best peer';
comment on column accuracy_summary.worst_ratio is 'geometric mean of the ratios to the best peer at that target';
