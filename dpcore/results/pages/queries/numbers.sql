-- one row per functional, for all clients and for each group, with the true value for simulated clients
select functionals.*, truths.value as truth
from functionals
left join truths
    on truths.run_id = functionals.run_id
    and truths.attribute = functionals.attribute
    and truths.given = functionals.given
    and truths.quantity = functionals.functional
left join categories
    on categories.run_id = functionals.run_id
    and functionals.given = categories.attribute || '=' || categories.category
left join labels
    on labels.run_id = functionals.run_id
    and functionals.given = labels.label || '=' || labels.category
where functionals.run_id = $run_id and functionals.attribute = $attribute
order by
    functionals.given <> '', functionals.functional, starts_with(functionals.given, 'weighted=') desc,
    split_part(functionals.given, '=', 1), coalesce(categories.position, labels.position), functionals.given
