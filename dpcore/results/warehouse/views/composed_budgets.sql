-- one row per scheme, round and attribute: what clients have spent up to it, whatever became of the rounds; of all attributes together where the attribute is empty
create or replace view composed_budgets as
with told as (
    select run_id, attribute, epsilon, delta, states from budgets
    union all
    select run_id, '' as attribute, epsilon, delta, null as states from schemes
),
asked as (
    -- what was sent for one round was drawn once, in however many files it came; records are drawn anew by every run
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
    -- simulated people have an account of their own, in rounds of which no real ones were asked
    select
        latest_runs.scheme,
        latest_runs.scheme_digest,
        false as is_real,
        latest_runs.run_id as drawing,
        latest_runs."round",
        told.attribute,
        told.epsilon,
        told.delta,
        told.states
    from latest_runs
    join told on told.run_id = latest_runs.run_id
    where latest_runs.source = 'simulated'
        and not latest_runs.trial
        and (latest_runs.scheme, latest_runs."round") not in (select (scheme, "round") from drawings)
),
charged as (
    select
        *,
        -- answers are memoized under a digest: under another one they are drawn, and charged, anew
        is_real and drawing <> '' as is_fresh,
        row_number() over (
            partition by scheme, is_real, scheme_digest, attribute, is_fresh order by "round", drawing
        ) as of_digest,
        -- records are privatized here, where nobody has a key
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
    -- a round of nothing but what had been charged before: late reports, or what waited
    select
        latest_runs.scheme,
        true as is_real,
        latest_runs."round",
        told.attribute,
        told.epsilon,
        told.delta,
        0 as drawings,
        0 as fresh,
        0 as fresh_delta,
        0 as least,
        0 as least_delta,
        0 as most,
        0 as most_delta
    from latest_runs
    join told on told.run_id = latest_runs.run_id
    where latest_runs.source <> 'simulated'
        and (latest_runs.scheme, latest_runs."round") not in (select (scheme, "round") from drawings)
),
known as (
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
    known.known_clients,
    known.most_charges * whole.epsilon as known_most,
    whole.delta,
    sum(whole.fresh_delta) over so_far as fresh_delta,
    sum(whole.least_delta) over so_far as memoized_least_delta,
    sum(whole.most_delta) over so_far as memoized_most_delta
from whole
left join latest_runs
    on latest_runs.scheme = whole.scheme
    and latest_runs."round" = whole."round"
    and (latest_runs.source <> 'simulated') = whole.is_real
left join known on known.run_id = latest_runs.run_id and known.attribute = whole.attribute
window so_far as (partition by whole.scheme, whole.is_real, whole.attribute order by whole."round");

comment on column composed_budgets.run_id is 'run of the round that stands, whose numbers are shown; null where none has landed';
comment on column composed_budgets.source is 'where that run''s reports came from; null where none has landed, though people were asked';
comment on column composed_budgets.attribute is 'name of the attribute in the scheme; empty for all that a client answers together';
comment on column composed_budgets.epsilon is 'what one report spends, natural-log units';
comment on column composed_budgets.rounds is 'rounds up to this one in which people were asked under this scheme, a count; real people''s and simulated ones'' apart';
comment on column composed_budgets.drawings is 'times they were asked in these rounds: fresh noise, a run that failed and one that was replaced count; reports sent for one round are once';
comment on column composed_budgets.fresh is 'epsilon spent by a client that answered every time with fresh noise, natural-log units';
comment on column composed_budgets.memoized_least is 'epsilon spent by one with a key whose value never changed, natural-log units';
comment on column composed_budgets.memoized_most is 'epsilon spent by one with a key at most, however its value moved, natural-log units';
comment on column composed_budgets.known_most is 'epsilon spent in this round at most by any client that sent a token, natural-log units; 0 where none did; null where nobody sent reports';
comment on column composed_budgets.delta is 'what one report spends beside epsilon, a probability; 0 where no noise is Gaussian';
comment on column composed_budgets.fresh_delta is 'delta spent by a client that answered every time with fresh noise, a probability';
comment on column composed_budgets.memoized_least_delta is 'delta spent by one with a key whose value never changed, a probability';
comment on column composed_budgets.memoized_most_delta is 'delta spent by one with a key at most, however its value moved, a probability';
