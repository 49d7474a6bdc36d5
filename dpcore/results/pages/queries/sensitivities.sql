-- one row per functional, and one for all proportions of an attribute: its largest shift by 1 % malicious reports
select
    attributes.attribute,
    case when starts_with(number, 'frequency(') then '' else number end as functional,
    max(sensitivity) * 0.01 / 0.99 as moved,
    bool_and(is_exact) as is_exact,
    any_value(attributes.unit) as unit
from sensitivities
join attributes on attributes.run_id = sensitivities.run_id and attributes.attribute = sensitivities.attribute
where sensitivities.run_id = $run_id and given = ''
group by all
order by any_value(attributes.position), functional
