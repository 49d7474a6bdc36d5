-- one row per method, target, clients, epsilon and functional of the newest study of rates, summed over its chunks
create or replace view rates_cells as
with totals as (
    select
        method,
        target,
        clients,
        epsilon,
        functional,
        max(repetitions)::bigint as repetitions,
        max(total) filter (where statistic = 'returned') as returned,
        max(total) filter (where statistic = 'error') as error,
        max(total) filter (where statistic = 'square') as square,
        max(total) filter (where statistic = 'fourth') as fourth,
        max(total) filter (where statistic = 'standard_error') as standard_error,
        max(total) filter (where statistic = 'bias') as bias,
        max(total) filter (where statistic = 'noise') as noise,
        max(total) filter (where statistic = 'level') as level
    from study_sums
    where study = 'rates'
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
    clients * epsilon * epsilon as effective,
    sqrt(square / nullif(returned, 0)) as error,
    -- standard error of the logarithm of the error: half the relative standard error of the mean square
    sqrt(greatest(fourth / nullif(square * square, 0) - 1 / nullif(returned, 0), 0)) / 2 as uncertainty,
    error / nullif(returned, 0) as mean_error,
    standard_error / nullif(returned, 0) as standard_error,
    bias / nullif(returned, 0) as bias,
    noise / nullif(returned, 0) as noise,
    (level / nullif(returned, 0))::bigint as level
from totals;

comment on column rates_cells.functional is 'functional as in a scheme';
comment on column rates_cells.repetitions is 'number of independent rounds';
comment on column rates_cells.returned is 'number of rounds with an estimate';
comment on column rates_cells.effective is 'clients times epsilon squared';
comment on column rates_cells.error is 'root of the mean squared error, in the functional''s unit';
comment on column rates_cells.uncertainty is 'standard error of the logarithm of the error';
comment on column rates_cells.mean_error is 'mean error of the estimates, in the functional''s unit';
comment on column rates_cells.standard_error is 'mean of the estimated standard errors, in the functional''s unit; null for atomic functionals';
comment on column rates_cells.bias is 'bias according to theory, in the functional''s unit; null for smooth functionals';
comment on column rates_cells.noise is 'noise according to theory, in the functional''s unit; null for smooth functionals';
comment on column rates_cells.level is 'level selected by theory; null for smooth functionals';
