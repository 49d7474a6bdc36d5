-- one row per scheme digest, source, round, label, arm, attribute and outcome: the difference from the control arm in all rounds so far, with an always-valid interval, assuming independent errors and a constant difference
create or replace view pooled_experiments as
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
differences as (
    select
        rounds.*,
        experiments.* exclude (run_id),
        1 / (experiments.standard_error * experiments.standard_error) as weight,
        sqrt(-2 * ln((1 - experiments.confidence) / 2)) as t,
        -- the normal quantile of (1 + confidence) / 2: Abramowitz and Stegun (26.2.23), within 0.00045
        t - (2.515517 + 0.802853 * t + 0.010328 * t * t)
        / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t) as z
    from experiments
    join rounds on rounds.run_id = experiments.run_id
    where experiments.standard_error > 0
),
pooled as (
    select
        *,
        count(*) over so_far as rounds,
        first_value("round") over so_far as first_round,
        sum(weight) over so_far as information,
        sum(weight * difference) over so_far / information as effect,
        -- variance of the mixed effects: the interval is shortest after 7 rounds like the first
        7 / 8.212 * first_value(weight) over so_far as precision_of_mixture,
        -- an interval's allowance for bias, beyond its standard error, does not shrink
        greatest(0, sum(weight * (difference - low - z * standard_error)) over so_far / information) as below,
        greatest(0, sum(weight * (high - difference - z * standard_error)) over so_far / information) as above
    from differences
    window so_far as (
        partition by scheme_digest, source, label, arm, control, attribute, functional, confidence
        order by "round"
    )
),
bounded as (
    select
        *,
        (information + precision_of_mixture) / information as shrinkage,
        ln(1 + information / precision_of_mixture) as log_ratio,
        sqrt(shrinkage / information * (log_ratio - 2 * ln(1 - confidence))) as radius,
        greatest(0, abs(effect) - case when effect > 0 then below else above end) as distance,
        least(1, exp((log_ratio - distance * distance * information / shrinkage) / 2)) as p
    from pooled
)
select
    scheme,
    scheme_digest,
    source,
    "round",
    run_id,
    label,
    arm,
    control,
    attribute,
    functional,
    rounds,
    first_round,
    effect as difference,
    1 / sqrt(information) as standard_error,
    confidence,
    effect - radius - below as low,
    effect + radius + above as high,
    p as p_value,
    least(1, outcomes * p) as adjusted_p_value,
    outcomes
from bounded;

comment on column pooled_experiments.rounds is 'number of rounds so far with this difference; rounds of one seed count once';
comment on column pooled_experiments.first_round is 'first of these rounds';
comment on column pooled_experiments.difference is 'mean of the differences, weighted by inverse variance, in the functional''s unit';
comment on column pooled_experiments.standard_error is 'standard error of the mean, in the functional''s unit';
comment on column pooled_experiments.low is 'lower limit of the always-valid interval, in the functional''s unit: the intervals of all rounds together cover the difference with this confidence';
comment on column pooled_experiments.high is 'upper limit of the always-valid interval, in the functional''s unit';
comment on column pooled_experiments.p_value is 'always-valid p-value: if the true difference is zero, it is below 0.05 in any round with probability 5 % at most';
comment on column pooled_experiments.adjusted_p_value is 'p_value times outcomes, 1 at most: valid for all outcomes and all rounds together';
