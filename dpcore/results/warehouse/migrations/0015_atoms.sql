-- one row per what 0005_densities and 0006_functionals say; here is what their columns mean where there are atoms
comment on column densities.density is 'density at x, per unit of the attribute; over its bounds it integrates to 1 less the shares in functionals named atom(X)';
comment on column densities.cdf is 'share of the clients at or below x, atoms at the bounds included, a probability';
comment on column functionals.functional is 'the number, as in the scheme: mean, entropy, quantile(0.5); atom(X) is the share of exactly X, a bound, and comes unasked where there is one';
