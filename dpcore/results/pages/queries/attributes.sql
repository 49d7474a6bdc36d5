-- one row per attribute: its type and bounds, its mechanism and the certified loss
select
    budgets.attribute,
    coalesce(attributes.unit, '') as unit,
    attributes.lower,
    attributes.upper,
    budgets.mechanism,
    budgets.stated,
    budgets.epsilon,
    budgets.certificate,
    budgets.charges,
    budgets.published_epsilon
from budgets
left join attributes on attributes.run_id = budgets.run_id and attributes.attribute = budgets.attribute
where budgets.run_id = $run_id
order by attributes.position, budgets.attribute
