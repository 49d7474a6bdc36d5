/**
 * The mechanisms, client halves, by the names that schemes have for them.
 *
 * Each is a function of the scheme's integers for clients (a Map) and the attribute's tables, which throws SchemeError.  It gives
 * inputs, how many input cells there are; kept, what its integers keep, by enumeration of them, a fraction: the largest `ratio` of
 * two probabilities or the largest `loss` in natural-log units; privatize(cell, level, source) -> integers; and ranges(level) ->
 * [lowest, highest] of each integer.  One of several levels has levels, their number, and drawLevel(source), too; one whose
 * integers ascend says isAscending; one whose statistics are not as many as its inputs says them, and isNoisy where they are sums; one with tables has check(), which throws where they are not those that the scheme states.
 */

export { randomizedResponse as randomized_response } from "./mechanisms/randomized_response.mjs";
export { unaryEncoding as unary_encoding } from "./mechanisms/unary_encoding.mjs";
export { subsetSelection as subset_selection } from "./mechanisms/subset_selection.mjs";
export { setSelection as set_selection } from "./mechanisms/set_selection.mjs";
export { hadamardResponse as hadamard_response } from "./mechanisms/hadamard_response.mjs";
export { localHashing as local_hashing } from "./mechanisms/local_hashing.mjs";
export { textHashing as text_hashing } from "./mechanisms/text_hashing.mjs";
export { dyadicWave as dyadic_wave, squareWave as square_wave } from "./mechanisms/waves.mjs";
export { crossedWave as crossed_wave } from "./mechanisms/crossed_wave.mjs";
export { waveletLaplace as wavelet_laplace } from "./mechanisms/wavelet_laplace.mjs";
