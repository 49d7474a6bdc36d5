-- one row per study, method, parameters, target, clients, epsilon and metric of the newest measurement of each study
create or replace view latest_benchmarks as
select *
from benchmarks
qualify measured_at = max(measured_at) over (partition by study);
