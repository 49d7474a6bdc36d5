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
