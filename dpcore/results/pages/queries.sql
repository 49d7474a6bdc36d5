-- name: associations
-- one row per joint functional or test, ordered by the parts of the second attribute
with pair as (
    select *
    from joint
    where run_id = $run_id and "first" = $first and "second" = $second
)
select associations.*
from associations
left join (select distinct second_part, second_position from pair) as along on along.second_part = associations.second_part
left join (select distinct first_part, first_position from pair) as own on own.first_part = associations.first_part
where associations.run_id = $run_id and associations."first" = $first and associations."second" = $second
order by
    along.second_position nulls first,
    own.first_position,
    list_position(['correlation', 'rank_correlation', 'slope', 'intercept', 'independence', 'trend', 'equal_means'], associations.functional),
    associations.functional

-- name: attributes
-- one row per attribute: its type and bounds, its mechanism and the certified loss
select
    budgets.attribute,
    coalesce(attributes.unit, '') as unit,
    attributes.lower,
    attributes.upper,
    budgets.mechanism,
    budgets.stated,
    budgets.epsilon,
    budgets.certificate,
    budgets.charges,
    budgets.published_epsilon
from budgets
left join attributes on attributes.run_id = budgets.run_id and attributes.attribute = budgets.attribute
where budgets.run_id = $run_id
order by attributes.position, budgets.attribute

-- name: changes
-- one row per attribute, group and functional in this and an earlier round: the change between them
select comparisons.*, other."round" as since, other.finished_at as since_landed
from comparisons
join runs as other on other.run_id = comparisons.other_run_id
left join attributes on attributes.run_id = comparisons.run_id and attributes.attribute = comparisons.attribute
left join categories
    on categories.run_id = comparisons.run_id
    and categories.attribute = comparisons.attribute
    and 'frequency(' || categories.category || ')' = comparisons.functional
where comparisons.run_id = $run_id and comparisons.other_run_id <> comparisons.run_id
order by
    other."round" desc,
    attributes.position,
    comparisons.attribute,
    comparisons.given <> '',
    categories.position,
    comparisons.functional,
    comparisons.given

-- name: checks
-- one row per check, failed checks first
select name, passed, observed, threshold, detail
from checks
where run_id = $run_id
order by passed, name

-- name: density
-- one row per grid point of the density, with the true density of simulated clients and the previous round, if any
select
    densities.*,
    truths.value as truth,
    before.density as before
from densities
left join truths
    on truths.run_id = densities.run_id
    and truths.attribute = densities.attribute
    and truths.given = densities.given
    and truths.quantity = 'density'
    and truths.x = densities.x
left join densities as before
    on before.run_id = $previous
    and before.attribute = densities.attribute
    and before.estimator = densities.estimator
    and before.given = densities.given
    and before.x = densities.x
where densities.run_id = $run_id and densities.attribute = $attribute and densities.given = ''
order by densities.x

-- name: differences
-- one row per pair of groups and functional: the estimate of the first group minus that of the second
select comparisons.*
from comparisons
where comparisons.run_id = $run_id
    and comparisons.other_run_id = comparisons.run_id
    and comparisons.attribute = $attribute
order by comparisons.functional, comparisons.given, comparisons.other_given

-- name: experiments
-- one row per arm and outcome of an experiment: its difference from the control arm, in this round and in all rounds so far
select
    experiments.*,
    coalesce(attributes.unit, '') as unit,
    pooled.rounds,
    pooled.first_round,
    pooled.difference as pooled_difference,
    pooled.low as pooled_low,
    pooled.high as pooled_high,
    pooled.adjusted_p_value as pooled_p_value
from experiments
join attributes on attributes.run_id = experiments.run_id and attributes.attribute = experiments.attribute
left join pooled_experiments as pooled
    on pooled.run_id = experiments.run_id
    and pooled.label = experiments.label
    and pooled.arm = experiments.arm
    and pooled.attribute = experiments.attribute
    and pooled.functional = experiments.functional
where experiments.run_id = $run_id
order by experiments.rowid

-- name: frequencies
-- one row per category, for all clients and for each group, with the true proportion of simulated clients and the previous round, if any
select frequencies.*, truths.value as truth, before.estimate as before
from frequencies
left join truths
    on truths.run_id = frequencies.run_id
    and truths.attribute = frequencies.attribute
    and truths.given = frequencies.given
    and truths.quantity = 'frequency(' || frequencies.category || ')'
left join frequencies as before
    on before.run_id = $previous
    and before.attribute = frequencies.attribute
    and before.estimator = frequencies.estimator
    and before.given = frequencies.given
    and before.category = frequencies.category
left join categories
    on categories.run_id = frequencies.run_id
    and categories.attribute = frequencies.attribute
    and categories.category = frequencies.category
left join labels
    on labels.run_id = frequencies.run_id
    and frequencies.given = labels.label || '=' || labels.category
where frequencies.run_id = $run_id and frequencies.attribute = $attribute
order by
    frequencies.given <> '', starts_with(frequencies.given, 'weighted=') desc, split_part(frequencies.given, '=', 1),
    labels.position, frequencies.given,
    categories.position, frequencies.category

-- name: group_densities
-- one row per group and grid point of its density, with the true density of simulated clients
select densities.*, truths.value as truth
from densities
left join truths
    on truths.run_id = densities.run_id
    and truths.attribute = densities.attribute
    and truths.given = densities.given
    and truths.quantity = 'density'
    and truths.x = densities.x
left join categories
    on categories.run_id = densities.run_id
    and densities.given = categories.attribute || '=' || categories.category
left join labels
    on labels.run_id = densities.run_id
    and densities.given = labels.label || '=' || labels.category
where densities.run_id = $run_id and densities.attribute = $attribute and densities.given <> ''
order by split_part(densities.given, '=', 1), coalesce(categories.position, labels.position), densities.given, densities.x

-- name: joint
-- one row per cell of the two-way table, with its expected proportion under independence
select
    joint.*,
    sum(joint.share) over (partition by joint.first_part) * sum(joint.share) over (partition by joint.second_part) as independent
from joint
where joint.run_id = $run_id and joint."first" = $first and joint."second" = $second
order by joint.first_position, joint.second_position

-- name: labels
-- one row per label, with its number of categories
select labels.label, count(*) as categories, count(labels.population) > 0 as is_known
from labels
where labels.run_id = $run_id
group by labels.label
order by labels.label

-- name: landed
-- one row per scheme and landed round, newest first
select scheme, "round", run_id
from latest_runs
order by "round" desc, finished_at desc, started_at desc, run_id desc

-- name: newest
-- one row: the newest landed round with its checks, or no row
select
    run_id,
    flow_run_id,
    scheme,
    "round",
    source = 'simulated' as is_simulated,
    finished_at as landed_at,
    accepted,
    rejected,
    (select count(*) from checks where checks.run_id = newest.run_id) as checks,
    (
        select coalesce(list(name order by name), [])
        from checks
        where checks.run_id = newest.run_id and not passed
    ) as failed
from latest_runs as newest
order by "round" desc, finished_at desc, started_at desc, run_id desc
limit 1

-- name: numbers
-- one row per functional, for all clients and for each group, with the true value for simulated clients
select functionals.*, truths.value as truth
from functionals
left join truths
    on truths.run_id = functionals.run_id
    and truths.attribute = functionals.attribute
    and truths.given = functionals.given
    and truths.quantity = functionals.functional
left join categories
    on categories.run_id = functionals.run_id
    and functionals.given = categories.attribute || '=' || categories.category
left join labels
    on labels.run_id = functionals.run_id
    and functionals.given = labels.label || '=' || labels.category
where functionals.run_id = $run_id and functionals.attribute = $attribute
order by
    functionals.given <> '', functionals.functional, starts_with(functionals.given, 'weighted=') desc,
    split_part(functionals.given, '=', 1), coalesce(categories.position, labels.position), functionals.given

-- name: pairs
-- one row per pair of attributes with joint estimates
select associations."first", associations."second"
from associations
left join attributes as own on own.run_id = associations.run_id and own.attribute = associations."first"
left join attributes as other on other.run_id = associations.run_id and other.attribute = associations."second"
where associations.run_id = $run_id
group by all
order by min(own.position), min(other.position)

-- name: previous
-- one row: the latest earlier round of the same scheme digest and source; no row without one, or for a trial
select earlier.run_id, earlier."round", earlier.finished_at
from latest_runs as earlier
join runs as this on this.run_id = $run_id
where earlier.scheme_digest = this.scheme_digest
    and earlier.source = this.source
    and earlier."round" < this."round"
    and not earlier.trial
    and not this.trial
order by earlier."round" desc
limit 1

-- name: regressions
-- one row per regression, quantity, category and term, in the order of the scheme, with the labels' reference categories
with effects as (
    select distinct regression, term, split_part(term, ' = ', 1) as label
    from regressions
    where run_id = $run_id and quantity = 'effect'
),
compared as (
    select explained.regression, string_agg(labels.label || ' = ' || labels.category, ' : ' order by labels.rowid) as references
    from labels
    join (select distinct regression, label from effects) as explained on explained.label = labels.label
    where labels.run_id = $run_id
        and (explained.regression, labels.label || ' = ' || labels.category) not in (select regression, term from effects)
    group by explained.regression
)
select regressions.* exclude (run_id), coalesce(attributes.unit, '') as unit, coalesce(compared.references, '') as references
from regressions
left join compared on compared.regression = regressions.regression
left join attributes
    on attributes.run_id = regressions.run_id and attributes.attribute = trim(split_part(regressions.formula, '~', 1))
where regressions.run_id = $run_id
order by regressions.rowid

-- name: rejects
-- one row per reason for rejecting reports or records, most frequent first
select reason, "count"
from rejects
where run_id = $run_id
order by "count" desc, reason

-- name: rows
-- one row per row of this table for the attribute
select *
from query_table($table)
where run_id = $run_id and attribute = $attribute
order by all

-- name: run
-- one row: the run, its scheme, and whether the stored text of the scheme has the stored digest
select
    runs.*,
    schemes.description,
    schemes.planned_clients,
    schemes.reporting,
    schemes.stated,
    schemes.epsilon,
    schemes.canonical,
    schemes.published_epsilon,
    schemes.published_delta,
    schemes.published_crowd,
    schemes.unpublished,
    sha256(schemes.canonical) = runs.scheme_digest as is_whole
from runs
left join schemes on schemes.run_id = runs.run_id
where runs.run_id = $run_id

-- name: sensitivities
-- one row per functional, and one for all proportions of an attribute: its largest shift by 1 % malicious reports
select
    attributes.attribute,
    case when starts_with(number, 'frequency(') then '' else number end as functional,
    max(sensitivity) * 0.01 / 0.99 as moved,
    bool_and(is_exact) as is_exact,
    any_value(attributes.unit) as unit
from sensitivities
join attributes on attributes.run_id = sensitivities.run_id and attributes.attribute = sensitivities.attribute
where sensitivities.run_id = $run_id and given = ''
group by all
order by any_value(attributes.position), functional

-- name: spent
-- one row: the rounds of this scheme up to this one, with real or with simulated clients, and the epsilon they have spent
select
    coalesce(composed.rounds, 1) as rounds,
    coalesce(composed.drawings, 1) as drawings,
    coalesce((
        select min(earlier."round")
        from composed_budgets as earlier
        where earlier.scheme = this.scheme
            and (coalesce(earlier.source, 'records') = 'simulated') = (this.source = 'simulated')
    ), this."round") as first_round,
    coalesce(composed.fresh, schemes.epsilon) as epsilon,
    composed.memoized_least,
    composed.memoized_most,
    coalesce(composed.delta, schemes.delta) as delta,
    coalesce(composed.fresh_delta, schemes.delta) as fresh_delta,
    composed.known_clients,
    composed.known_most
from runs as this
left join schemes on schemes.run_id = this.run_id
left join composed_budgets as composed
    on composed.scheme = this.scheme
    and composed."round" = this."round"
    and composed.attribute = ''
    and (coalesce(composed.source, 'records') = 'simulated') = (this.source = 'simulated')
where this.run_id = $run_id

-- name: trends
-- one row per round, group and functional of the attribute: the estimate and the smoothed value, in at most 30 rounds up to this one
select "round", given, number as functional, estimate, low, high, smoothed, smoothed_low, smoothed_high
from trends
where attribute = $attribute
    and estimator not in ('bias_aware', 'distribution_free') -- which are of the same numbers
    and run_id in (
        select earlier.run_id
        from latest_runs as earlier
        join runs as this on this.run_id = $run_id
        where earlier.scheme_digest = this.scheme_digest
            and earlier.source = this.source
            and earlier."round" <= this."round"
            and not earlier.trial
            and not this.trial
        order by earlier."round" desc
        limit 30
    )
order by "round"

-- name: weights
-- one row per attribute with estimates weighted by known population totals
select weights.*
from weights
where weights.run_id = $run_id
order by weights.attribute
