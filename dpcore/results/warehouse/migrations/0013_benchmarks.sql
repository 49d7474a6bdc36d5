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
