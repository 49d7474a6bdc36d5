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
