-- one row per scheme, round and attribute, of the newest landed run: what clients have spent up to it; of all attributes together where the attribute is empty
create or replace view composed_budgets as
with rounds as (
    select
        run_id,
        scheme,
        source,
        "round",
        -- answers are memoized under a digest: under another one they are drawn, and charged, anew
        row_number() over (partition by scheme, source, scheme_digest order by "round") as of_digest
    from latest_runs
),
charged as (
    select
        rounds.*,
        budgets.attribute,
        budgets.epsilon,
        budgets.delta,
        rounds.of_digest = 1 as is_least,
        rounds.of_digest <= coalesce(budgets.states, rounds.of_digest) as is_most,
        if(is_least, budgets.epsilon, 0) as least,
        if(is_most, budgets.epsilon, 0) as most,
        if(is_least, budgets.delta, 0) as least_delta,
        if(is_most, budgets.delta, 0) as most_delta,
        budgets.known_clients,
        budgets.most_charges
    from rounds
    join budgets on budgets.run_id = rounds.run_id
),
summed as (
    select
        run_id,
        sum(most) as most,
        sum(most_delta) as most_delta,
        max(known_clients) as known_clients,
        max(most_charges) as most_charges
    from charged
    group by run_id
),
together as (
    select * exclude (is_least, is_most) from charged
    union all by name
    select
        rounds.*,
        '' as attribute,
        schemes.epsilon,
        schemes.delta,
        if(rounds.of_digest = 1, schemes.epsilon, 0) as least,
        if(schemes.reporting = 'all', summed.most, schemes.epsilon) as most,
        if(rounds.of_digest = 1, schemes.delta, 0) as least_delta,
        if(schemes.reporting = 'all', summed.most_delta, schemes.delta) as most_delta,
        summed.known_clients,
        summed.most_charges
    from rounds
    join schemes on schemes.run_id = rounds.run_id
    join summed on summed.run_id = rounds.run_id
)
select
    together.scheme,
    together."round",
    together.run_id,
    together.source,
    together.attribute,
    together.epsilon,
    count(*) over so_far as rounds,
    sum(together.epsilon) over so_far as fresh,
    sum(together.least) over so_far as memoized_least,
    sum(together.most) over so_far as memoized_most,
    together.known_clients,
    together.most_charges * together.epsilon as known_most,
    together.delta,
    sum(together.delta) over so_far as fresh_delta,
    sum(together.least_delta) over so_far as memoized_least_delta,
    sum(together.most_delta) over so_far as memoized_most_delta
from together
window so_far as (partition by together.scheme, together.source, together.attribute order by together."round");

comment on column composed_budgets.attribute is 'name of the attribute in the scheme; empty for all that a client answers together';
comment on column composed_budgets.epsilon is 'what one report spends, natural-log units';
comment on column composed_budgets.rounds is 'rounds of this scheme and source that have landed up to this one, a count';
comment on column composed_budgets.fresh is 'epsilon spent by a client that answered in all of them with fresh noise, natural-log units';
comment on column composed_budgets.memoized_least is 'epsilon spent by one with a key whose value never changed, natural-log units';
comment on column composed_budgets.memoized_most is 'epsilon spent by one with a key at most, however its value moved, natural-log units';
comment on column composed_budgets.known_most is 'epsilon spent in this round at most by any client that sent a token, natural-log units; 0 where none did; null where nobody sent reports';
comment on column composed_budgets.delta is 'what one report spends beside epsilon, a probability; 0 where no noise is Gaussian';
comment on column composed_budgets.fresh_delta is 'delta spent by a client that answered in all of them with fresh noise, a probability';
comment on column composed_budgets.memoized_least_delta is 'delta spent by one with a key whose value never changed, a probability';
comment on column composed_budgets.memoized_most_delta is 'delta spent by one with a key at most, however its value moved, a probability';
