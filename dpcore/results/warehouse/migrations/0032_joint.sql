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
