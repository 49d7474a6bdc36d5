-- one row per run of a round, and which of those that landed stands
alter table runs add column trial boolean default false;
alter table runs add column replaced_by varchar;

update runs set trial = false;
update runs set replaced_by = standing.run_id
from (
    select scheme, "round", run_id
    from runs
    where state = 'landed' and (source = 'simulated' or randomness = 'secure')
    qualify row_number() over (
        partition by scheme, "round"
        order by source <> 'simulated' desc, finished_at desc, started_at desc, run_id desc
    ) = 1
) as standing
where runs.state = 'landed'
    and runs.scheme = standing.scheme
    and runs."round" = standing."round"
    and runs.run_id <> standing.run_id;
update runs set replaced_by = run_id
where replaced_by is null and state = 'landed' and source <> 'simulated' and randomness = 'seeded'; -- rehearsals stand for nothing

comment on column runs.trial is 'whether simulated people tried something out, under a name of its own: never compared, pooled or added up';
comment on column runs.replaced_by is 'run that landed in its place, for people are simulated no longer or because again was said; null of one that stands; its own of an early rehearsal';
