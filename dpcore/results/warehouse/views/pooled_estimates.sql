-- one row per scheme digest, source, attribute, estimator, group, number and confidence: the estimates of all its rounds, weighted by inverse variance, assuming independent errors
create or replace view pooled_estimates as
with rounds as (
    -- simulated rounds with one seed have the same clients: only the latest is used
    select run_id, scheme, scheme_digest, source, "round"
    from latest_runs
    where not trial
    qualify row_number() over (
        partition by scheme_digest, source, coalesce(seed::varchar, run_id)
        order by "round" desc
    ) = 1
),
numbers as (
    select
        rounds.*,
        latest_estimates.attribute,
        latest_estimates.estimator,
        latest_estimates.given,
        latest_estimates.number,
        -- projected proportions are biased near 0, so the unbiased ones are pooled
        coalesce(frequencies.raw, latest_estimates.estimate) as estimate,
        latest_estimates.standard_error,
        latest_estimates.confidence,
        latest_estimates.low,
        latest_estimates.high,
        1 / (latest_estimates.standard_error * latest_estimates.standard_error) as weight,
        sqrt(-2 * ln((1 - latest_estimates.confidence) / 2)) as t,
        -- the normal quantile of (1 + confidence) / 2: Abramowitz and Stegun (26.2.23), within 0.00045
        t - (2.515517 + 0.802853 * t + 0.010328 * t * t)
        / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t) as z
    from latest_estimates
    join rounds on rounds.run_id = latest_estimates.run_id
    left join frequencies
        on frequencies.run_id = latest_estimates.run_id
        and frequencies.attribute = latest_estimates.attribute
        and frequencies.estimator = latest_estimates.estimator
        and frequencies.given = latest_estimates.given
        and 'frequency(' || frequencies.category || ')' = latest_estimates.number
    where latest_estimates.standard_error > 0
        and latest_estimates.low is not null
        and latest_estimates.high is not null
        and latest_estimates.estimator <> 'two_rounds' -- two of one first round have its reports in common
),
pooled as (
    select
        scheme,
        scheme_digest,
        source,
        attribute,
        estimator,
        given,
        number,
        confidence,
        count(*) as rounds,
        min("round") as first_round,
        max("round") as last_round,
        sum(weight * estimate) / sum(weight) as estimate,
        1 / sqrt(sum(weight)) as standard_error,
        greatest(0, sum(weight * estimate * estimate) - sum(weight * estimate) * sum(weight * estimate) / sum(weight)) as q,
        -- an interval's allowance for bias, beyond its standard error, is the same in all rounds and does not shrink; if an
        -- estimate is not the middle of its interval, chance moves it to either side, and the average estimates the bias
        greatest(0, sum(weight * (estimate - low - z * standard_error)) / sum(weight)) as below,
        greatest(0, sum(weight * (high - estimate - z * standard_error)) / sum(weight)) as above,
        any_value(z) as z,
        min(low) as lowest,
        max(high) as highest
    from numbers
    group by all
)
select
    scheme,
    scheme_digest,
    source,
    attribute,
    estimator,
    given,
    number,
    rounds,
    first_round,
    last_round,
    least(greatest(estimate, lowest), highest) as estimate,
    standard_error,
    confidence,
    -- never outside the hull of the rounds' intervals, which respect the parameter's range: proportions are not negative
    greatest(lowest, estimate - z * standard_error - below) as low,
    least(highest, estimate + z * standard_error + above) as high,
    q / nullif(rounds - 1, 0) as disagreement
from pooled;

comment on column pooled_estimates.rounds is 'number of rounds with an estimate and a standard error; rounds of one seed count once';
comment on column pooled_estimates.first_round is 'first of these rounds';
comment on column pooled_estimates.last_round is 'last of these rounds';
comment on column pooled_estimates.number is 'functional as in the scheme, or frequency(CATEGORY)';
comment on column pooled_estimates.estimate is 'mean of the estimates, weighted by inverse variance, in the number''s unit';
comment on column pooled_estimates.standard_error is 'standard error of the mean, assuming independent errors, in the number''s unit';
comment on column pooled_estimates.low is 'lower confidence limit, in the number''s unit; allowances for bias are not reduced by pooling';
comment on column pooled_estimates.high is 'upper confidence limit, in the number''s unit';
comment on column pooled_estimates.disagreement is 'Cochran''s Q divided by its degrees of freedom: about 1 if nothing changed between rounds; null for one round';
