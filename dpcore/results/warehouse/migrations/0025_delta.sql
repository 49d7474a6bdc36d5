-- one row per run and attribute, and one per run: to what budgets and schemes hold, the delta that goes with epsilon
alter table budgets add column delta double;
alter table schemes add column delta double;

update budgets set delta = coalesce(try_cast(regexp_extract(certificate, 'delta = ([^ ]+)$', 1) as double), 0);
update schemes set delta = (
    select if(schemes.reporting = 'all', sum(budgets.delta), max(budgets.delta))
    from budgets
    where budgets.run_id = schemes.run_id
);

comment on column budgets.delta is 'delta of one charge, the probability with which Gaussian noise may keep less than epsilon; 0 for other noise';
comment on column schemes.delta is 'delta of one round for a client in total, a probability; 0 where no noise is Gaussian';
