/**
 * The keys that a canonical scheme may have, as dpcore/protocol/keys.py and the mechanisms declare them: written by
 * tests/helpers/client_keys.py, and held to it.  How reports are estimated is the aggregator's: `estimator` may be any text.
 */

export const TABLES = {
  "scheme": {
    "format": {"type": "int", "least": 0, "most": 1048576},
    "draws": {"type": "int", "least": 0, "most": 1048576},
    "name": {"type": "str", "needed": true},
    "description": {"type": "str", "default": ""},
    "clients": {"type": "int", "least": 1, "most": 1000000000000, "default": 100000},
    "reporting": {"type": "str", "choices": ["all", "one"], "default": "all"},
    "pairs": {"type": "list[list[str]]", "fewest": 0, "default": []},
    "functionals": {"type": "list[str]", "fewest": 0, "default": ["mean", "quantile(0.5)"]},
    "attributes": {"type": "dict", "needed": true},
  },
  "numeric": {
    "type": {"type": "str", "choices": ["numeric", "categorical"], "needed": true},
    "column": {"type": "str"},
    "epsilon": {"type": "Budget", "needed": true},
    "functionals": {"type": "list[str]", "fewest": 0},
    "client": {"type": "dict"},
    "mechanism": {"type": "str", "choices": ["dyadic_wave", "wavelet_laplace", "square_wave"], "needed": true},
    "estimator": {"type": "str"},
    "lower": {"type": "Fraction", "needed": true},
    "upper": {"type": "Fraction", "needed": true},
    "unit": {"type": "str", "default": ""},
    "outside": {"type": "str", "choices": ["clip", "refuse"], "default": "clip"},
    "missing": {"type": "str", "choices": ["refuse"], "default": "refuse"},
    "level_rule": {"type": "str", "choices": ["lepski", "undersmoothed", "fixed"], "default": "lepski"},
    "level": {"type": "int", "least": 0, "most": 20},
  },
  "categorical": {
    "type": {"type": "str", "choices": ["numeric", "categorical"], "needed": true},
    "column": {"type": "str"},
    "epsilon": {"type": "Budget", "needed": true},
    "functionals": {"type": "list[str]", "fewest": 0},
    "client": {"type": "dict"},
    "mechanism": {"type": "str", "choices": ["randomized_response", "hadamard_response", "local_hashing", "subset_selection", "unary_encoding"], "needed": true},
    "estimator": {"type": "str"},
    "categories": {"type": "list[str]", "fewest": 2, "needed": true},
    "codes": {"type": "dict"},
    "values": {"type": "list[Fraction]", "fewest": 1},
    "outside": {"type": "str", "choices": ["refuse", "other"], "default": "refuse"},
    "missing": {"type": "str", "choices": ["refuse", "category"], "default": "refuse"},
  },
  "randomized_response": {
    "design": {"type": "str", "choices": ["two_coin"]},
  },
  "unary_encoding": {},
  "subset_selection": {},
  "hadamard_response": {},
  "local_hashing": {},
  "dyadic_wave": {},
  "square_wave": {},
  "wavelet_laplace": {},
};

export const NAMES_ONE = ["randomized_response"]; // their reports, as pairs need
