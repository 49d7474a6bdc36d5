-- one row per round, group and functional of the attribute: the estimate, the smoothed value and the forecast, in at most 30 rounds up to this one
select attribute, "round", given, number as functional, estimate, low, high, smoothed, smoothed_low, smoothed_high, forecast, forecast_low, forecast_high
from trends
where attribute = $attribute
    and estimator not in ('bias_aware', 'distribution_free') -- which are of the same numbers
    and run_id in (
        select earlier.run_id
        from latest_runs as earlier
        join runs as this on this.run_id = $run_id
        where earlier.scheme_digest = this.scheme_digest
            and earlier.source = this.source
            and earlier."round" <= this."round"
            and not earlier.trial
            and not this.trial
        order by earlier."round" desc
        limit 30
    )
order by "round"
