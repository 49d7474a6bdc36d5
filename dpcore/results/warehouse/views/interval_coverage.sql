-- one row per scheme, attribute, estimator, group, number and confidence: coverage of the intervals of current simulated runs, without trials
create or replace view interval_coverage as
with numbers as (
    select run_id, attribute, estimator, given, functional as number, confidence, low, high
    from functionals
    union all
    select run_id, attribute, estimator, given, 'frequency(' || category || ')', confidence, low, high
    from frequencies
)
select
    runs.scheme,
    numbers.attribute,
    numbers.estimator,
    numbers.given,
    numbers.number,
    numbers.confidence,
    count(*) as intervals,
    avg((truths.value between numbers.low and numbers.high)::integer) as coverage
from numbers
join latest_runs as runs on runs.run_id = numbers.run_id
join truths
    on truths.run_id = numbers.run_id
    and truths.attribute = numbers.attribute
    and truths.given = numbers.given
    and truths.quantity = numbers.number
where not runs.trial and numbers.low is not null
group by all;

comment on column interval_coverage.number is 'functional as in the scheme, or frequency(CATEGORY)';
comment on column interval_coverage.intervals is 'number of intervals with a known true value';
comment on column interval_coverage.coverage is 'proportion of these intervals that cover the true value';
