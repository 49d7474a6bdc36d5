-- one row per category, for all clients and for each group, with the true proportion of simulated clients and the previous round, if any
select frequencies.*, truths.value as truth, before.estimate as before
from frequencies
left join truths
    on truths.run_id = frequencies.run_id
    and truths.attribute = frequencies.attribute
    and truths.given = frequencies.given
    and truths.quantity = 'frequency(' || frequencies.category || ')'
left join frequencies as before
    on before.run_id = $previous
    and before.attribute = frequencies.attribute
    and before.estimator = frequencies.estimator
    and before.given = frequencies.given
    and before.category = frequencies.category
left join categories
    on categories.run_id = frequencies.run_id
    and categories.attribute = frequencies.attribute
    and categories.category = frequencies.category
left join labels
    on labels.run_id = frequencies.run_id
    and frequencies.given = labels.label || '=' || labels.category
where frequencies.run_id = $run_id and frequencies.attribute = $attribute
order by
    frequencies.given <> '', starts_with(frequencies.given, 'weighted=') desc, split_part(frequencies.given, '=', 1),
    labels.position, frequencies.given,
    categories.position, frequencies.category
