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
    checks.detail,
    shown.observed as lower_bound,
    shown.passed as borne_out
from checks
left join checks as shown
    on shown.run_id = checks.run_id and shown.name = replace(checks.name, 'exact_epsilon(', 'lower_bound(') and shown.name <> checks.name
where checks.name = 'exact_epsilon' or starts_with(checks.name, 'exact_epsilon(');

comment on column audits.run_id is 'identifier of the audit, 16 hex digits; there is no such run';
comment on column audits.scheme is 'name of the scheme that was audited';
comment on column audits.scheme_digest is 'SHA-256 of its canonical text, the first hex digits';
comment on column audits.audited_on is 'UTC date of the audit';
comment on column audits.attribute is 'name of the attribute; empty for the whole scheme';
comment on column audits.epsilon is 'what is kept, found by enumeration, natural-log units';
comment on column audits.promised is 'what the scheme promises, natural-log units';
comment on column audits.passed is 'whether what is kept is within what is promised';
comment on column audits.lower_bound is 'epsilon that reports alone show at least, at 99 % confidence, natural-log units; null where nobody has looked';
comment on column audits.borne_out is 'whether that is within what is promised; null where nobody has looked';
