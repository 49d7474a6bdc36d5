-- one row per number as before, and one for each density and cdf: where the curve is most exposed
comment on column sensitivities.number is 'the number: a functional, as in functionals; frequency(CATEGORY), of the unbiased frequencies.raw; density and cdf, of the curve as it is shown, where it is most exposed';
