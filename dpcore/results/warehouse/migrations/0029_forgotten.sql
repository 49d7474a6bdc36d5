-- one row per run of a round: to what runs holds, when its numbers were forgotten
alter table runs add column forgotten_at timestamp default null;

comment on column runs.forgotten_at is 'when the numbers of this round were deleted, UTC; null while they are there. What was spent stays';
