-- one row per method of ours, target, clients, epsilon and metric of the newest accuracy study, with the best peer in hindsight and SW-EMS at 1024 bins
create or replace view accuracy_cells as
with chosen as (
    select method, parameters, target, clients, epsilon, metric
    from accuracy_rows
    where is_peer and half = 'first'
    qualify row_number() over (partition by target, clients, epsilon, metric order by error, method, parameters) = 1
),
hindsight as (
    select chosen.*, measured.error
    from chosen
    join accuracy_rows as measured using (method, parameters, target, clients, epsilon, metric)
    where measured.half = 'second'
),
published as (
    select target, clients, epsilon, metric, error
    from accuracy_rows
    where method = 'peer:sw_ems' and parameters = 'bins=1024' and half = ''
)
select
    ours.method,
    ours.target,
    ours.clients,
    ours.epsilon,
    ours.metric,
    ours.repetitions,
    ours.error,
    trim(substr(hindsight.method, 6) || ' ' || hindsight.parameters) as hindsight,
    hindsight.error as hindsight_error,
    published.error as published_error,
    ours.error / hindsight.error as to_hindsight,
    ours.error / published.error as to_published
from accuracy_rows as ours
join hindsight using (target, clients, epsilon, metric)
left join published using (target, clients, epsilon, metric)
where not ours.is_peer and ours.half = '';

comment on column accuracy_cells.error is 'median error of ours, in the metric''s unit';
comment on column accuracy_cells.hindsight is 'the best peer and its settings, chosen on half of the repetitions';
comment on column accuracy_cells.hindsight_error is 'its median error on the other half, in the metric''s unit';
comment on column accuracy_cells.published_error is 'median error of SW-EMS at 1024 bins, in the metric''s unit';
comment on column accuracy_cells.to_hindsight is 'our error over the best peer''s, a ratio; below 1 ours is smaller';
comment on column accuracy_cells.to_published is 'our error over that of SW-EMS at 1024 bins, a ratio';
