-- one row per study, method, target, clients, epsilon, functional and statistic of the newest studies whose rows are sums over chunks: the total over chunks
create or replace view study_sums as
select
    study,
    method,
    target,
    clients,
    epsilon,
    split_part(metric, ':', 1) as functional,
    split_part(metric, ':', 2) as statistic,
    sum(repetitions) as repetitions,
    sum(value) as total
from latest_benchmarks
where starts_with(parameters, 'chunk=') and metric <> 'failed'
group by all;

comment on column study_sums.functional is 'functional as in a scheme';
comment on column study_sums.statistic is 'statistic that is summed over the repetitions';
comment on column study_sums.repetitions is 'number of independent repetitions';
comment on column study_sums.total is 'sum of the statistic, in powers of the functional''s unit, or a count';
