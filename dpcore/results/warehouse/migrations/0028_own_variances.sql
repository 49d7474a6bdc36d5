-- one row per run and attribute of its scheme: to what attributes hold, the two numbers that errors of unions of categories are made of
alter table attributes add column own_variance_none double default null;
alter table attributes add column own_variance_all double default null;

comment on column attributes.own_variance_none is 'reports times the variance that a category''s unbiased share has of its own, shared with no other category, if nobody has it; null for numbers, where categories are not alike, and before version 28';
comment on column attributes.own_variance_all is 'the same if everybody has it; in between it lies on a straight line';
