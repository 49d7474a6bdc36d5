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
