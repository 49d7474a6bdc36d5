-- one row per scheme, round and attribute, of the run that stands
create or replace view latest_budgets as
select latest_runs.scheme, latest_runs."round", budgets.*
from budgets
join latest_runs on latest_runs.run_id = budgets.run_id;
