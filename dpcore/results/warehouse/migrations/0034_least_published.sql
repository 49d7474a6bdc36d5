-- one row per run and attribute: to what budgets hold, how close published_epsilon is to what publication tells
alter table budgets add column published_least double default null;

comment on column budgets.published_least is 'what a known attack finds of this answer, or of one that is counted together with it, in the same crowd but for published_delta, natural-log units; published_epsilon is never less, and their ratio says how close it is; 0 where no attack is known, null where published_epsilon is and before version 34';
comment on column budgets.published_epsilon is 'what whoever sees nothing but published results can learn of this answer, but for published_delta, natural-log units, if reports are deleted and were drawn anew: of answers that clients remember and send without tokens nothing tells a round; never in the place of epsilon; null where schemes.unpublished says why, and before version 33';
