-- one row per scheme, round, other run, attribute, group, other group and functional, of the current run
create or replace view latest_comparisons as
select latest_runs.scheme, latest_runs."round", others."round" as other_round, comparisons.*
from comparisons
join latest_runs on latest_runs.run_id = comparisons.run_id
left join runs as others on others.run_id = comparisons.other_run_id;

comment on column latest_comparisons.other_round is 'round of the other run; null if that run was deleted';
