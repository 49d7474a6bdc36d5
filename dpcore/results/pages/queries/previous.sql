-- one row: the latest earlier round of the same scheme digest and source; no row without one, or for a trial
select earlier.run_id, earlier."round", earlier.finished_at
from latest_runs as earlier
join runs as this on this.run_id = $run_id
where earlier.scheme_digest = this.scheme_digest
    and earlier.source = this.source
    and earlier."round" < this."round"
    and not earlier.trial
    and not this.trial
order by earlier."round" desc
limit 1
