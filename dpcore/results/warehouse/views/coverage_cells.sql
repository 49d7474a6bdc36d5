-- one row per method, target, clients, epsilon and functional of the newest coverage study, summed over its chunks
create or replace view coverage_cells as
with totals as (
    select
        method,
        target,
        clients,
        epsilon,
        functional,
        max(repetitions)::bigint as repetitions,
        max(total) filter (where statistic = 'returned') as returned,
        max(total) filter (where statistic = 'covered') as covered,
        max(total) filter (where statistic = 'above') as above,
        max(total) filter (where statistic = 'error') as error,
        max(total) filter (where statistic = 'square') as square,
        max(total) filter (where statistic = 'length') as length,
        max(total) filter (where statistic = 'standard_error') as standard_error,
        max(total) filter (where statistic = 'second_order') as second_order,
        max(total) filter (where statistic = 'broken') as broken,
        max(repetitions) filter (where statistic = 'second_order') as said_second_order
    from study_sums
    where study = 'coverage'
    group by all
)
select
    method,
    target,
    clients,
    epsilon,
    functional,
    repetitions,
    returned::bigint as returned,
    covered::bigint as covered,
    above::bigint as above,
    coalesce(broken, 0)::bigint as broken,
    returned < repetitions / 2 as refused,
    covered / nullif(returned, 0) as coverage,
    length / nullif(returned, 0) as length,
    standard_error / nullif(returned, 0) as standard_error,
    error / nullif(returned, 0) as bias,
    sqrt(greatest(square - error * error / nullif(returned, 0), 0) / nullif(returned - 1, 0)) as deviation,
    case when said_second_order = repetitions then second_order / nullif(returned, 0) end as second_order
from totals;

comment on column coverage_cells.functional is 'functional as in a scheme';
comment on column coverage_cells.repetitions is 'number of independent repetitions';
comment on column coverage_cells.returned is 'number of repetitions with an estimate';
comment on column coverage_cells.covered is 'number of repetitions whose interval covers the true value';
comment on column coverage_cells.above is 'number of repetitions whose interval is above the true value';
comment on column coverage_cells.broken is 'number of repetitions with an estimate that is not finite; they count as not returned';
comment on column coverage_cells.refused is 'true if fewer than half of the repetitions have an estimate';
comment on column coverage_cells.coverage is 'coverage: proportion of the intervals that cover the true value';
comment on column coverage_cells.length is 'mean length of the intervals, in the functional''s unit';
comment on column coverage_cells.standard_error is 'mean of the estimated standard errors, in the functional''s unit';
comment on column coverage_cells.bias is 'mean error of the estimates, in the functional''s unit';
comment on column coverage_cells.deviation is 'standard deviation of the estimates, in the functional''s unit';
comment on column coverage_cells.second_order is 'mean proportion of the variance that is of second order; null if not all estimates state it';
