-- one row per audit and promise: the exact epsilon of an attribute, or of the whole scheme where the attribute is empty
create or replace view audits as
select
    checks.run_id,
    split_part(checks.detail, ' ', 1) as scheme,
    split_part(checks.detail, ' ', 2) as scheme_digest,
    split_part(split_part(checks.detail, ' ', 4), ':', 1) as audited_on,
    regexp_extract(checks.name, '^exact_epsilon\((.*)\)$', 1) as attribute,
    checks.observed as epsilon,
    checks.threshold as promised,
    checks.passed,
    checks.detail
from checks
where checks.name = 'exact_epsilon' or starts_with(checks.name, 'exact_epsilon(');
