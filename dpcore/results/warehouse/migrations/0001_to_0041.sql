-- migration: 0001_migrations
-- one row per migration applied to this file
create table migrations (
    version integer not null,
    name varchar not null,
    sha256 varchar not null,
    applied_at timestamp not null,
    constraint migrations_key primary key (version),
    constraint migrations_version check (version >= 1),
    constraint migrations_sha256 check (regexp_full_match(sha256, '[0-9a-f]{64}'))
);

comment on table migrations is 'one row per migration applied to this file';
comment on column migrations.version is 'number of the migration, contiguous from 1';
comment on column migrations.name is 'what the migration does, from its file name';
comment on column migrations.sha256 is 'SHA-256 of the migration''s text with Unix line ends, 64 hex digits';
comment on column migrations.applied_at is 'time of application, UTC';
-- migration: 0002_runs
-- one row per run of a round, landed or failed
create table runs (
    run_id varchar not null,
    scheme varchar not null,
    scheme_digest varchar not null,
    round varchar not null,
    source varchar not null,
    clients bigint,
    accepted bigint,
    rejected bigint,
    randomness varchar not null,
    seed bigint,
    state varchar not null,
    started_at timestamp not null,
    finished_at timestamp,
    version varchar not null,
    flow_run_id varchar,
    constraint runs_key primary key (run_id),
    constraint runs_run_id check (regexp_full_match(run_id, '[0-9a-f]{16}')),
    constraint runs_source check (source in ('simulated', 'records', 'reports')),
    constraint runs_randomness check (randomness in ('secure', 'seeded')),
    constraint runs_state check (state in ('landed', 'failed')),
    constraint runs_counts check (clients >= 0 and accepted >= 0 and rejected >= 0),
    constraint runs_seed_only_of_a_simulation check (seed is null or (source = 'simulated' and randomness = 'seeded')),
    constraint runs_landed_is_complete check (state = 'failed' or (accepted is not null and rejected is not null and finished_at is not null)),
    constraint runs_times check (finished_at >= started_at)
);

comment on table runs is 'one row per run of a round, landed or failed';
comment on column runs.run_id is 'first 16 hex digits of SHA-256 over scheme digest, round, and seed, flow run or nonce';
comment on column runs.scheme is 'name of the scheme';
comment on column runs.scheme_digest is 'SHA-256 of the canonical scheme, hex digits';
comment on column runs.round is 'name of the round; sorts as text, such as 2026-11-20';
comment on column runs.source is 'where the reports came from: simulated people, records privatized here, or reports collected';
comment on column runs.clients is 'clients that took part, persons';
comment on column runs.accepted is 'reports that passed validation, reports';
comment on column runs.rejected is 'reports or records that were refused, reports';
comment on column runs.randomness is 'secure: the operating system''s; seeded: reproducible, a rehearsal or a simulation';
comment on column runs.seed is 'seed of a simulation; never kept with records, whose noise it would undo';
comment on column runs.state is 'landed: all tables hold the run; failed: only this row does';
comment on column runs.started_at is 'start of the run, UTC';
comment on column runs.finished_at is 'end of the run, UTC';
comment on column runs.version is 'version of ldpflow that ran';
comment on column runs.flow_run_id is 'Prefect flow run, where one ran it';
-- migration: 0003_aggregates
-- one row per run, attribute, group, statistic, level and cell: the exact integers that all estimates come from
create table aggregates (
    run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    statistic varchar not null,
    level bigint not null,
    cell bigint not null,
    value bigint not null,
    constraint aggregates_key primary key (run_id, attribute, given, statistic, level, cell),
    constraint aggregates_statistic check (statistic in ('reports', 'count', 'sum')),
    constraint aggregates_cell check (cell >= 0),
    constraint aggregates_counts check (statistic = 'sum' or value >= 0)
);

comment on table aggregates is 'one row per run, attribute, group, statistic, level and cell: the exact integers that all estimates come from';
comment on column aggregates.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column aggregates.attribute is 'name of the attribute in the scheme';
comment on column aggregates.given is 'empty, or ATTRIBUTE=CATEGORY: the reported category of the attribute it is paired with';
comment on column aggregates.statistic is 'reports: how many reports; count: of a reported cell; sum: of reported integers';
comment on column aggregates.level is 'resolution level or block, from 0; 0 where the mechanism has none';
comment on column aggregates.cell is 'position within the level, from 0';
comment on column aggregates.value is 'the statistic: reports, or lattice units of the mechanism for sums';
-- migration: 0004_frequencies
-- one row per run, attribute, estimator, group and category
create table frequencies (
    run_id varchar not null,
    attribute varchar not null,
    estimator varchar not null,
    given varchar not null default '',
    category varchar not null,
    estimate double not null,
    standard_error double,
    confidence double not null,
    low double,
    high double,
    constraint frequencies_key primary key (run_id, attribute, estimator, given, category),
    constraint frequencies_standard_error check (standard_error >= 0),
    constraint frequencies_confidence check (confidence > 0 and confidence < 1),
    constraint frequencies_interval check (low <= high)
);

comment on table frequencies is 'one row per run, attribute, estimator, group and category';
comment on column frequencies.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column frequencies.attribute is 'name of the attribute in the scheme';
comment on column frequencies.estimator is 'estimator that made this row';
comment on column frequencies.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column frequencies.category is 'category of the attribute';
comment on column frequencies.estimate is 'share of the clients in the category, a probability; shares of a group add up to 1';
comment on column frequencies.standard_error is 'standard error of the unprojected share, a probability';
comment on column frequencies.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1';
comment on column frequencies.low is 'lower end of the interval, a probability';
comment on column frequencies.high is 'upper end of the interval, a probability';
-- migration: 0005_densities
-- one row per run, attribute, estimator, group and grid point
create table densities (
    run_id varchar not null,
    attribute varchar not null,
    estimator varchar not null,
    given varchar not null default '',
    x double not null,
    density double not null,
    low double,
    high double,
    cdf double,
    cdf_low double,
    cdf_high double,
    confidence double not null,
    constraint densities_key primary key (run_id, attribute, estimator, given, x),
    constraint densities_interval check (low <= high),
    constraint densities_cdf_interval check (cdf_low <= cdf_high),
    constraint densities_confidence check (confidence > 0 and confidence < 1)
);

comment on table densities is 'one row per run, attribute, estimator, group and grid point';
comment on column densities.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column densities.attribute is 'name of the attribute in the scheme';
comment on column densities.estimator is 'estimator that made this row';
comment on column densities.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column densities.x is 'grid point, in the attribute''s unit';
comment on column densities.density is 'density at x, per unit of the attribute; integrates to 1 over its bounds';
comment on column densities.low is 'lower end of the pointwise band, per unit of the attribute';
comment on column densities.high is 'upper end of the pointwise band, per unit of the attribute';
comment on column densities.cdf is 'share of the clients at or below x, a probability';
comment on column densities.cdf_low is 'lower end of the pointwise band of the cdf, a probability';
comment on column densities.cdf_high is 'upper end of the pointwise band of the cdf, a probability';
comment on column densities.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1';
-- migration: 0006_functionals
-- one row per run, attribute, estimator, group and functional
create table functionals (
    run_id varchar not null,
    attribute varchar not null,
    estimator varchar not null,
    given varchar not null default '',
    functional varchar not null,
    kind varchar not null,
    estimate double,
    plug_in double,
    standard_error double,
    confidence double not null,
    low double,
    high double,
    reason varchar,
    constraint functionals_key primary key (run_id, attribute, estimator, given, functional),
    constraint functionals_estimate_or_reason check (estimate is not null or reason is not null),
    constraint functionals_standard_error check (standard_error >= 0),
    constraint functionals_confidence check (confidence > 0 and confidence < 1),
    constraint functionals_interval check (low <= high)
);

comment on table functionals is 'one row per run, attribute, estimator, group and functional';
comment on column functionals.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column functionals.attribute is 'name of the attribute in the scheme';
comment on column functionals.estimator is 'estimator that made this row';
comment on column functionals.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column functionals.functional is 'the number, as in the scheme: mean, entropy, quantile(0.5)';
comment on column functionals.kind is 'kind of the functional, which decides how its interval is made';
comment on column functionals.estimate is 'corrected estimate, in the functional''s unit; null where it was refused';
comment on column functionals.plug_in is 'the functional of the estimated density, in the functional''s unit';
comment on column functionals.standard_error is 'standard error of the estimate, in the functional''s unit';
comment on column functionals.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1';
comment on column functionals.low is 'lower end of the interval, in the functional''s unit';
comment on column functionals.high is 'upper end of the interval, in the functional''s unit';
comment on column functionals.reason is 'why no estimate was given and what would do, or a remark; null when nothing is to be said';
-- migration: 0007_levels
-- one row per run, attribute, group and level that the level rule looked at
create table levels (
    run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    level bigint not null,
    statistic double,
    threshold double,
    selected boolean not null,
    constraint levels_key primary key (run_id, attribute, given, level)
);

comment on table levels is 'one row per run, attribute, group and level that the level rule looked at';
comment on column levels.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column levels.attribute is 'name of the attribute in the scheme';
comment on column levels.given is 'empty for everybody, or ATTRIBUTE=CATEGORY';
comment on column levels.level is 'resolution level j: cells are 2^-j of the attribute''s range wide';
comment on column levels.statistic is 'what the rule compared, L2 distance on the unit interval; null where there was nothing to compare';
comment on column levels.threshold is 'what the rule compared it with, same unit';
comment on column levels.selected is 'whether the estimate uses this level';
-- migration: 0008_budgets
-- one row per run and attribute: the privacy that was promised and what is kept
create table budgets (
    run_id varchar not null,
    attribute varchar not null,
    mechanism varchar not null,
    stated varchar not null,
    epsilon double not null,
    certificate varchar not null,
    charges bigint not null,
    constraint budgets_key primary key (run_id, attribute),
    constraint budgets_epsilon check (epsilon > 0),
    constraint budgets_charges check (charges >= 0)
);

comment on table budgets is 'one row per run and attribute: the privacy that was promised and what is kept';
comment on column budgets.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column budgets.attribute is 'name of the attribute in the scheme';
comment on column budgets.mechanism is 'mechanism that privatized the attribute';
comment on column budgets.stated is 'epsilon as the scheme states it, natural-log units, such as 1 or ln 3';
comment on column budgets.epsilon is 'epsilon of one charge as a number, natural-log units';
comment on column budgets.certificate is 'what the mechanism keeps, exactly: a bound on e^epsilon or on epsilon as a fraction';
comment on column budgets.charges is 'charges made against this budget in the run, one a report, a count';
-- migration: 0009_rejects
-- one row per run and reason for refusing reports or records
create table rejects (
    run_id varchar not null,
    reason varchar not null,
    count bigint not null,
    example_position bigint,
    constraint rejects_key primary key (run_id, reason),
    constraint rejects_count check ("count" > 0),
    constraint rejects_example_position check (example_position >= 0)
);

comment on table rejects is 'one row per run and reason for refusing reports or records';
comment on column rejects.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column rejects.reason is 'why they were refused; never their content';
comment on column rejects.count is 'how many were refused for this reason, reports';
comment on column rejects.example_position is 'position of one of them in its batch, from 0';
-- migration: 0010_truths
-- one row per run, attribute, group and quantity (and x, for the density) of simulated people
create table truths (
    run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    quantity varchar not null,
    x double,
    value double not null,
    constraint truths_key unique (run_id, attribute, given, quantity, x),
    constraint truths_x_with_density check ((quantity = 'density') = (x is not null))
);

comment on table truths is 'one row per run, attribute, group and quantity (and x, for the density) of simulated people';
comment on column truths.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column truths.attribute is 'name of the attribute in the scheme';
comment on column truths.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column truths.quantity is 'density, frequency(CATEGORY), or the functional''s name';
comment on column truths.x is 'point of the density, in the attribute''s unit; null for other quantities';
comment on column truths.value is 'true value, in the unit of its estimate';
-- migration: 0011_checks
-- one row per run and check
create table checks (
    run_id varchar not null,
    name varchar not null,
    passed boolean not null,
    observed double,
    threshold double,
    detail varchar,
    constraint checks_key primary key (run_id, name)
);

comment on table checks is 'one row per run and check';
comment on column checks.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column checks.name is 'name of the check';
comment on column checks.passed is 'whether the run passed it';
comment on column checks.observed is 'what was observed, in the check''s unit';
comment on column checks.threshold is 'what it was compared with, same unit';
comment on column checks.detail is 'one line for people';
-- migration: 0012_comparisons
-- one row per run, other run, attribute and functional
create table comparisons (
    run_id varchar not null,
    other_run_id varchar not null,
    attribute varchar not null,
    functional varchar not null,
    difference double,
    standard_error double,
    confidence double not null,
    low double,
    high double,
    reason varchar,
    constraint comparisons_key primary key (run_id, other_run_id, attribute, functional),
    constraint comparisons_difference_or_reason check (difference is not null or reason is not null),
    constraint comparisons_two_runs check (run_id <> other_run_id),
    constraint comparisons_standard_error check (standard_error >= 0),
    constraint comparisons_confidence check (confidence > 0 and confidence < 1),
    constraint comparisons_interval check (low <= high)
);

comment on table comparisons is 'one row per run, other run, attribute and functional';
comment on column comparisons.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column comparisons.other_run_id is 'the run it is compared with, usually of the round before';
comment on column comparisons.attribute is 'name of the attribute in the scheme';
comment on column comparisons.functional is 'the number compared, as in functionals';
comment on column comparisons.difference is 'this run''s estimate minus the other''s, in the functional''s unit; null where it was refused';
comment on column comparisons.standard_error is 'standard error of the difference, in the functional''s unit';
comment on column comparisons.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1';
comment on column comparisons.low is 'lower end of the interval, in the functional''s unit';
comment on column comparisons.high is 'upper end of the interval, in the functional''s unit';
comment on column comparisons.reason is 'why there is no difference, or a remark; null when nothing is to be said';
-- migration: 0013_benchmarks
-- one row per study, method, parameters, target, clients, epsilon, metric and time of measurement
create table benchmarks (
    study varchar not null,
    method varchar not null,
    parameters varchar not null default '',
    target varchar not null default '',
    clients bigint not null,
    epsilon double not null,
    metric varchar not null,
    repetitions bigint not null,
    value double not null,
    low double,
    high double,
    measured_at timestamp not null,
    version varchar not null,
    constraint benchmarks_key primary key (study, method, parameters, target, clients, epsilon, metric, measured_at),
    constraint benchmarks_clients check (clients >= 0),
    constraint benchmarks_epsilon check (epsilon > 0),
    constraint benchmarks_repetitions check (repetitions >= 1),
    constraint benchmarks_interval check (low <= high)
);

comment on table benchmarks is 'one row per study, method, parameters, target, clients, epsilon, metric and time of measurement';
comment on column benchmarks.study is 'name of the study: accuracy, coverage or speed';
comment on column benchmarks.method is 'what was measured: a mechanism and its estimator, or an operation';
comment on column benchmarks.parameters is 'settings of the method, as text; empty for its defaults';
comment on column benchmarks.target is 'density or functional it was measured on; empty where there is none';
comment on column benchmarks.clients is 'clients in one repetition, persons';
comment on column benchmarks.epsilon is 'epsilon per client, natural-log units; infinity for a baseline without privacy';
comment on column benchmarks.metric is 'what the value is, with its unit in the name where it has one';
comment on column benchmarks.repetitions is 'independent repetitions behind the value, a count';
comment on column benchmarks.value is 'the measured value, in the metric''s unit';
comment on column benchmarks.low is 'lower end of its Monte Carlo interval, in the metric''s unit';
comment on column benchmarks.high is 'upper end of its Monte Carlo interval, in the metric''s unit';
comment on column benchmarks.measured_at is 'when the study was measured, one time for all its rows, UTC';
comment on column benchmarks.version is 'version of ldpflow that was measured';
-- migration: 0014_figures
-- one row per run and picture
create table figures (
    run_id varchar not null,
    name varchar not null,
    path varchar not null,
    constraint figures_key primary key (run_id, name)
);

comment on table figures is 'one row per run and picture';
comment on column figures.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column figures.name is 'name of the picture';
comment on column figures.path is 'file of the picture on the machine that drew it';
-- migration: 0015_atoms
-- one row per what 0005_densities and 0006_functionals say; here is what their columns mean where there are atoms
comment on column densities.density is 'density at x, per unit of the attribute; over its bounds it integrates to 1 less the shares in functionals named atom(X)';
comment on column densities.cdf is 'share of the clients at or below x, atoms at the bounds included, a probability';
comment on column functionals.functional is 'the number, as in the scheme: mean, entropy, quantile(0.5); atom(X) is the share of exactly X, a bound, and comes unasked where there is one';
-- migration: 0016_group_comparisons
-- one row per run, other run, attribute, group, other group and functional: what comparisons holds from here on
alter table comparisons rename to earlier_comparisons;

create table comparisons (
    run_id varchar not null,
    other_run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    other_given varchar not null default '',
    functional varchar not null,
    difference double,
    standard_error double,
    correlation double,
    confidence double not null,
    low double,
    high double,
    deviations double,
    threshold double,
    differs boolean,
    reason varchar,
    constraint group_comparisons_key primary key (run_id, other_run_id, attribute, given, other_given, functional),
    constraint group_comparisons_difference_or_reason check (difference is not null or reason is not null),
    constraint group_comparisons_two_sides check (run_id <> other_run_id or given <> other_given),
    constraint group_comparisons_standard_error check (standard_error >= 0),
    constraint group_comparisons_correlation check (correlation between -1 and 1),
    constraint group_comparisons_confidence check (confidence > 0 and confidence < 1),
    constraint group_comparisons_interval check (low <= high),
    constraint group_comparisons_deviations check (deviations >= 0 and threshold >= 0)
);

insert into comparisons by name
select
    run_id, other_run_id, attribute, functional, difference, standard_error,
    case when difference is not null then 0 end as correlation,
    confidence, low, high, reason
from earlier_comparisons;

drop table earlier_comparisons;

alter table frequencies add column raw double;

comment on table comparisons is 'one row per run, other run, attribute, group, other group and functional';
comment on column comparisons.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column comparisons.other_run_id is 'the run it is compared with, usually of the round before; its own where two of its groups are compared';
comment on column comparisons.attribute is 'name of the attribute in the scheme';
comment on column comparisons.given is 'group of this run: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column comparisons.other_given is 'group of the other run, likewise';
comment on column comparisons.functional is 'the number compared, as in functionals, or frequency(CATEGORY)';
comment on column comparisons.difference is 'estimate of given in run_id minus that of other_given in other_run_id, in the functional''s unit; null where it was refused';
comment on column comparisons.standard_error is 'standard error of the difference, in the functional''s unit';
comment on column comparisons.correlation is 'of the two sides'' errors, as it was counted: 0 for two runs, known or bounded for groups of one, -1 to 1; null where refused';
comment on column comparisons.confidence is 'stated coverage of this row''s interval alone, a probability strictly between 0 and 1';
comment on column comparisons.low is 'lower end of the interval, in the functional''s unit';
comment on column comparisons.high is 'upper end of the interval, in the functional''s unit';
comment on column comparisons.deviations is 'distance of the difference from zero, in standard errors as the interval''s end on that side counts them';
comment on column comparisons.threshold is 'deviations that no row of the two runs exceeds by chance, with 0.99: the thresholds of their rows hold at once';
comment on column comparisons.differs is 'whether deviations exceed threshold, which is what check drift(ATTRIBUTE) asks; null where refused and before version 16';
comment on column comparisons.reason is 'why there is no difference, or a remark; null when nothing is to be said';
comment on column frequencies.estimate is 'share of the category: the nearest possible ones to raw, nonnegative and of sum one, a probability';
comment on column frequencies.raw is 'the unbiased estimate, which may be below 0 or above 1 and which differences are made of; null before version 16';
-- migration: 0017_schemes
-- one row per run: the scheme it ran under, whole
create table schemes (
    run_id varchar not null,
    description varchar not null,
    planned_clients bigint not null,
    reporting varchar not null,
    stated varchar not null,
    epsilon double not null,
    canonical varchar not null,
    constraint schemes_key primary key (run_id),
    constraint schemes_reporting check (reporting in ('all', 'one')),
    constraint schemes_epsilon check (epsilon > 0)
);

comment on table schemes is 'one row per run: the scheme it ran under, whole';
comment on column schemes.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column schemes.description is 'what is collected, in the scheme''s words; may be empty';
comment on column schemes.planned_clients is 'clients the scheme was made for, persons';
comment on column schemes.reporting is 'all: a client reports every attribute; one: it reports one, drawn publicly';
comment on column schemes.stated is 'epsilon a client spends in one round in total, as the scheme states it, natural-log units, such as 4 + ln 3';
comment on column schemes.epsilon is 'the same as a number';
comment on column schemes.canonical is 'the scheme''s canonical text (TOML), whose SHA-256 is the digest in runs';
-- migration: 0018_attributes
-- one row per run and attribute of its scheme
create table attributes (
    run_id varchar not null,
    attribute varchar not null,
    position bigint not null,
    type varchar not null,
    unit varchar not null,
    lower double,
    upper double,
    constraint attributes_key primary key (run_id, attribute),
    constraint attributes_type check (type in ('numeric', 'categorical')),
    constraint attributes_bounds check (lower < upper)
);

comment on table attributes is 'one row per run and attribute of its scheme';
comment on column attributes.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column attributes.attribute is 'name of the attribute in the scheme';
comment on column attributes.position is 'place of the attribute in the scheme, from 0';
comment on column attributes.type is 'numeric or categorical';
comment on column attributes.unit is 'unit of the attribute''s values, such as USD; empty where it has none';
comment on column attributes.lower is 'least value, in the attribute''s unit; null for categories';
comment on column attributes.upper is 'largest value, in the attribute''s unit; null for categories';
-- migration: 0019_categories
-- one row per run, categorical attribute and category of its scheme
create table categories (
    run_id varchar not null,
    attribute varchar not null,
    category varchar not null,
    position bigint not null,
    value double,
    constraint categories_key primary key (run_id, attribute, category)
);

comment on table categories is 'one row per run, categorical attribute and category of its scheme';
comment on column categories.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column categories.attribute is 'name of the attribute in the scheme';
comment on column categories.category is 'category of the attribute';
comment on column categories.position is 'place of the category in the scheme, from 0';
comment on column categories.value is 'number the scheme gives the category; null where it gives none';
-- migration: 0020_waiting
-- one row per run of a round, landed, failed or waiting: what runs holds from here on
alter table runs rename to earlier_runs;

create table runs (
    run_id varchar not null,
    scheme varchar not null,
    scheme_digest varchar not null,
    round varchar not null,
    source varchar not null,
    clients bigint,
    accepted bigint,
    rejected bigint,
    randomness varchar not null,
    seed bigint,
    state varchar not null,
    started_at timestamp not null,
    finished_at timestamp,
    version varchar not null,
    flow_run_id varchar,
    late bigint,
    constraint waiting_key primary key (run_id),
    constraint waiting_run_id check (regexp_full_match(run_id, '[0-9a-f]{16}')),
    constraint waiting_source check (source in ('simulated', 'records', 'reports')),
    constraint waiting_randomness check (randomness in ('secure', 'seeded')),
    constraint waiting_state check (state in ('landed', 'failed', 'waiting')),
    constraint waiting_counts check (clients >= 0 and accepted >= 0 and rejected >= 0 and late >= 0),
    constraint waiting_late_are_of_all check (late <= accepted + rejected),
    constraint waiting_seed_only_of_a_simulation check (seed is null or (source = 'simulated' and randomness = 'seeded')),
    constraint waiting_landed_is_complete check (state <> 'landed' or (accepted is not null and rejected is not null and finished_at is not null)),
    constraint waiting_times check (finished_at >= started_at)
);

insert into runs by name from earlier_runs;

drop table earlier_runs;

comment on table runs is 'one row per run of a round, landed, failed or waiting';
comment on column runs.run_id is 'first 16 hex digits of SHA-256 over scheme digest, round, and seed, flow run, nonce or files of reports';
comment on column runs.scheme is 'name of the scheme';
comment on column runs.scheme_digest is 'SHA-256 of the canonical scheme, hex digits';
comment on column runs.round is 'name of the round; sorts as text, such as 2026-11-20';
comment on column runs.source is 'where the reports came from: simulated people, records privatized here, or reports collected';
comment on column runs.clients is 'clients that took part, persons';
comment on column runs.accepted is 'reports that passed validation, reports';
comment on column runs.rejected is 'reports or records that were refused, reports';
comment on column runs.randomness is 'secure: the operating system''s; seeded: reproducible, a rehearsal or a simulation';
comment on column runs.seed is 'seed of a simulation; never kept with records, whose noise it would undo';
comment on column runs.state is 'landed: all tables hold the run; failed: only this row does; waiting: likewise, for too few clients';
comment on column runs.started_at is 'start of the run, UTC';
comment on column runs.finished_at is 'end of the run, UTC';
comment on column runs.version is 'version of ldpflow that ran';
comment on column runs.flow_run_id is 'Prefect flow run, where one ran it';
comment on column runs.late is 'of accepted and rejected, those sent for an earlier round; null before version 20 and where the run has not landed';
-- migration: 0021_batches
-- one row per run and file of collected reports that it counted
create table batches (
    run_id varchar not null,
    file varchar not null,
    sent_for varchar not null,
    reports bigint not null,
    constraint batches_key primary key (run_id, file),
    constraint batches_reports check (reports >= 0)
);

comment on table batches is 'one row per run and file of collected reports that it counted';
comment on column batches.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column batches.file is 'SHA-256 of the file''s bytes, hex digits, by which no file is counted in two rounds';
comment on column batches.sent_for is 'round the file says it is for; late where that is before the run''s own; empty where it says none';
comment on column batches.reports is 'reports in the file, accepted or not, reports';
-- migration: 0022_sensitivities
-- one row per run, attribute, estimator, group and number: how far malicious clients can have moved it
create table sensitivities (
    run_id varchar not null,
    attribute varchar not null,
    estimator varchar not null,
    given varchar not null,
    number varchar not null,
    sensitivity double not null,
    is_exact boolean not null,
    constraint sensitivities_key primary key (run_id, attribute, estimator, given, number),
    constraint sensitivities_sensitivity check (sensitivity >= 0)
);

comment on table sensitivities is 'one row per run, attribute, estimator, group and number: how far malicious clients can have moved it';
comment on column sensitivities.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column sensitivities.attribute is 'name of the attribute in the scheme';
comment on column sensitivities.estimator is 'estimator that made the number';
comment on column sensitivities.given is 'group the row is about: ATTRIBUTE=CATEGORY, or empty for everyone';
comment on column sensitivities.number is 'the number: a functional, as in functionals, or frequency(CATEGORY), of the unbiased frequencies.raw';
comment on column sensitivities.sensitivity is 'what one report is worth at most, in the number''s unit: a share beta of malicious reports moves it by no more than sensitivity * beta / (1 - beta)';
comment on column sensitivities.is_exact is 'whether the bound holds whatever beta is; else to first order in beta, before an estimate is cut to its range';
-- migration: 0023_spending
-- one row per run and attribute: to what budgets holds, how many memoized answers there can be, and what tokens show of charges
alter table budgets add column states bigint;
alter table budgets add column known_charges bigint;
alter table budgets add column known_clients bigint;
alter table budgets add column most_charges bigint;

comment on column budgets.states is 'answers that a client with a key can be charged for in its life, a count; null before version 23';
comment on column budgets.known_charges is 'of the charges, those of clients that sent a token, a count; null where nobody sent reports';
comment on column budgets.known_clients is 'clients that sent a token, persons; whether others are new ones or the same again is not known';
comment on column budgets.most_charges is 'charges of the client among them that was charged most often in this run, a count; 0 where there is none';
-- migration: 0024_curve_sensitivities
-- one row per number as before, and one for each density and cdf: where the curve is most exposed
comment on column sensitivities.number is 'the number: a functional, as in functionals; frequency(CATEGORY), of the unbiased frequencies.raw; density and cdf, of the curve as it is shown, where it is most exposed';
-- migration: 0025_delta
-- one row per run and attribute, and one per run: to what budgets and schemes hold, the delta that goes with epsilon
alter table budgets add column delta double;
alter table schemes add column delta double;

update budgets set delta = coalesce(try_cast(regexp_extract(certificate, 'delta = ([^ ]+)$', 1) as double), 0);
update schemes set delta = (
    select if(schemes.reporting = 'all', sum(budgets.delta), max(budgets.delta))
    from budgets
    where budgets.run_id = schemes.run_id
);

comment on column budgets.delta is 'delta of one charge, the probability with which Gaussian noise may keep less than epsilon; 0 for other noise';
comment on column schemes.delta is 'delta of one round for a client in total, a probability; 0 where no noise is Gaussian';
-- migration: 0026_standing
-- one row per run of a round, and which of those that landed stands
alter table runs add column trial boolean default false;
alter table runs add column replaced_by varchar;

update runs set trial = false;
update runs set replaced_by = standing.run_id
from (
    select scheme, "round", run_id
    from runs
    where state = 'landed' and (source = 'simulated' or randomness = 'secure')
    qualify row_number() over (
        partition by scheme, "round"
        order by source <> 'simulated' desc, finished_at desc, started_at desc, run_id desc
    ) = 1
) as standing
where runs.state = 'landed'
    and runs.scheme = standing.scheme
    and runs."round" = standing."round"
    and runs.run_id <> standing.run_id;
update runs set replaced_by = run_id
where replaced_by is null and state = 'landed' and source <> 'simulated' and randomness = 'seeded'; -- rehearsals stand for nothing

comment on column runs.trial is 'whether simulated people tried something out, under a name of its own: never compared, pooled or added up';
comment on column runs.replaced_by is 'run that landed in its place, for people are simulated no longer or because again was said; null of one that stands; its own of an early rehearsal';
-- migration: 0027_drawings
-- one row per attribute and time that real people were asked for it, which is never taken back
create table drawings (
    scheme varchar not null,
    scheme_digest varchar not null,
    source varchar not null,
    drawing varchar not null,
    "round" varchar not null,
    attribute varchar not null,
    epsilon double not null,
    delta double not null,
    states bigint,
    constraint drawings_key primary key (scheme_digest, drawing, attribute),
    constraint drawings_source check (source in ('records', 'reports')),
    constraint drawings_epsilon check (epsilon > 0),
    constraint drawings_delta check (delta >= 0)
);

insert into drawings by name
with counted as (
    select run_id, min(sent_for) as sent_for, file
    from batches
    group by run_id, file
),
asked as (
    select
        runs.*,
        coalesce(counted.file, runs.run_id) as drawing,
        coalesce(nullif(counted.sent_for, ''), runs."round") as drawn_for
    from runs
    left join counted on counted.run_id = runs.run_id
    where runs.state = 'landed' and runs.source <> 'simulated'
    qualify row_number() over (
        partition by runs.scheme_digest, coalesce(counted.file, runs.run_id)
        order by drawn_for, runs.run_id
    ) = 1
)
select scheme, scheme_digest, source, drawing, drawn_for as "round", attribute, epsilon, coalesce(delta, 0) as delta, states
from asked
join budgets on budgets.run_id = asked.run_id
union all by name
select scheme, scheme_digest, source, drawing, drawn_for as "round", '' as attribute, epsilon, coalesce(delta, 0) as delta, null as states
from asked
join schemes on schemes.run_id = asked.run_id;

comment on table drawings is 'one row per attribute and time that real people were asked for it, whatever became of the round; of all that is asked together where the attribute is empty';
comment on column drawings.scheme is 'name of the scheme';
comment on column drawings.scheme_digest is 'SHA-256 of the canonical scheme, hex digits';
comment on column drawings.source is 'records that were privatized here, or reports that clients sent';
comment on column drawings.drawing is 'the run that privatized records, or SHA-256 of a file of reports: those sent for one round are one time';
comment on column drawings.round is 'round it was drawn for: the one reports were sent for, or the first that took them';
comment on column drawings.attribute is 'name of the attribute in the scheme; empty for all that a client answers together';
comment on column drawings.epsilon is 'epsilon of one answer with fresh noise, natural-log units';
comment on column drawings.delta is 'delta that goes with it, a probability; 0 where no noise is Gaussian';
comment on column drawings.states is 'answers that a client with a key can be charged for in its life, a count; null where that is not known';
-- migration: 0028_own_variances
-- one row per run and attribute of its scheme: to what attributes hold, the two numbers that errors of unions of categories are made of
alter table attributes add column own_variance_none double default null;
alter table attributes add column own_variance_all double default null;

comment on column attributes.own_variance_none is 'reports times the variance that a category''s unbiased share has of its own, shared with no other category, if nobody has it; null for numbers, where categories are not alike, and before version 28';
comment on column attributes.own_variance_all is 'the same if everybody has it; in between it lies on a straight line';
-- migration: 0029_forgotten
-- one row per run of a round: to what runs holds, when its numbers were forgotten
alter table runs add column forgotten_at timestamp default null;

comment on column runs.forgotten_at is 'when the numbers of this round were deleted, UTC; null while they are there. What was spent stays';
-- migration: 0030_labels
-- one row per run, label and category of its scheme
create table labels (
    run_id varchar not null,
    label varchar not null,
    category varchar not null,
    position bigint not null,
    reports bigint,
    population double,
    constraint labels_key primary key (run_id, label, category),
    constraint labels_reports check (reports >= 0),
    constraint labels_population check (population >= 0)
);

comment on table labels is 'one row per run, label and category of its scheme';
comment on column labels.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column labels.label is 'name of the label, which reports carry in clear';
comment on column labels.category is 'category of the label';
comment on column labels.position is 'place of the category in the scheme, from 0';
comment on column labels.reports is 'reports accepted, reports; null where so few must not be told, or there are none';
comment on column labels.population is 'known share of the population, a ratio; null where the round was given no totals of the label';
-- migration: 0031_weights
-- one row per run and attribute whose estimates are weighted by known totals of the population
create table weights (
    run_id varchar not null,
    attribute varchar not null,
    labels varchar not null,
    reports bigint not null,
    effective_n double not null,
    design_effect double not null,
    constraint weights_key primary key (run_id, attribute)
);

comment on table weights is 'one row per run and attribute whose estimates are weighted by known totals of the population';
comment on column weights.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column weights.attribute is 'name of the attribute in the scheme';
comment on column weights.labels is 'labels whose totals are known, with commas between; given is ''weighted='' and these';
comment on column weights.reports is 'reports of the attribute, reports';
comment on column weights.effective_n is 'reports over design_effect, rounded, reports';
comment on column weights.design_effect is 'Kish''s, n sum w^2 n / (sum w n)^2, rounded: by how much weights make variances larger where all labels are alike; intervals count what labels explain, a ratio';
-- migration: 0032_joint
-- one row per run, pair of attributes and cell of their two-way table: what is shown of both together; one row per run, pair of attributes and number or test of both
create table joint (
    run_id varchar not null,
    "first" varchar not null,
    "second" varchar not null,
    first_part varchar not null,
    second_part varchar not null,
    first_position bigint not null,
    second_position bigint not null,
    share double not null,
    estimate double not null,
    standard_error double not null,
    confidence double not null,
    low double not null,
    high double not null,
    constraint joint_key primary key (run_id, "first", "second", first_part, second_part),
    constraint joint_share check (share >= 0 and share <= 1),
    constraint joint_standard_error check (standard_error >= 0),
    constraint joint_confidence check (confidence > 0 and confidence < 1),
    constraint joint_interval check (low <= share and share <= high)
);

comment on table joint is 'one row per run, pair of attributes and cell of their two-way table';
comment on column joint.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column joint."first" is 'name of one attribute in the scheme';
comment on column joint."second" is 'name of the other, along which the first is told';
comment on column joint.first_part is 'part of the first: a category, or a range as LOW to HIGH';
comment on column joint.second_part is 'part of the second, alike';
comment on column joint.first_position is 'place of the part along the first, from 0';
comment on column joint.second_position is 'place of the part along the second, from 0';
comment on column joint.share is 'share of those who answered both, of the law that is shown: rows and columns add to either alone; a probability';
comment on column joint.estimate is 'estimate of the share, which the interval belongs to, not bound to margins; may be below 0';
comment on column joint.standard_error is 'standard error of the estimate';
comment on column joint.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1';
comment on column joint.low is 'lower end of the interval, widened where needed to hold the share; a probability';
comment on column joint.high is 'upper end of the interval, a probability';

create table associations (
    run_id varchar not null,
    "first" varchar not null,
    "second" varchar not null,
    functional varchar not null,
    kind varchar not null,
    first_part varchar not null default '',
    second_part varchar not null default '',
    estimate double,
    plug_in double,
    standard_error double,
    confidence double,
    low double,
    high double,
    statistic double,
    degrees bigint,
    p_value double,
    reason varchar,
    constraint joint_associations_key primary key (run_id, "first", "second", functional, first_part, second_part),
    constraint joint_associations_kind check (kind in ('distribution_free', 'smooth', 'test')),
    constraint joint_associations_number_or_reason check (estimate is not null or p_value is not null or reason is not null),
    constraint joint_associations_standard_error check (standard_error >= 0),
    constraint joint_associations_confidence check (confidence > 0 and confidence < 1),
    constraint joint_associations_interval check (low <= high),
    constraint joint_associations_statistic check (statistic >= 0 and degrees > 0),
    constraint joint_associations_p_value check (p_value >= 0 and p_value <= 1)
);

comment on table associations is 'one row per run, pair of attributes and number or test of both';
comment on column associations.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column associations."first" is 'name of one attribute in the scheme';
comment on column associations."second" is 'name of the other, along which the first is told';
comment on column associations.functional is 'the number, such as correlation or conditional_mean(20, 30); or the test: independence, trend or equal_means';
comment on column associations.kind is '''smooth'' of a number whose interval takes the law to be smooth, ''distribution_free'' where it holds whatever the law, or ''test''';
comment on column associations.first_part is 'part of the first that the number is of, as in joint; empty for all';
comment on column associations.second_part is 'part of the second that the number is given; empty for all';
comment on column associations.estimate is 'estimate, in the number''s unit, of values as they are kept, within their bounds; null of a test, and where it was refused';
comment on column associations.plug_in is 'the number of the law that is shown, in its unit';
comment on column associations.standard_error is 'standard error of the estimate, in its unit';
comment on column associations.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1; null of a test';
comment on column associations.low is 'lower end of the interval, in the number''s unit';
comment on column associations.high is 'upper end of the interval, in the number''s unit';
comment on column associations.statistic is 'of a test: its statistic, which has a chi-squared law where there is no dependence';
comment on column associations.degrees is 'of a test: the degrees of freedom of that law';
comment on column associations.p_value is 'of a test: how often chance alone makes its statistic so large, a probability';
comment on column associations.reason is 'why there is no number and what would do; null where there is one';
-- migration: 0033_shuffling
-- one row per run and attribute, and one per run: to what budgets and schemes hold, what publication tells of a person
alter table budgets add column published_epsilon double default null;
alter table budgets add column published_delta double default null;
alter table schemes add column published_epsilon double default null;
alter table schemes add column published_delta double default null;
alter table schemes add column published_crowd bigint default null;
alter table schemes add column unpublished varchar default null;

comment on column budgets.published_epsilon is 'what whoever sees nothing but published results can learn of this answer, but for published_delta, natural-log units; never in the place of epsilon; null where schemes.unpublished says why, and before version 33';
comment on column budgets.published_delta is 'delta that goes with published_epsilon, a probability';
comment on column schemes.published_epsilon is 'the same of all answers of a client in the round together, natural-log units; null where unpublished says why, and before version 33';
comment on column schemes.published_delta is 'delta that goes with published_epsilon, a probability';
comment on column schemes.published_crowd is 'reports of the smallest group or batch whose results are published, in which a person hides, a count';
comment on column schemes.unpublished is 'why there is no published_epsilon; empty where there is one, null before version 33';
-- migration: 0034_least_published
-- one row per run and attribute: to what budgets hold, how close published_epsilon is to what publication tells
alter table budgets add column published_least double default null;

comment on column budgets.published_least is 'what a known attack finds of this answer, or of one that is counted together with it, in the same crowd but for published_delta, natural-log units; published_epsilon is never less, and their ratio says how close it is; 0 where no attack is known, null where published_epsilon is and before version 34';
comment on column budgets.published_epsilon is 'what whoever sees nothing but published results can learn of this answer, but for published_delta, natural-log units, if reports are deleted and were drawn anew: of answers that clients remember and send without tokens nothing tells a round; never in the place of epsilon; null where schemes.unpublished says why, and before version 33';
-- migration: 0035_simultaneous
-- one row per run, attribute, estimator, group and category: to what frequencies hold, an interval that also holds for categories selected because their estimates are large
alter table frequencies add column simultaneous_low double default null;
alter table frequencies add column simultaneous_high double default null;

comment on column frequencies.simultaneous_low is 'lower end of the simultaneous interval, a probability: the intervals of all categories of the attribute and group together cover the true shares with that confidence, so they hold for a selection such as the largest; null before version 35';
comment on column frequencies.simultaneous_high is 'upper end of the simultaneous interval, a probability; null before version 35';
-- migration: 0036_regressions
-- one row per run, regression, quantity, category and term: regressions of attributes on labels
create table regressions (
    run_id varchar not null,
    regression varchar not null,
    formula varchar not null,
    quantity varchar not null,
    category varchar not null default '',
    term varchar not null default '',
    kind varchar,
    reference varchar,
    reports bigint,
    estimate double,
    standard_error double,
    confidence double,
    low double,
    high double,
    statistic double,
    degrees bigint,
    p_value double,
    reason varchar,
    constraint regressions_key primary key (run_id, regression, quantity, category, term),
    constraint regressions_quantity check (quantity in ('coefficient', 'effect', 'test', 'fit', 'none')),
    constraint regressions_kind check (kind in ('logistic', 'multinomial', 'linear')),
    constraint regressions_number_or_reason check (estimate is not null or p_value is not null or reason is not null),
    constraint regressions_standard_error check (standard_error >= 0),
    constraint regressions_confidence check (confidence > 0 and confidence < 1),
    constraint regressions_interval check (low <= high),
    constraint regressions_statistic check (statistic >= 0 and degrees > 0),
    constraint regressions_p_value check (p_value >= 0 and p_value <= 1)
);

comment on table regressions is 'one row per run, regression, quantity, category and term';
comment on column regressions.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column regressions.regression is 'name of the regression in the scheme';
comment on column regressions.formula is 'the model, such as smokes ~ region + sex: an attribute, and the labels that it depends on';
comment on column regressions.quantity is '''coefficient''; ''effect'', an average marginal effect; ''test'' that all coefficients of a term are 0; ''fit'', the goodness of fit; ''none'' if the regression could not be estimated';
comment on column regressions.category is 'category of the outcome, compared with the reference category; empty for a number and for tests';
comment on column regressions.term is 'term of the formula, such as region = south; empty for the goodness of fit';
comment on column regressions.kind is '''logistic'' for an outcome of two categories, ''multinomial'' of more, ''linear'' for a number; null without an estimate';
comment on column regressions.reference is 'category of the outcome that the others are compared with; empty for a number, null without an estimate';
comment on column regressions.reports is 'reports used, a count; null without an estimate';
comment on column regressions.estimate is 'a coefficient: log odds ratio, or in the unit of the number; an effect: difference of a proportion, or in the unit of the number; null for tests';
comment on column regressions.standard_error is 'standard error of the estimate, in its unit; null for tests';
comment on column regressions.confidence is 'stated coverage of the interval, a probability strictly between 0 and 1; null for tests';
comment on column regressions.low is 'lower limit of the interval, in the unit of the estimate';
comment on column regressions.high is 'upper limit of the interval, in the unit of the estimate';
comment on column regressions.statistic is 'chi-squared statistic of a test or of the goodness of fit; null for estimates';
comment on column regressions.degrees is 'degrees of freedom of the statistic; null for estimates';
comment on column regressions.p_value is 'probability of a value as extreme if the estimate''s true value is 0, if the term has no effect, or if the model holds';
comment on column regressions.reason is 'why there is no estimate, and what would help; null otherwise';
-- migration: 0037_smoothed
-- one row per run, attribute, group and number: the number as a level that drifts over the rounds of its scheme
create table smoothed (
    run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    number varchar not null,
    smoothed double not null,
    smoothed_error double not null,
    smoothed_low double not null,
    smoothed_high double not null,
    filtered double,
    filtered_low double,
    filtered_high double,
    forecast double,
    forecast_low double,
    forecast_high double,
    shift double,
    shift_error double,
    shift_p_value double,
    shifted boolean,
    constraint smoothed_key primary key (run_id, attribute, given, number),
    constraint smoothed_errors check (smoothed_error >= 0 and shift_error >= 0),
    constraint smoothed_intervals check (smoothed_low <= smoothed_high and filtered_low <= filtered_high and forecast_low <= forecast_high),
    constraint smoothed_p_value check (shift_p_value >= 0 and shift_p_value <= 1)
);

comment on table smoothed is 'one row per run, attribute, group and number, of series of three or more rounds';
comment on column smoothed.run_id is 'run of the round, first 16 hex digits of SHA-256';
comment on column smoothed.attribute is 'name of the attribute in the scheme';
comment on column smoothed.given is 'group as ATTRIBUTE=CATEGORY; empty for all clients';
comment on column smoothed.number is 'functional as in the scheme, or frequency(CATEGORY)';
comment on column smoothed.smoothed is 'estimate from the newest 100 rounds of the scheme together, in the number''s unit, assuming independent rounds';
comment on column smoothed.smoothed_error is 'standard error of smoothed, in the number''s unit';
comment on column smoothed.smoothed_low is 'lower confidence limit of smoothed, in the number''s unit';
comment on column smoothed.smoothed_high is 'upper confidence limit of smoothed, in the number''s unit';
comment on column smoothed.filtered is 'estimate from this round and the earlier ones, in the number''s unit; null with fewer than three rounds';
comment on column smoothed.filtered_low is 'lower confidence limit of filtered, in the number''s unit';
comment on column smoothed.filtered_high is 'upper confidence limit of filtered, in the number''s unit';
comment on column smoothed.forecast is 'true value predicted for the next round from this one and the earlier ones, in the number''s unit';
comment on column smoothed.forecast_low is 'lower confidence limit of the true value of the next round, in the number''s unit';
comment on column smoothed.forecast_high is 'upper confidence limit of the true value of the next round, in the number''s unit';
comment on column smoothed.shift is 'this round, or the mean of this one and the previous one, less what the earlier rounds predict, in the number''s unit';
comment on column smoothed.shift_error is 'standard error of shift, in the number''s unit';
comment on column smoothed.shift_p_value is 'probability of a shift as large if nothing but the usual drift happened, for this number alone';
comment on column smoothed.shifted is 'true if the shift is statistically significant, as in check shift(ATTRIBUTE): one false alarm in 365 rounds, for all numbers together';
-- migration: 0038_experiments
-- one row per run, label with a control arm, other arm, attribute and outcome
create table experiments (
    run_id varchar not null,
    label varchar not null,
    arm varchar not null,
    control varchar not null,
    attribute varchar not null,
    functional varchar not null,
    difference double,
    standard_error double,
    low double,
    high double,
    confidence double not null,
    p_value double,
    adjusted_p_value double,
    outcomes bigint not null,
    ratio double,
    ratio_low double,
    ratio_high double,
    reason varchar,
    constraint experiments_key primary key (run_id, label, arm, attribute, functional),
    constraint experiments_error check (standard_error >= 0),
    constraint experiments_intervals check (low <= difference and difference <= high and ratio_low <= ratio and ratio <= ratio_high),
    constraint experiments_p_values check (p_value >= 0 and p_value <= adjusted_p_value and adjusted_p_value <= 1)
);

comment on table experiments is 'one row per run, label with a control arm, other arm, attribute and outcome';
comment on column experiments.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column experiments.label is 'name of the label whose categories are the arms';
comment on column experiments.arm is 'category of the arm that is compared with the control arm';
comment on column experiments.control is 'category of the control arm';
comment on column experiments.attribute is 'name of the attribute in the scheme';
comment on column experiments.functional is 'functional as in the scheme, or frequency(CATEGORY)';
comment on column experiments.difference is 'value of the arm less that of the control arm, in the functional''s unit, using raw for frequencies; null if unavailable';
comment on column experiments.standard_error is 'standard error of the difference, in the functional''s unit';
comment on column experiments.low is 'lower confidence limit of the difference, in the functional''s unit';
comment on column experiments.high is 'upper confidence limit of the difference, in the functional''s unit';
comment on column experiments.confidence is 'confidence level of each interval alone, a probability';
comment on column experiments.p_value is 'probability of a difference as large if the true one is zero, for this row alone';
comment on column experiments.adjusted_p_value is 'p_value adjusted for all outcomes of the experiment in the round, by Holm''s method';
comment on column experiments.outcomes is 'number of outcomes of all arms that are tested together; two proportions that sum to one count once';
comment on column experiments.ratio is 'value of the arm divided by that of the control arm; null unless the control is significantly above zero';
comment on column experiments.ratio_low is 'lower confidence limit of the ratio, by Fieller''s method';
comment on column experiments.ratio_high is 'upper confidence limit of the ratio, by Fieller''s method';
comment on column experiments.reason is 'why there is no difference or no ratio, and what to do; null otherwise';
-- migration: 0039_sets
-- one row per run and attribute of its scheme: the type may be set, with how many options one respondent may choose
alter table attributes rename to earlier_attributes;

create table attributes (
    run_id varchar not null,
    attribute varchar not null,
    position bigint not null,
    type varchar not null,
    unit varchar not null,
    lower double,
    upper double,
    own_variance_none double default null,
    own_variance_all double default null,
    at_most bigint default null,
    constraint sets_key primary key (run_id, attribute),
    constraint sets_type check (type in ('numeric', 'categorical', 'set')),
    constraint sets_bounds check (lower < upper),
    constraint sets_at_most check ((type = 'set') = (at_most is not null))
);

insert into attributes by name from earlier_attributes;

drop table earlier_attributes;

comment on table attributes is 'one row per run and attribute of its scheme';
comment on column attributes.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column attributes.attribute is 'name of the attribute in the scheme';
comment on column attributes.type is 'numeric, categorical or set';
comment on column attributes.at_most is 'how many options one respondent may choose; null for attributes that are no sets';
-- migration: 0040_texts
-- one row per run and attribute of its scheme: the type may be text
alter table attributes rename to earlier_attributes;

create table attributes (
    run_id varchar not null,
    attribute varchar not null,
    position bigint not null,
    type varchar not null,
    unit varchar not null,
    lower double,
    upper double,
    own_variance_none double default null,
    own_variance_all double default null,
    at_most bigint default null,
    constraint texts_key primary key (run_id, attribute),
    constraint texts_type check (type in ('numeric', 'categorical', 'set', 'text')),
    constraint texts_bounds check (lower < upper),
    constraint texts_at_most check ((type = 'set') = (at_most is not null))
);

insert into attributes by name from earlier_attributes;

drop table earlier_attributes;

comment on table attributes is 'one row per run and attribute of its scheme';
comment on column attributes.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column attributes.attribute is 'name of the attribute in the scheme';
comment on column attributes.type is 'numeric, categorical, set or text';
comment on column attributes.at_most is 'how many options one respondent may choose; null for attributes that are no sets';
-- migration: 0041_types
-- one row per run and attribute of its scheme: of any type, which the scheme has checked
alter table attributes rename to earlier_attributes;

create table attributes (
    run_id varchar not null,
    attribute varchar not null,
    position bigint not null,
    type varchar not null,
    unit varchar not null,
    lower double,
    upper double,
    own_variance_none double default null,
    own_variance_all double default null,
    at_most bigint default null,
    constraint types_key primary key (run_id, attribute),
    constraint types_bounds check (lower < upper)
);

insert into attributes by name from earlier_attributes;

drop table earlier_attributes;

comment on table attributes is 'one row per run and attribute of its scheme';
comment on column attributes.run_id is 'run that landed this row, first 16 hex digits of SHA-256';
comment on column attributes.attribute is 'name of the attribute in the scheme';
comment on column attributes.type is 'numeric, categorical, set, text or another type of schemes';
comment on column attributes.at_most is 'how many options one respondent may choose; null for attributes that are no sets';
