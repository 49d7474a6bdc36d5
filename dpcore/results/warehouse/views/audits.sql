-- one row per audit and attribute: its exact epsilon; an empty attribute is the whole scheme
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
    checks.detail,
    shown.observed as lower_bound,
    shown.passed as borne_out
from checks
left join checks as shown
    on shown.run_id = checks.run_id and shown.name = replace(checks.name, 'exact_epsilon(', 'lower_bound(') and shown.name <> checks.name
where checks.name = 'exact_epsilon' or starts_with(checks.name, 'exact_epsilon(');

comment on column audits.run_id is 'identifier of the audit, 16 hex digits; it is not in runs';
comment on column audits.scheme is 'name of the scheme that was audited';
comment on column audits.scheme_digest is 'SHA-256 of its canonical text, the first hex digits';
comment on column audits.audited_on is 'UTC date of the audit';
comment on column audits.attribute is 'name of the attribute; empty for the whole scheme';
comment on column audits.epsilon is 'exact epsilon, computed by enumeration, natural-log units';
comment on column audits.promised is 'epsilon that the scheme states, natural-log units';
comment on column audits.passed is 'true if the exact epsilon is at most the stated one';
comment on column audits.lower_bound is 'empirical lower bound on epsilon from reports, at 99 % confidence, natural-log units; null if not measured';
comment on column audits.borne_out is 'true if the lower bound is at most the stated epsilon; null if not measured';
