-- one row per run, attribute, group and number: the number as a level that drifts over the rounds of its scheme
create table smoothed (
    run_id varchar not null,
    attribute varchar not null,
    given varchar not null default '',
    number varchar not null,
    smoothed double not null,
    smoothed_error double not null,
    smoothed_low double not null,
    smoothed_high double not null,
    filtered double,
    filtered_low double,
    filtered_high double,
    forecast double,
    forecast_low double,
    forecast_high double,
    shift double,
    shift_error double,
    shift_p_value double,
    shifted boolean,
    constraint smoothed_key primary key (run_id, attribute, given, number),
    constraint smoothed_errors check (smoothed_error >= 0 and shift_error >= 0),
    constraint smoothed_intervals check (smoothed_low <= smoothed_high and filtered_low <= filtered_high and forecast_low <= forecast_high),
    constraint smoothed_p_value check (shift_p_value >= 0 and shift_p_value <= 1)
);

comment on table smoothed is 'one row per run, attribute, group and number, of series of three or more rounds';
comment on column smoothed.run_id is 'run of the round, first 16 hex digits of SHA-256';
comment on column smoothed.attribute is 'name of the attribute in the scheme';
comment on column smoothed.given is 'group as ATTRIBUTE=CATEGORY; empty for all clients';
comment on column smoothed.number is 'functional as in the scheme, or frequency(CATEGORY)';
comment on column smoothed.smoothed is 'estimate from the newest 100 rounds of the scheme together, in the number''s unit, assuming independent rounds';
comment on column smoothed.smoothed_error is 'standard error of smoothed, in the number''s unit';
comment on column smoothed.smoothed_low is 'lower confidence limit of smoothed, in the number''s unit';
comment on column smoothed.smoothed_high is 'upper confidence limit of smoothed, in the number''s unit';
comment on column smoothed.filtered is 'estimate from this round and the earlier ones, in the number''s unit; null with fewer than three rounds';
comment on column smoothed.filtered_low is 'lower confidence limit of filtered, in the number''s unit';
comment on column smoothed.filtered_high is 'upper confidence limit of filtered, in the number''s unit';
comment on column smoothed.forecast is 'true value predicted for the next round from this one and the earlier ones, in the number''s unit';
comment on column smoothed.forecast_low is 'lower confidence limit of the true value of the next round, in the number''s unit';
comment on column smoothed.forecast_high is 'upper confidence limit of the true value of the next round, in the number''s unit';
comment on column smoothed.shift is 'this round, or the mean of this one and the previous one, less what the earlier rounds predict, in the number''s unit';
comment on column smoothed.shift_error is 'standard error of shift, in the number''s unit';
comment on column smoothed.shift_p_value is 'probability of a shift as large if nothing but the usual drift happened, for this number alone';
comment on column smoothed.shifted is 'true if the shift is statistically significant, as in check shift(ATTRIBUTE): one false alarm in 365 rounds, for all numbers together';
