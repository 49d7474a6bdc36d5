-- one row per regression, quantity, category and term, in the order of the scheme
select regressions.* exclude (run_id), coalesce(attributes.unit, '') as unit
from regressions
left join attributes
    on attributes.run_id = regressions.run_id and attributes.attribute = trim(split_part(regressions.formula, '~', 1))
where regressions.run_id = $run_id
order by regressions.rowid
