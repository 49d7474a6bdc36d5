-- one row: the run, its scheme, and whether the stored text of the scheme has the stored digest
select
    runs.*,
    schemes.description,
    schemes.planned_clients,
    schemes.reporting,
    schemes.stated,
    schemes.epsilon,
    schemes.canonical,
    schemes.published_epsilon,
    schemes.published_delta,
    schemes.published_crowd,
    schemes.unpublished,
    sha256(schemes.canonical) = runs.scheme_digest as is_whole
from runs
left join schemes on schemes.run_id = runs.run_id
where runs.run_id = $run_id
