-- one row per run and attribute, and one per run: to what budgets and schemes hold, what publication tells of a person
alter table budgets add column published_epsilon double default null;
alter table budgets add column published_delta double default null;
alter table schemes add column published_epsilon double default null;
alter table schemes add column published_delta double default null;
alter table schemes add column published_crowd bigint default null;
alter table schemes add column unpublished varchar default null;

comment on column budgets.published_epsilon is 'what whoever sees nothing but published results can learn of this answer, but for published_delta, natural-log units; never in the place of epsilon; null where schemes.unpublished says why, and before version 33';
comment on column budgets.published_delta is 'delta that goes with published_epsilon, a probability';
comment on column schemes.published_epsilon is 'the same of all answers of a client in the round together, natural-log units; null where unpublished says why, and before version 33';
comment on column schemes.published_delta is 'delta that goes with published_epsilon, a probability';
comment on column schemes.published_crowd is 'reports of the smallest group or batch whose results are published, in which a person hides, a count';
comment on column schemes.unpublished is 'why there is no published_epsilon; empty where there is one, null before version 33';
