-- one row per method, target, clients, epsilon and functional of the newest coverage study, its chunks added up
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

comment on column coverage_cells.functional is 'the number, as in a scheme';
comment on column coverage_cells.repetitions is 'independent repetitions, a count';
comment on column coverage_cells.returned is 'repetitions in which an estimate was given';
comment on column coverage_cells.covered is 'repetitions whose interval held the truth';
comment on column coverage_cells.above is 'repetitions whose interval lay above the truth';
comment on column coverage_cells.broken is 'repetitions whose number was not finite; they count as not returned';
comment on column coverage_cells.refused is 'whether fewer than half of the repetitions gave an estimate';
comment on column coverage_cells.coverage is 'share of the given intervals that held the truth';
comment on column coverage_cells.length is 'mean length of the intervals, in the functional''s unit';
comment on column coverage_cells.standard_error is 'mean of the stated standard errors, in the functional''s unit';
comment on column coverage_cells.bias is 'mean error of the estimates, in the functional''s unit';
comment on column coverage_cells.deviation is 'standard deviation of the estimates, in the functional''s unit';
comment on column coverage_cells.second_order is 'mean share of the variance that is of second order; null where not every estimate said it';
