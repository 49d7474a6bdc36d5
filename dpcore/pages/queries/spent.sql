-- one row: the rounds of this scheme, by name, that have landed up to this one, and the epsilon of a client who took part in all
select
    count(*) as rounds,
    min(earlier."round") as first_round,
    case when count(schemes.epsilon) = count(*) then sum(schemes.epsilon) end as epsilon
from latest_runs as earlier
join runs as this on this.run_id = $run_id
left join schemes on schemes.run_id = earlier.run_id
where earlier.scheme = this.scheme and earlier.source = this.source and earlier."round" <= this."round"
