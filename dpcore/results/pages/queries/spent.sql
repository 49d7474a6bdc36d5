-- one row: the rounds of this scheme up to this one, with real or with simulated clients, and the epsilon they have spent
select
    coalesce(composed.rounds, 1) as rounds,
    coalesce(composed.drawings, 1) as drawings,
    coalesce((
        select min(earlier."round")
        from composed_budgets as earlier
        where earlier.scheme = this.scheme
            and (coalesce(earlier.source, 'records') = 'simulated') = (this.source = 'simulated')
    ), this."round") as first_round,
    coalesce(composed.fresh, schemes.epsilon) as epsilon,
    composed.memoized_least,
    composed.memoized_most,
    coalesce(composed.delta, schemes.delta) as delta,
    coalesce(composed.fresh_delta, schemes.delta) as fresh_delta,
    composed.known_clients,
    composed.known_most
from runs as this
left join schemes on schemes.run_id = this.run_id
left join composed_budgets as composed
    on composed.scheme = this.scheme
    and composed."round" = this."round"
    and composed.attribute = ''
    and (coalesce(composed.source, 'records') = 'simulated') = (this.source = 'simulated')
where this.run_id = $run_id
