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

comment on column accuracy_cells.error is 'median error of our method, in the metric''s unit';
comment on column accuracy_cells.hindsight is 'peer with the smallest error and its settings, selected on the first half of the repetitions';
comment on column accuracy_cells.hindsight_error is 'median error of that peer on the second half, in the metric''s unit';
comment on column accuracy_cells.published_error is 'median error of SW-EMS at 1024 bins, in the metric''s unit';
comment on column accuracy_cells.to_hindsight is 'ratio of our error to that of the best peer; below 1 our error is smaller';
comment on column accuracy_cells.to_published is 'ratio of our error to that of SW-EMS at 1024 bins';
