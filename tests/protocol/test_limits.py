"""What a scheme cannot say is refused by the limit that it meets, with what to do."""

from __future__ import annotations

import pytest

from dpcore.errors import SchemeError
from dpcore.protocol.scheme import Scheme

HEAD = 'name = "s"\n[attributes.a]\n'
MANY = ", ".join(f'"c{place}"' for place in range(10_001))
STATED = 'type = "categorical"\ncategories = ["yes", "no"]\nmechanism = "stated"\nform = "forced_response"\n'
BEYOND = {
    f'type = "categorical"\nepsilon = 1\ncategories = [{MANY}]': "categories must be at most 10,000, got 10,001",
    'type = "numeric"\nepsilon = 1\nlower = 0\nupper = 1e100': "upper must be a number with at most 40 digits and two in",
    STATED
    + "rates = { yes = 0.1234567890123456789, no = 0.1 }": "a common denominator of at most 2\\^62.*fewer digits",
    'type = "boolean"\nepsilon = 1\ncategories = ["no", "yes"]': 'categories needs type = "categorical", got',
    'type = "bool"\nepsilon = 1': "type must be one of .*boolean",
}


def test_the_limit_that_was_met_is_named(subtests: pytest.Subtests) -> None:
    for text, message in BEYOND.items():
        with subtests.test(message=message), pytest.raises(SchemeError, match=message):
            Scheme.from_toml(f"{HEAD}{text}\n")
