-- one row: the rounds of this scheme, by name, that have landed up to this one, and what clients have spent in all of them
select
    count(*) as rounds,
    min(earlier."round") as first_round,
    case when count(schemes.epsilon) = count(*) then sum(schemes.epsilon) end as epsilon,
    any_value(composed.memoized_least) as memoized_least,
    any_value(composed.memoized_most) as memoized_most,
    any_value(composed.delta) as delta,
    any_value(composed.fresh_delta) as fresh_delta,
    any_value(composed.known_clients) as known_clients,
    any_value(composed.known_most) as known_most
from latest_runs as earlier
join runs as this on this.run_id = $run_id
left join schemes on schemes.run_id = earlier.run_id
left join composed_budgets as composed on composed.run_id = this.run_id and composed.attribute = ''
where earlier.scheme = this.scheme and earlier.source = this.source and earlier."round" <= this."round"
