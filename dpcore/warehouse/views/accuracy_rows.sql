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
