-- one row per scheme, round, attribute, estimator, group and number: every functional and frequency, with its true value if known
create or replace view latest_estimates as
with numbers as (
    select run_id, attribute, estimator, given, functional as number, estimate, standard_error, confidence, low, high, reason
    from functionals
    union all
    select run_id, attribute, estimator, given, 'frequency(' || category || ')', estimate, standard_error, confidence, low, high, null
    from frequencies
)
select
    latest_runs.scheme,
    latest_runs."round",
    numbers.*,
    truths.value as truth,
    truths.value between numbers.low and numbers.high as holds_truth
from numbers
join latest_runs on latest_runs.run_id = numbers.run_id
left join truths
    on truths.run_id = numbers.run_id
    and truths.attribute = numbers.attribute
    and truths.given = numbers.given
    and truths.quantity = numbers.number;

comment on column latest_estimates.number is 'functional as in the scheme, or frequency(CATEGORY)';
comment on column latest_estimates.estimate is 'estimate, in the number''s unit; null if no estimate is available';
comment on column latest_estimates.standard_error is 'standard error of the estimate, in the number''s unit';
comment on column latest_estimates.low is 'lower confidence limit, in the number''s unit';
comment on column latest_estimates.high is 'upper confidence limit, in the number''s unit';
comment on column latest_estimates.truth is 'true value of a simulated population, in the number''s unit; null otherwise';
comment on column latest_estimates.holds_truth is 'true if the interval covers the true value; null if either is unknown';
