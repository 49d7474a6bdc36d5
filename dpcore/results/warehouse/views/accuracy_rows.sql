-- one row per method, parameters, target, clients, epsilon, metric and half of the newest accuracy study; half is empty for all repetitions
create or replace view accuracy_rows as
select
    method,
    parameters,
    target,
    clients,
    epsilon,
    split_part(metric, '.', 1) as metric,
    split_part(metric, '.', 2) as half,
    repetitions,
    greatest(value, 1e-12) as error,
    starts_with(method, 'peer:') as is_peer
from latest_benchmarks
where study = 'accuracy';

comment on column accuracy_rows.metric is 'error metric, without the half';
comment on column accuracy_rows.half is 'first or second half of the repetitions; empty for all of them';
comment on column accuracy_rows.error is 'median error, in the metric''s unit, at least 1e-12';
comment on column accuracy_rows.is_peer is 'true for a method of another package';
