-- one row per method, parameters, target, clients, epsilon, metric and half of the newest accuracy study, where no half is named for all repetitions
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

comment on column accuracy_rows.metric is 'what the error is of, without the half';
comment on column accuracy_rows.half is 'first or second half of the repetitions; empty for all of them';
comment on column accuracy_rows.error is 'median error, in the metric''s unit, at least 1e-12';
comment on column accuracy_rows.is_peer is 'whether the method is a peer''s, not ours';
