-- one row per method, target, clients, epsilon and functional of the newest coverage study, its chunks added up
create or replace view coverage_cells as
with sums as (
    select
        method,
        target,
        clients,
        epsilon,
        split_part(metric, ':', 1) as functional,
        split_part(metric, ':', 2) as statistic,
        sum(repetitions) as repetitions,
        sum(value) as total
    from latest_benchmarks
    where study = 'coverage' and metric <> 'failed'
    group by all
),
totals as (
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
        max(total) filter (where statistic = 'second_order' ) as second_order,
        max(total) filter (where statistic = 'broken') as broken,
        max(repetitions) filter (where statistic = 'second_order') as said_second_order
    from sums
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
