-- one row per run and attribute: to what budgets holds, how many memoized answers there can be, and what tokens show of charges
alter table budgets add column states bigint;
alter table budgets add column known_charges bigint;
alter table budgets add column known_clients bigint;
alter table budgets add column most_charges bigint;

comment on column budgets.states is 'answers that a client with a key can be charged for in its life, a count; null before version 23';
comment on column budgets.known_charges is 'of the charges, those of clients that sent a token, a count; null where nobody sent reports';
comment on column budgets.known_clients is 'clients that sent a token, persons; whether others are new ones or the same again is not known';
comment on column budgets.most_charges is 'charges of the client among them that was charged most often in this run, a count; 0 where there is none';
