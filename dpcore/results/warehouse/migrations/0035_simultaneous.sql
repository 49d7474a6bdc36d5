-- one row per run, attribute, estimator, group and category: to what frequencies hold, an interval that also holds for categories selected because their estimates are large
alter table frequencies add column simultaneous_low double default null;
alter table frequencies add column simultaneous_high double default null;

comment on column frequencies.simultaneous_low is 'lower end of the simultaneous interval, a probability: the intervals of all categories of the attribute and group together cover the true shares with that confidence, so they hold for a selection such as the largest; null before version 35';
comment on column frequencies.simultaneous_high is 'upper end of the simultaneous interval, a probability; null before version 35';
