-- comments on tables and columns that replace those of the applied migrations, whose text cannot change

comment on column migrations.name is 'name of the migration, from its file name';

comment on column runs.source is 'origin of the reports: simulated clients, records privatized here, or reports collected from clients';
comment on column runs.clients is 'number of clients that took part';
comment on column runs.accepted is 'number of reports that passed validation';
comment on column runs.rejected is 'number of reports or records that validation rejected';
comment on column runs.randomness is 'secure: from the operating system; seeded: reproducible, for a dry run or a simulation';
comment on column runs.seed is 'seed of a simulation; null for real records, because the seed would reveal their noise';
comment on column runs.state is 'landed: all tables hold the run; failed: it stopped with an error; waiting: it is held back because it has too few clients';
comment on column runs.flow_run_id is 'identifier of the Prefect flow run; null without Prefect';
comment on column runs.late is 'number of reports, accepted or rejected, that were sent for an earlier round; null before version 20 and for runs that have not landed';
comment on column runs.trial is 'true for a simulated run under a name of its own: it is never compared, pooled or added up';
comment on column runs.replaced_by is 'run that replaced this one, because real data arrived or the round was run with again; null for the current run; its own run_id for an early dry run';
comment on column runs.forgotten_at is 'time at which the results of this round were deleted, UTC; null if they are present; records of privacy loss remain';

comment on table aggregates is 'one row per run, attribute, group, statistic, level and cell: the integer sums that all estimates are computed from';
comment on column aggregates.given is 'group as ATTRIBUTE=CATEGORY, by the reported category of the attribute it is paired with; empty for all clients';
comment on column aggregates.statistic is 'reports: number of reports; count: number of reports in a cell; sum: sum of reported integers';
comment on column aggregates.level is 'resolution level, block or row of text hashing, from 0; 0 if the mechanism has no levels';
comment on column aggregates.value is 'value of the statistic: a number of reports, or the mechanism''s lattice units for sums';

comment on column frequencies.estimator is 'estimator that computed this row';
comment on column frequencies.given is 'group as ATTRIBUTE=CATEGORY; empty for all clients';
comment on column frequencies.estimate is 'estimated proportion of clients in the category: the raw estimates projected onto nonnegative values that sum to 1 within a group';
comment on column frequencies.raw is 'unbiased estimate, used for differences; it can be below 0 or above 1; null before version 16';
comment on column frequencies.standard_error is 'standard error of raw';
comment on column frequencies.confidence is 'confidence level of the interval, strictly between 0 and 1';
comment on column frequencies.low is 'lower confidence limit of the proportion; of a text, simultaneous_low, because texts are selected';
comment on column frequencies.high is 'upper confidence limit of the proportion';
comment on column frequencies.simultaneous_low is 'lower simultaneous confidence limit: the intervals of all categories of the attribute and group jointly have the stated confidence, so they are valid for selected categories such as the largest; null before version 35';
comment on column frequencies.simultaneous_high is 'upper simultaneous confidence limit; null before version 35';

comment on column densities.estimator is 'estimator that computed this row';
comment on column densities.given is 'group as ATTRIBUTE=CATEGORY; empty for all clients';
comment on column densities.density is 'estimated density at x, per unit of the attribute; it integrates to 1 minus the point masses, which functionals lists as atom(X)';
comment on column densities.low is 'lower limit of the pointwise confidence band, per unit of the attribute';
comment on column densities.high is 'upper limit of the pointwise confidence band, per unit of the attribute';
comment on column densities.cdf is 'estimated proportion of clients at or below x, including point masses at the bounds';
comment on column densities.cdf_low is 'lower limit of the pointwise confidence band of the cdf';
comment on column densities.cdf_high is 'upper limit of the pointwise confidence band of the cdf';
comment on column densities.confidence is 'pointwise confidence level of the band, strictly between 0 and 1';

comment on column functionals.estimator is 'estimator that computed this row';
comment on column functionals.given is 'group as ATTRIBUTE=CATEGORY; empty for all clients';
comment on column functionals.functional is 'functional as in the scheme: mean, entropy, quantile(0.5); atom(X) is the point mass at a bound X and is always reported if there is one';
comment on column functionals.kind is 'kind of the functional, which determines the method of its interval';
comment on column functionals.estimate is 'bias-corrected estimate, in the functional''s unit; null if no estimate is available';
comment on column functionals.plug_in is 'the functional evaluated at the estimated distribution, in its unit';
comment on column functionals.confidence is 'confidence level of the interval, strictly between 0 and 1';
comment on column functionals.low is 'lower confidence limit, in the functional''s unit';
comment on column functionals.high is 'upper confidence limit, in the functional''s unit';
comment on column functionals.reason is 'why no estimate is available and what to do, or a remark; null if there is neither';

comment on table levels is 'one row per run, attribute, group and level that the level rule examined';
comment on column levels.given is 'group as ATTRIBUTE=CATEGORY; empty for all clients';
comment on column levels.level is 'resolution level j; cells have width 2^-j of the attribute''s range';
comment on column levels.statistic is 'statistic of the level rule: an L2 distance on the unit interval; null if there was no level to compare with';
comment on column levels.threshold is 'threshold of the level rule, in the unit of statistic';
comment on column levels.selected is 'true if the estimate uses this level';

comment on table budgets is 'one row per run and attribute: the stated and the certified privacy loss';
comment on column budgets.certificate is 'certified bound of the mechanism as an exact fraction, on e^epsilon or on epsilon';
comment on column budgets.charges is 'number of reports charged to this budget in the run';
comment on column budgets.states is 'maximum number of distinct answers that a client with a key is charged for over all rounds; null before version 23';
comment on column budgets.known_charges is 'number of charges of clients that sent a token; null if no reports were collected';
comment on column budgets.known_clients is 'number of clients that sent a token; clients without a token cannot be distinguished from each other';
comment on column budgets.most_charges is 'largest number of charges of a client with a token in this run; 0 if no client sent a token';
comment on column budgets.delta is 'delta of one charge, the probability that Gaussian noise exceeds epsilon; 0 for other noise';
comment on column budgets.published_epsilon is 'central epsilon by shuffling of one answer, in natural-log units: the privacy loss to somebody who sees published aggregates only, if raw reports are deleted and each report has fresh noise (a round cannot detect memoized answers without tokens); it never replaces epsilon; null if schemes.unpublished gives a reason, and before version 33';
comment on column budgets.published_delta is 'delta of published_epsilon, a probability';
comment on column budgets.published_least is 'lower bound on the privacy loss of published aggregates: the epsilon that a known attack attains in the same group at published_delta, in natural-log units; its ratio to published_epsilon shows how tight the bound is; 0 if no attack is known; null if published_epsilon is null, and before version 34';

comment on table rejects is 'one row per run and reason for rejecting reports or records';
comment on column rejects.reason is 'reason for the rejection, without the content of any report';
comment on column rejects.count is 'number of reports or records rejected for this reason';
comment on column rejects.example_position is 'position of one rejected report in its batch, from 0';

comment on table truths is 'one row per run, attribute, group and quantity (and x, for the density) of a simulated population';
comment on column truths.given is 'group as ATTRIBUTE=CATEGORY; empty for all clients';

comment on column checks.passed is 'true if the run passed the check';
comment on column checks.observed is 'observed value, in the check''s unit';
comment on column checks.threshold is 'threshold that the observed value is compared with, in the same unit';
comment on column checks.detail is 'explanation in one line';

comment on column comparisons.other_run_id is 'run it is compared with, usually of the previous round; the same run for a comparison of two of its groups';
comment on column comparisons.given is 'group of this run as ATTRIBUTE=CATEGORY; empty for all clients';
comment on column comparisons.other_given is 'group of the other run, in the same form';
comment on column comparisons.functional is 'functional as in functionals, or frequency(CATEGORY)';
comment on column comparisons.difference is 'estimate of given in run_id minus that of other_given in other_run_id, in the functional''s unit; null if no difference is available';
comment on column comparisons.correlation is 'correlation of the two estimation errors used for the interval, from -1 to 1: 0 for two runs, known or bounded for two groups of one run; null if there is no difference';
comment on column comparisons.confidence is 'confidence level of this interval alone, strictly between 0 and 1';
comment on column comparisons.low is 'lower confidence limit, in the functional''s unit';
comment on column comparisons.high is 'upper confidence limit, in the functional''s unit';
comment on column comparisons.deviations is 'distance of the difference from zero, in standard errors on that side of the interval';
comment on column comparisons.threshold is 'critical value of deviations, simultaneous over all rows of the two runs at family-wise level 0.01';
comment on column comparisons.differs is 'true if the difference is statistically significant: deviations exceed threshold, as in check drift(ATTRIBUTE); null if there is no difference, and before version 16';
comment on column comparisons.reason is 'why no difference is available, or a remark; null if there is neither';

comment on column benchmarks.method is 'measured method: a mechanism and its estimator, or an operation';
comment on column benchmarks.target is 'density or functional of the measurement; empty if there is none';
comment on column benchmarks.clients is 'number of clients in one repetition';
comment on column benchmarks.metric is 'measured quantity, with its unit in the name if it has one';
comment on column benchmarks.repetitions is 'number of independent repetitions';
comment on column benchmarks.low is 'lower Monte Carlo confidence limit, in the metric''s unit';
comment on column benchmarks.high is 'upper Monte Carlo confidence limit, in the metric''s unit';
comment on column benchmarks.measured_at is 'time of the study, the same for all its rows, UTC';

comment on table schemes is 'one row per run: the complete scheme of the run';
comment on column schemes.description is 'description from the scheme; may be empty';
comment on column schemes.planned_clients is 'planned number of clients';
comment on column schemes.reporting is 'all: a client reports every attribute; one: it reports one attribute, drawn publicly';
comment on column schemes.stated is 'total epsilon of a client in one round as the scheme states it, natural-log units, such as 4 + ln 3';
comment on column schemes.epsilon is 'total epsilon of a client in one round as a number, natural-log units';
comment on column schemes.delta is 'total delta of a client in one round, a probability; 0 without Gaussian noise';
comment on column schemes.published_epsilon is 'central epsilon by shuffling of all answers of a client in the round, in natural-log units; null if unpublished gives a reason, and before version 33';
comment on column schemes.published_crowd is 'number of reports in the smallest group of clients, by labels and batch, that published results distinguish';
comment on column schemes.unpublished is 'why there is no published_epsilon; empty if there is one; null before version 33';

comment on column attributes.position is 'position of the attribute in the scheme, from 0';
comment on column attributes.unit is 'unit of the attribute''s values, such as USD; empty if there is none';
comment on column attributes.lower is 'lower bound, in the attribute''s unit; null for categorical attributes';
comment on column attributes.upper is 'upper bound, in the attribute''s unit; null for categorical attributes';
comment on column attributes.own_variance_none is 'number of reports times the part of the variance of raw that a category does not share with others, at a true proportion of 0; null for numeric attributes, for mechanisms whose categories differ, and before version 28';
comment on column attributes.own_variance_all is 'the same at a true proportion of 1; it is linear in the proportion';

comment on column categories.position is 'position of the category in the scheme, from 0; texts that a round found are in order of their shares';
comment on column categories.value is 'number that the scheme assigns to the category; null if there is none';

comment on column batches.file is 'SHA-256 of the file''s bytes, hex digits; it prevents counting a file in two rounds';
comment on column batches.sent_for is 'round that the file was sent for; late if it is before the run''s own round; empty if the file names none';
comment on column batches.reports is 'number of reports in the file, accepted or rejected';

comment on table sensitivities is 'one row per run, attribute, estimator, group and number: the largest shift that malicious clients can cause';
comment on column sensitivities.estimator is 'estimator that computed the number';
comment on column sensitivities.given is 'group as ATTRIBUTE=CATEGORY; empty for all clients';
comment on column sensitivities.number is 'functional as in functionals; frequency(CATEGORY), for frequencies.raw; density or cdf, at the point where the curve is most sensitive';
comment on column sensitivities.sensitivity is 'largest effect of one report, in the number''s unit: a fraction beta of malicious reports shifts the number by at most sensitivity * beta / (1 - beta)';
comment on column sensitivities.is_exact is 'true if the bound is valid for every beta; false if it is first order in beta and ignores clipping of the estimate to its range';

comment on table drawings is 'one row per attribute and occasion on which real clients were asked for it, even if the round failed; an empty attribute means all attributes together';
comment on column drawings.source is 'records: privatized here; reports: sent by clients';
comment on column drawings.drawing is 'run that privatized the records, or SHA-256 of a file of reports; all files sent for one round are one occasion';
comment on column drawings.round is 'round that the reports were sent for, or the first round that used them';
comment on column drawings.attribute is 'name of the attribute in the scheme; empty for all attributes that a client answers together';
comment on column drawings.epsilon is 'epsilon of one report with fresh noise, natural-log units';
comment on column drawings.delta is 'delta of one report, a probability; 0 without Gaussian noise';
comment on column drawings.states is 'maximum number of distinct answers that a client with a key is charged for over all rounds; null if unknown';

comment on column labels.label is 'name of the label, which reports carry as public data';
comment on column labels.position is 'position of the category in the scheme, from 0';
comment on column labels.reports is 'number of accepted reports; null if it is below the minimum for publication, or if there are none';
comment on column labels.population is 'known proportion of the population; null if the round has no population totals for the label';

comment on table weights is 'one row per run and attribute with estimates weighted by known population totals';
comment on column weights.labels is 'labels with known totals, separated by commas; given is ''weighted='' followed by them';
comment on column weights.reports is 'number of reports of the attribute';
comment on column weights.effective_n is 'effective sample size: reports divided by design_effect, rounded';
comment on column weights.design_effect is 'Kish''s design effect, n sum w^2 n / (sum w n)^2, rounded: the variance inflation by weighting if all label groups have the same distribution; intervals use the distributions of the groups';

comment on column joint."second" is 'name of the other attribute in the scheme';
comment on column joint.first_part is 'part of the first attribute: a category, or a range as LOW to HIGH';
comment on column joint.second_part is 'part of the second attribute, in the same form';
comment on column joint.first_position is 'position of the part in the first attribute, from 0';
comment on column joint.second_position is 'position of the part in the second attribute, from 0';
comment on column joint.share is 'proportion among clients who answered both attributes, from the fitted joint distribution, whose margins match the two attributes'' own estimates';
comment on column joint.estimate is 'unconstrained estimate of the proportion, on which the interval is based; it can be below 0';
comment on column joint.confidence is 'confidence level of the interval, strictly between 0 and 1';
comment on column joint.low is 'lower confidence limit, extended if necessary to include share';
comment on column joint.high is 'upper confidence limit, extended if necessary to include share';

comment on table associations is 'one row per run, pair of attributes and joint functional or test';
comment on column associations."second" is 'name of the other attribute in the scheme';
comment on column associations.functional is 'joint functional, such as correlation or conditional_mean(20, 30), or test: independence, trend or equal_means';
comment on column associations.kind is 'smooth: the interval assumes a smooth distribution; distribution_free: it is valid for every distribution; test: a hypothesis test';
comment on column associations.first_part is 'part of the first attribute, as in joint; empty for all values';
comment on column associations.second_part is 'part of the second attribute on which the functional is conditioned; empty for all values';
comment on column associations.estimate is 'estimate for values clipped to their bounds, in the functional''s unit; null for a test, and if no estimate is available';
comment on column associations.plug_in is 'the functional evaluated at the fitted joint distribution, in its unit';
comment on column associations.confidence is 'confidence level of the interval, strictly between 0 and 1; null for a test';
comment on column associations.low is 'lower confidence limit, in the functional''s unit';
comment on column associations.high is 'upper confidence limit, in the functional''s unit';
comment on column associations.statistic is 'test statistic, with a chi-squared distribution under the null hypothesis; null if not a test';
comment on column associations.degrees is 'degrees of freedom of the test; null if not a test';
comment on column associations.p_value is 'p-value of the test; null if not a test';
comment on column associations.reason is 'why no estimate is available and what to do; null if there is an estimate';

-- name: accuracy_cells
-- one row per method of ours, target, clients, epsilon and metric of the newest accuracy study, with the best peer in hindsight and SW-EMS at 1024 bins
create or replace view accuracy_cells as
with chosen as (
    select method, parameters, target, clients, epsilon, metric
    from accuracy_rows
    where is_peer and half = 'first'
    qualify row_number() over (partition by target, clients, epsilon, metric order by error, method, parameters) = 1
),
hindsight as (
    select chosen.*, measured.error
    from chosen
    join accuracy_rows as measured using (method, parameters, target, clients, epsilon, metric)
    where measured.half = 'second'
),
published as (
    select target, clients, epsilon, metric, error
    from accuracy_rows
    where method = 'peer:sw_ems' and parameters = 'bins=1024' and half = ''
)
select
    ours.method,
    ours.target,
    ours.clients,
    ours.epsilon,
    ours.metric,
    ours.repetitions,
    ours.error,
    trim(substr(hindsight.method, 6) || ' ' || hindsight.parameters) as hindsight,
    hindsight.error as hindsight_error,
    published.error as published_error,
    ours.error / hindsight.error as to_hindsight,
    ours.error / published.error as to_published
from accuracy_rows as ours
join hindsight using (target, clients, epsilon, metric)
left join published using (target, clients, epsilon, metric)
where not ours.is_peer and ours.half = '';

comment on column accuracy_cells.error is 'median error of our method, in the metric''s unit';
comment on column accuracy_cells.hindsight is 'peer with the smallest error and its settings, selected on the first half of the repetitions';
comment on column accuracy_cells.hindsight_error is 'median error of that peer on the second half, in the metric''s unit';
comment on column accuracy_cells.published_error is 'median error of SW-EMS at 1024 bins, in the metric''s unit';
comment on column accuracy_cells.to_hindsight is 'ratio of our error to that of the best peer; below 1 our error is smaller';
comment on column accuracy_cells.to_published is 'ratio of our error to that of SW-EMS at 1024 bins';
-- name: accuracy_rows
-- one row per method, parameters, target, clients, epsilon, metric and half of the newest accuracy study; half is empty for all repetitions
create or replace view accuracy_rows as
select
    method,
    parameters,
    target,
    clients,
    epsilon,
    split_part(metric, '.', 1) as metric,
    split_part(metric, '.', 2) as half,
    repetitions,
    greatest(value, 1e-12) as error,
    starts_with(method, 'peer:') as is_peer
from latest_benchmarks
where study = 'accuracy';

comment on column accuracy_rows.metric is 'error metric, without the half';
comment on column accuracy_rows.half is 'first or second half of the repetitions; empty for all of them';
comment on column accuracy_rows.error is 'median error, in the metric''s unit, at least 1e-12';
comment on column accuracy_rows.is_peer is 'true for a method of another package';
-- name: accuracy_summary
-- one row per method of ours and metric of the newest accuracy study: geometric means of error ratios, share of cells won, worst target
create or replace view accuracy_summary as
with worst as (
    select method, metric, target as worst_target, to_hindsight as worst_ratio
    from accuracy_targets
    qualify row_number() over (partition by method, metric order by to_hindsight desc, target) = 1
)
select
    cells.method,
    cells.metric,
    count(*) as cells,
    exp(avg(ln(cells.to_hindsight))) as to_hindsight,
    exp(avg(ln(cells.to_published))) as to_published,
    avg(case when cells.to_hindsight < 1 then 1.0 else 0.0 end) as won,
    any_value(worst.worst_target) as worst_target,
    any_value(worst.worst_ratio) as worst_ratio
from accuracy_cells as cells
join worst using (method, metric)
group by cells.method, cells.metric;

comment on column accuracy_summary.cells is 'number of cells of target, clients and epsilon';
comment on column accuracy_summary.to_hindsight is 'geometric mean of the ratios of our error to that of the best peer';
comment on column accuracy_summary.to_published is 'geometric mean of the ratios of our error to that of SW-EMS at 1024 bins';
comment on column accuracy_summary.won is 'proportion of cells in which our error is below that of the best peer';
comment on column accuracy_summary.worst_target is 'target with the largest ratio to the best peer';
comment on column accuracy_summary.worst_ratio is 'geometric mean of the ratios to the best peer at that target';
-- name: accuracy_targets
-- one row per method of ours, metric and target of the newest accuracy study: geometric means over clients and epsilons of error ratios
create or replace view accuracy_targets as
select
    method,
    metric,
    target,
    count(*) as cells,
    exp(avg(ln(to_hindsight))) as to_hindsight,
    exp(avg(ln(to_published))) as to_published
from accuracy_cells
group by method, metric, target;

comment on column accuracy_targets.cells is 'number of cells of clients and epsilon';
comment on column accuracy_targets.to_hindsight is 'geometric mean of the ratios of our error to that of the best peer';
comment on column accuracy_targets.to_published is 'geometric mean of the ratios of our error to that of SW-EMS at 1024 bins';
-- name: audits
-- one row per audit and attribute: its exact epsilon; an empty attribute is the whole scheme
create or replace view audits as
select
    checks.run_id,
    split_part(checks.detail, ' ', 1) as scheme,
    split_part(checks.detail, ' ', 2) as scheme_digest,
    split_part(split_part(checks.detail, ' ', 4), ':', 1) as audited_on,
    regexp_extract(checks.name, '^exact_epsilon\((.*)\)$', 1) as attribute,
    checks.observed as epsilon,
    checks.threshold as promised,
    checks.passed,
    checks.detail,
    shown.observed as lower_bound,
    shown.passed as borne_out
from checks
left join checks as shown
    on shown.run_id = checks.run_id and shown.name = replace(checks.name, 'exact_epsilon(', 'lower_bound(') and shown.name <> checks.name
where checks.name = 'exact_epsilon' or starts_with(checks.name, 'exact_epsilon(');

comment on column audits.run_id is 'identifier of the audit, 16 hex digits; it is not in runs';
comment on column audits.scheme is 'name of the scheme that was audited';
comment on column audits.scheme_digest is 'SHA-256 of its canonical text, the first hex digits';
comment on column audits.audited_on is 'UTC date of the audit';
comment on column audits.attribute is 'name of the attribute; empty for the whole scheme';
comment on column audits.epsilon is 'exact epsilon, computed by enumeration, natural-log units';
comment on column audits.promised is 'epsilon that the scheme states, natural-log units';
comment on column audits.passed is 'true if the exact epsilon is at most the stated one';
comment on column audits.lower_bound is 'empirical lower bound on epsilon from reports, at 99 % confidence, natural-log units; null if not measured';
comment on column audits.borne_out is 'true if the lower bound is at most the stated epsilon; null if not measured';
-- name: composed_budgets
-- one row per scheme, round and attribute: epsilon spent by clients up to this round, including failed rounds; an empty attribute is all attributes together
create or replace view composed_budgets as
with stated as (
    select run_id, attribute, epsilon, delta, states from budgets
    union all
    select run_id, '' as attribute, epsilon, delta, null as states from schemes
),
asked as (
    -- reports sent for one round are one drawing, whatever the number of files; every run on records draws fresh noise
    select distinct
        scheme,
        scheme_digest,
        true as is_real,
        case when source = 'records' then drawing else '' end as drawing,
        "round",
        attribute,
        epsilon,
        delta,
        states
    from drawings
    union all by name
    -- simulated clients are accounted separately, in rounds without real clients
    select
        latest_runs.scheme,
        latest_runs.scheme_digest,
        false as is_real,
        latest_runs.run_id as drawing,
        latest_runs."round",
        stated.attribute,
        stated.epsilon,
        stated.delta,
        stated.states
    from latest_runs
    join stated on stated.run_id = latest_runs.run_id
    where latest_runs.source = 'simulated'
        and not latest_runs.trial
        and (latest_runs.scheme, latest_runs."round") not in (select (scheme, "round") from drawings)
),
charged as (
    select
        *,
        -- answers are memoized by scheme digest: another digest means fresh noise and a new charge
        is_real and drawing <> '' as is_fresh,
        row_number() over (
            partition by scheme, is_real, scheme_digest, attribute, is_fresh order by "round", drawing
        ) as of_digest,
        -- records are privatized here, without clients' keys
        is_fresh or of_digest = 1 as is_least,
        is_fresh or of_digest <= coalesce(states, of_digest) as is_most
    from asked
),
summed as (
    select
        scheme_digest,
        drawing,
        "round",
        sum(case when is_most then epsilon else 0 end) as most,
        sum(case when is_most then delta else 0 end) as most_delta
    from charged
    where attribute <> ''
    group by all
),
of_rounds as (
    select
        charged.scheme,
        charged.is_real,
        charged."round",
        charged.attribute,
        max(charged.epsilon) as epsilon,
        max(charged.delta) as delta,
        count(*) as drawings,
        sum(charged.epsilon) as fresh,
        sum(charged.delta) as fresh_delta,
        sum(case when charged.is_least then charged.epsilon else 0 end) as least,
        sum(case when charged.is_least then charged.delta else 0 end) as least_delta,
        sum(case when charged.attribute = '' then least(charged.epsilon, summed.most) when charged.is_most then charged.epsilon else 0 end) as most,
        sum(case when charged.attribute = '' then least(charged.delta, summed.most_delta) when charged.is_most then charged.delta else 0 end) as most_delta
    from charged
    left join summed
        on summed.scheme_digest = charged.scheme_digest
        and summed.drawing = charged.drawing
        and summed."round" = charged."round"
    group by charged.scheme, charged.is_real, charged."round", charged.attribute
),
whole as (
    from of_rounds
    union all by name
    -- rounds in which all reports had been charged before: late reports, or a round held back
    select
        latest_runs.scheme,
        true as is_real,
        latest_runs."round",
        stated.attribute,
        stated.epsilon,
        stated.delta,
        0 as drawings,
        0 as fresh,
        0 as fresh_delta,
        0 as least,
        0 as least_delta,
        0 as most,
        0 as most_delta
    from latest_runs
    join stated on stated.run_id = latest_runs.run_id
    where latest_runs.source <> 'simulated'
        and (latest_runs.scheme, latest_runs."round") not in (select (scheme, "round") from drawings)
),
charged_most as (
    select run_id, attribute, known_clients, most_charges from budgets
    union all
    select run_id, '', max(known_clients), max(most_charges) from budgets group by run_id
)
select
    whole.scheme,
    whole."round",
    latest_runs.run_id,
    latest_runs.source,
    whole.attribute,
    whole.epsilon,
    (count(*) filter (where whole.drawings > 0) over so_far) as rounds,
    (sum(whole.drawings) over so_far)::bigint as drawings,
    sum(whole.fresh) over so_far as fresh,
    sum(whole.least) over so_far as memoized_least,
    sum(whole.most) over so_far as memoized_most,
    charged_most.known_clients,
    charged_most.most_charges * whole.epsilon as known_most,
    whole.delta,
    sum(whole.fresh_delta) over so_far as fresh_delta,
    sum(whole.least_delta) over so_far as memoized_least_delta,
    sum(whole.most_delta) over so_far as memoized_most_delta
from whole
left join latest_runs
    on latest_runs.scheme = whole.scheme
    and latest_runs."round" = whole."round"
    and (latest_runs.source <> 'simulated') = whole.is_real
left join charged_most on charged_most.run_id = latest_runs.run_id and charged_most.attribute = whole.attribute
window so_far as (partition by whole.scheme, whole.is_real, whole.attribute order by whole."round");

comment on column composed_budgets.run_id is 'current run of the round; null if none has landed';
comment on column composed_budgets.source is 'origin of that run''s reports; null if none has landed, although clients were asked';
comment on column composed_budgets.attribute is 'name of the attribute in the scheme; empty for all attributes that a client answers together';
comment on column composed_budgets.epsilon is 'epsilon of one report, natural-log units';
comment on column composed_budgets.rounds is 'number of rounds up to this one under this scheme; real and simulated clients are counted separately';
comment on column composed_budgets.drawings is 'number of times that clients were asked in these rounds, including failed and replaced runs with fresh noise; all reports sent for one round count once';
comment on column composed_budgets.fresh is 'epsilon of a client that always answered with fresh noise, natural-log units';
comment on column composed_budgets.memoized_least is 'epsilon of a client with a key whose value never changed, natural-log units';
comment on column composed_budgets.memoized_most is 'largest epsilon of a client with a key, for any sequence of values, natural-log units';
comment on column composed_budgets.known_most is 'largest epsilon in this round of a client that sent a token, natural-log units; 0 if none did; null if no reports were collected';
comment on column composed_budgets.delta is 'delta of one report, a probability; 0 without Gaussian noise';
comment on column composed_budgets.fresh_delta is 'delta of a client that always answered with fresh noise, a probability';
comment on column composed_budgets.memoized_least_delta is 'delta of a client with a key whose value never changed, a probability';
comment on column composed_budgets.memoized_most_delta is 'largest delta of a client with a key, for any sequence of values, a probability';
-- name: coverage_cells
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
-- name: density_pieces
-- one row per scheme, round, attribute, estimator, group and grid point except the last, of the current run: the density there and at the next grid point
create or replace view density_pieces as
select
    points.*,
    lead(points.x) over neighbours as next_x,
    lead(points.density) over neighbours as next_density,
    lead(points.low) over neighbours as next_low,
    lead(points.high) over neighbours as next_high,
    lead(points.cdf) over neighbours as next_cdf,
    lead(points.cdf_low) over neighbours as next_cdf_low,
    lead(points.cdf_high) over neighbours as next_cdf_high
from latest_densities as points
where points.estimator not in ('bias_aware', 'distribution_free') -- whose bands are of the same curves, and hold all points at once
window neighbours as (partition by points.run_id, points.attribute, points.estimator, points.given order by points.x)
qualify next_x is not null;

comment on column density_pieces.next_x is 'the next grid point, in the attribute''s unit';
comment on column density_pieces.next_density is 'density at next_x, per unit of the attribute';
comment on column density_pieces.next_low is 'lower limit of the band at next_x, per unit of the attribute';
comment on column density_pieces.next_high is 'upper limit of the band at next_x, per unit of the attribute';
comment on column density_pieces.next_cdf is 'proportion of clients at or below next_x';
comment on column density_pieces.next_cdf_low is 'lower limit of the band of the cdf at next_x';
comment on column density_pieces.next_cdf_high is 'upper limit of the band of the cdf at next_x';
-- name: failed_checks
-- one row per failed check of the current run of a scheme and round
create or replace view failed_checks as
select latest_runs.scheme, latest_runs."round", checks.*
from checks
join latest_runs on latest_runs.run_id = checks.run_id
where not checks.passed;
-- name: interval_coverage
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
-- name: latest_benchmarks
-- one row per study, method, parameters, target, clients, epsilon and metric of the newest measurement of each study
create or replace view latest_benchmarks as
select *
from benchmarks
qualify measured_at = max(measured_at) over (partition by study);
-- name: latest_comparisons
-- one row per scheme, round, other run, attribute, group, other group and functional, of the current run
create or replace view latest_comparisons as
select latest_runs.scheme, latest_runs."round", others."round" as other_round, comparisons.*
from comparisons
join latest_runs on latest_runs.run_id = comparisons.run_id
left join runs as others on others.run_id = comparisons.other_run_id;

comment on column latest_comparisons.other_round is 'round of the other run; null if that run was deleted';
-- name: latest_estimates
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
-- name: latest_runs
-- one row per scheme and round: its current run; a run on real data takes precedence over a simulated one
create or replace view latest_runs as
select *
from runs
where state = 'landed' and replaced_by is null and forgotten_at is null;
-- name: pooled_estimates
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
        and latest_estimates.estimator <> 'texts' -- found in the rounds that overestimate them
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
-- name: pooled_experiments
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
-- name: rates_cells
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
-- name: study_sums
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
-- name: trends
-- one row per scheme, round, attribute, estimator, group and number: the estimate of the current run, its change since the previous round, and the estimate of all rounds together
create or replace view trends as
select
    estimates.scheme,
    estimates."round",
    estimates.run_id,
    estimates.attribute,
    estimates.estimator,
    estimates.given,
    estimates.number,
    estimates.estimate,
    estimates.low,
    estimates.high,
    estimates.confidence,
    changes.other_round as previous_round,
    changes.difference as change,
    changes.low as change_low,
    changes.high as change_high,
    changes.differs,
    smoothed.smoothed,
    smoothed.smoothed_low,
    smoothed.smoothed_high,
    smoothed.filtered,
    smoothed.filtered_low,
    smoothed.filtered_high,
    smoothed.forecast,
    smoothed.forecast_low,
    smoothed.forecast_high,
    smoothed.shift,
    smoothed.shift_p_value,
    smoothed.shifted,
    coalesce(estimates.reason, changes.reason) as reason
from latest_estimates as estimates
left join latest_comparisons as changes
    on changes.run_id = estimates.run_id
    and changes.attribute = estimates.attribute
    and changes.given = estimates.given
    and changes.other_given = estimates.given -- two groups of one run are others
    and changes.functional = estimates.number
left join smoothed
    on smoothed.run_id = estimates.run_id
    and smoothed.attribute = estimates.attribute
    and smoothed.given = estimates.given
    and smoothed.number = estimates.number
    and estimates.estimator not in ('bias_aware', 'distribution_free', 'two_rounds'); -- of other estimates of the number

comment on column trends.previous_round is 'previous round with the same scheme digest and source; null if there is none';
comment on column trends.change is 'change since the previous round, in the number''s unit, using raw for frequencies; null if no difference is available';
comment on column trends.change_low is 'lower confidence limit of the change, in the number''s unit';
comment on column trends.change_high is 'upper confidence limit of the change, in the number''s unit';
comment on column trends.differs is 'true if the change is statistically significant, simultaneously over all rows of the two rounds; null if there is no change';
comment on column trends.reason is 'why there is no estimate or no change and what to do, or a remark; null if there is neither';
-- name: conditional_of
-- one row per scheme, round and part of both attributes: the proportion of a part of the first attribute given each part of the second, from the fitted joint distribution of the current runs; low and high are the cell's confidence limits divided by the fitted proportion of its column
create or replace macro conditional_of(attribute, given) as table
select
    cells.scheme,
    cells."round",
    cells.second_part,
    cells.first_part,
    cells.share / sum(cells.share) over part as share,
    cells.low / sum(cells.share) over part as low,
    least(1, cells.high / sum(cells.share) over part) as high,
    cells.confidence
from latest_joint as cells
where cells."first" = attribute and cells."second" = given
window part as (partition by cells.run_id, cells."first", cells."second", cells.second_part)
order by cells.scheme, cells."round", cells.second_position, cells.first_position;

-- name: density_at
-- one row per scheme, round, estimator and group: the density of an attribute at x with its pointwise band, interpolated linearly between grid points, in the current runs
create or replace macro density_at(attribute, x) as table
with around as (
    select pieces.*, (x - pieces.x) / (pieces.next_x - pieces.x) as way
    from density_pieces as pieces
    where pieces.attribute = attribute and x between pieces.x and pieces.next_x
    qualify row_number() over (partition by pieces.run_id, pieces.estimator, pieces.given order by pieces.x) = 1
)
select
    around.scheme,
    around."round",
    around.estimator,
    around.given,
    around.density + around.way * (around.next_density - around.density) as density,
    around.low + around.way * (around.next_low - around.low) as low,
    around.high + around.way * (around.next_high - around.high) as high,
    around.confidence
from around
order by around.scheme, around."round", around.estimator, around.given;

-- name: largest_of
-- one row per scheme, round, estimator, group and category: the largest categories of an attribute, as many as requested, in the current runs; low and high are simultaneous for all categories, so they are valid for the selected ones; differs: the interval excludes an equal proportion, 1 / categories; any_differs: at least one category's interval does; low, high, differs and any_differs are null for rounds that landed before version 35
create or replace macro largest_of(attribute, number) as table
select
    shares.scheme,
    shares."round",
    shares.estimator,
    shares.given,
    shares.category,
    shares.estimate,
    shares.simultaneous_low as low,
    shares.simultaneous_high as high,
    shares.confidence,
    count(*) over of_all as categories,
    count(*) over of_all > 1
    and (
        shares.simultaneous_low > 1 / count(*) over of_all or shares.simultaneous_high < 1 / count(*) over of_all
    ) as differs,
    count(*) over of_all > 1
    and (
        max(shares.simultaneous_low) over of_all > 1 / count(*) over of_all
        or min(shares.simultaneous_high) over of_all < 1 / count(*) over of_all
    ) as any_differs
from latest_frequencies as shares
where shares.attribute = attribute
window of_all as (partition by shares.run_id, shares.estimator, shares.given)
-- estimates of zero are ordered by their unprojected values
qualify row_number() over (
    partition by shares.run_id, shares.estimator, shares.given
    order by shares.estimate desc, shares.raw desc, shares.category
) <= number
order by shares.scheme, shares."round", shares.estimator, shares.given, shares.estimate desc, shares.raw desc, shares.category;

-- name: quantile_at
-- one row per scheme, round, estimator and group: the p-quantile of an attribute, in the current runs; the interval inverts the pointwise band of the distribution function, and its coverage is at least its confidence
create or replace macro quantile_at(attribute, p) as table
with ends as (
    select
        pieces.*,
        min(pieces.x) over curve as lower_bound,
        max(pieces.next_x) over curve as upper_bound,
        pieces.next_x = upper_bound as is_last
    from density_pieces as pieces
    where pieces.attribute = attribute
    window curve as (partition by pieces.run_id, pieces.estimator, pieces.given)
),
ways as (
    select
        ends.*,
        -- a point mass at the upper bound is reached at the bound only: the line and the band end below it
        case when ends.is_last then ends.next_cdf - coalesce(atoms.plug_in, 0) else ends.next_cdf end as end_cdf,
        case when ends.is_last and atoms.plug_in > 0 then ends.cdf_low else ends.next_cdf_low end as end_cdf_low,
        (p - ends.cdf) / (end_cdf - ends.cdf) as way,
        (p - ends.cdf_high) / (ends.next_cdf_high - ends.cdf_high) as way_high,
        (p - ends.cdf_low) / (end_cdf_low - ends.cdf_low) as way_low
    from ends
    left join functionals as atoms
        on atoms.run_id = ends.run_id
        and atoms.attribute = ends.attribute
        and atoms.estimator = ends.estimator
        and atoms.given = ends.given
        and try_cast(regexp_extract(atoms.functional, '^atom\((.*)\)$', 1) as double) = ends.upper_bound
)
select
    ways.scheme,
    ways."round",
    ways.estimator,
    ways.given,
    case
        when p <= min(ways.cdf) then any_value(ways.lower_bound)
        else coalesce(min(ways.x + ways.way * (ways.next_x - ways.x)) filter (where ways.cdf < p and p <= ways.end_cdf), any_value(ways.upper_bound))
    end as quantile,
    case
        when p <= min(ways.cdf_high) then any_value(ways.lower_bound)
        else coalesce(min(ways.x + ways.way_high * (ways.next_x - ways.x)) filter (where ways.cdf_high < p and p <= ways.next_cdf_high), any_value(ways.upper_bound))
    end as low,
    case
        when p < min(ways.cdf_low) then any_value(ways.lower_bound)
        else coalesce(max(ways.x + ways.way_low * (ways.next_x - ways.x)) filter (where ways.cdf_low <= p and p < ways.end_cdf_low), any_value(ways.upper_bound))
    end as high,
    ways.confidence
from ways
where case when p between 0 and 1 then true else error('quantile_at(attribute, p) needs p between 0 and 1') end
group by ways.scheme, ways."round", ways.run_id, ways.estimator, ways.given, ways.confidence
order by ways.scheme, ways."round", ways.estimator, ways.given;

-- name: share_between
-- one row per scheme, round, estimator and group: the proportion of clients from a to b, both included, in the current runs; the coverage of the interval is at least its confidence
create or replace macro share_between(attribute, a, b) as table
with ways as (
    select
        pieces.*,
        (a - pieces.x) / (pieces.next_x - pieces.x) as way_a,
        (b - pieces.x) / (pieces.next_x - pieces.x) as way_b
    from density_pieces as pieces
    where pieces.attribute = attribute
),
ends as (
    select
        ways.scheme,
        ways."round",
        ways.estimator,
        ways.given,
        ways.confidence,
        a <= min(ways.x) as from_lower,
        b >= max(ways.next_x) as to_upper,
        a < max(ways.next_x) and b >= min(ways.x) as is_within,
        min(ways.cdf + ways.way_a * (ways.next_cdf - ways.cdf)) filter (where ways.way_a between 0 and 1) as cdf_a,
        min(ways.cdf_low + ways.way_a * (ways.next_cdf_low - ways.cdf_low)) filter (where ways.way_a between 0 and 1) as low_a,
        max(ways.cdf_high + ways.way_a * (ways.next_cdf_high - ways.cdf_high)) filter (where ways.way_a between 0 and 1) as high_a,
        max(ways.cdf + ways.way_b * (ways.next_cdf - ways.cdf)) filter (where ways.way_b between 0 and 1) as cdf_b,
        min(ways.cdf_low + ways.way_b * (ways.next_cdf_low - ways.cdf_low)) filter (where ways.way_b between 0 and 1) as low_b,
        max(ways.cdf_high + ways.way_b * (ways.next_cdf_high - ways.cdf_high)) filter (where ways.way_b between 0 and 1) as high_b
    from ways
    group by ways.scheme, ways."round", ways.run_id, ways.estimator, ways.given, ways.confidence
)
select
    ends.scheme,
    ends."round",
    ends.estimator,
    ends.given,
    -- values were clipped: none is below the lower bound or above the upper bound
    case when ends.to_upper then 1 else ends.cdf_b end - case when ends.from_lower then 0 else ends.cdf_a end as share,
    greatest(0, case when ends.to_upper then 1 else ends.low_b end - case when ends.from_lower then 0 else ends.high_a end) as low,
    least(1, case when ends.to_upper then 1 else ends.high_b end - case when ends.from_lower then 0 else ends.low_a end) as high,
    -- joint coverage of two pointwise intervals, by Bonferroni's inequality
    case when ends.from_lower or ends.to_upper then ends.confidence else 2 * ends.confidence - 1 end as confidence
from ends
where case when a <= b then ends.is_within else error('share_between(attribute, a, b) needs a <= b') end
order by ends.scheme, ends."round", ends.estimator, ends.given;

-- name: share_of
-- one row per scheme, round, estimator and group: the proportion of a union of categories (a list) of an attribute in the current runs, with an interval from their joint covariance; plug_in is the sum of the estimates
create or replace macro share_of(attribute, categories) as table
with whole as (
    select
        shares.scheme,
        shares."round",
        shares.run_id,
        shares.estimator,
        shares.given,
        shares.confidence,
        list_filter(list_distinct(categories), lambda name: not list_contains(list(shares.category), name)) as unknown,
        count(*) as k,
        count(*) filter (where list_contains(categories, shares.category)) / k as part, -- of all categories
        case when len(unknown) = 0 then sum(shares.estimate) filter (where list_contains(categories, shares.category)) end as plug_in,
        -- every category shifted by the same amount, so that all sum to one
        sum(shares.raw) filter (where list_contains(categories, shares.category)) - part * (sum(shares.raw) - 1) as sum_of_raw,
        case when len(unknown) = 0 then sum_of_raw end as raw,
        any_value(attributes.own_variance_none) as none,
        any_value(attributes.own_variance_all) - none as gain,
        any_value(budgets.charges) as n,
        (1 - shares.confidence) / 2 as tail
    from latest_frequencies as shares
    join attributes on attributes.run_id = shares.run_id and attributes.attribute = shares.attribute
    join budgets on budgets.run_id = shares.run_id and budgets.attribute = shares.attribute
    where shares.attribute = attribute
        and case
            when attributes.type not in ('numeric', 'categorical') then error('share_of is for numbers and for categories that exclude each other; latest_frequencies has the shares of others')
            when len(categories) > 0 then true
            else error('share_of(attribute, categories) needs a list of categories, such as [''a'', ''b'']')
        end
    group by shares.scheme, shares."round", shares.run_id, shares.estimator, shares.given, shares.confidence
),
quantiles as (
    -- normal quantile of (1 + confidence) / 2 in double precision: Wichura, algorithm AS 241
    select
        whole.*,
        0.5 - whole.tail as q,
        case when q <= 0.425 then 0.180625 - q * q else sqrt(-ln(whole.tail)) - 1.6 end as r,
        case
            when q <= 0.425 then [
                2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
                13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080
            ]::double[]
            else [
                7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
                3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734
            ]::double[]
        end as above,
        case
            when q <= 0.425 then [
                5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
                5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1
            ]::double[]
            else [
                1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
                6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1
            ]::double[]
        end as below,
        case when q <= 0.425 then q else 1 end
        * list_reduce(above, lambda sum, next: sum * r + next)
        / list_reduce(below, lambda sum, next: sum * r + next) as z
    from whole
),
scored as (
    -- reports times the variance of raw at a proportion f is constant + slope f - f^2, and 0 for all categories; the interval is
    -- the f within z standard errors of raw, each f with its own standard error
    select
        quantiles.*,
        none * k * part * (1 - part) + (gain - 1) * part * part as constant,
        gain + 2 * part * (1 - gain) as slope,
        constant + slope * plug_in - plug_in * plug_in as variance,
        case when part < 1 then sqrt(case when variance < 0 then 0 else variance end / n) when raw is not null then 0 * none end as standard_error,
        z * z / n as narrow,
        raw + narrow * slope / 2 as middle,
        middle * middle - (1 + narrow) * (raw * raw - narrow * constant) as square,
        case when part < 1 then sqrt(case when square < 0 then 0 else square end) else 0 end as half,
        -- a proportion outside [0, 1] is clipped, and its interval shifted with it
        case when raw < 0 then 0 when raw > 1 then 1 else raw end as share
    from quantiles
),
placed as (
    select
        scored.*,
        case when part < 1 then (middle - half) / (1 + narrow) else raw + standard_error end + share - raw as below_share,
        case when part < 1 then (middle + half) / (1 + narrow) else raw + standard_error end + share - raw as above_share
    from scored
)
select
    placed.scheme,
    placed."round",
    placed.estimator,
    placed.given,
    placed.share,
    placed.standard_error,
    case when placed.below_share < 0 then 0 else placed.below_share end as low,
    case when placed.above_share > 1 then 1 else placed.above_share end as high,
    placed.confidence,
    placed.plug_in,
    case
        when len(placed.unknown) > 0 then 'no such category in this round: ' || array_to_string(placed.unknown, ', ')
        when placed.raw is null then 'landed before version 16 of the warehouse; estimate the round again'
        when placed.none is null then 'no interval: landed before version 28 of the warehouse, or by a mechanism whose categories are not alike; share_of in Python has one'
    end as reason
from placed
order by placed.scheme, placed."round", placed.estimator, placed.given;
