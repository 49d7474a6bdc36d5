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
comment on column aggregates.level is 'resolution level or block, from 0; 0 if the mechanism has no levels';
comment on column aggregates.value is 'value of the statistic: a number of reports, or the mechanism''s lattice units for sums';

comment on column frequencies.estimator is 'estimator that computed this row';
comment on column frequencies.given is 'group as ATTRIBUTE=CATEGORY; empty for all clients';
comment on column frequencies.estimate is 'estimated proportion of clients in the category: the raw estimates projected onto nonnegative values that sum to 1 within a group';
comment on column frequencies.raw is 'unbiased estimate, used for differences; it can be below 0 or above 1; null before version 16';
comment on column frequencies.standard_error is 'standard error of raw';
comment on column frequencies.confidence is 'confidence level of the interval, strictly between 0 and 1';
comment on column frequencies.low is 'lower confidence limit of the proportion';
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

comment on column categories.position is 'position of the category in the scheme, from 0';
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
