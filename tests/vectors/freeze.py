"""Write the frozen vectors: python tests/vectors/freeze.py, for a new wire format or a new case, and never for a test."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from dpcore import wire
from dpcore.conformance.cases import CHANGES, KEY, REPEATS, SECRETS, broken, recorded
from dpcore.errors import RefusedReport
from dpcore.protocol import tokens
from dpcore.protocol.scheme import Scheme
from tests.helpers import client_cases

FOLDER = Path(__file__).parent


def main() -> None:
    for name, text in client_cases.SCHEMES.items():
        scheme = Scheme.from_toml(Scheme.from_toml(text).canonical)
        records = client_cases.RECORDS[name] * REPEATS
        reports = [_report(scheme, record, number) for number, record in enumerate(records)]
        document = {
            "scheme": scheme.canonical,
            "digest": scheme.digest,
            "key": KEY.hex(),
            "tokens": [_token(scheme, secret) for secret in SECRETS],
            "reports": reports,
            "refused_records": client_cases.REFUSED_RECORDS[name],
            "refused_reports": _refused(scheme, [report["content"] for report in reports]),
            "refused_schemes": [text for _, text in broken(scheme, _CHANGED_SCHEMES)],
        }
        (FOLDER / f"{name}.json").write_text(
            json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


def _token(scheme: Scheme, secret: bytes) -> dict[str, Any]:
    token = tokens.token_of(secret, scheme.digest)
    return {"secret": secret.hex(), "token": token, "levels": tokens.public_levels(scheme, token)}


def _report(scheme: Scheme, record: dict[str, Any], number: int) -> dict[str, Any]:
    """The words of report number i are those of the key with label i."""
    secret, round_, content, _ = recorded(scheme, record, number)
    token = None if secret is None else tokens.token_of(secret, scheme.digest)
    return {"record": record, "token": token, "round": round_, "content": content}


def _refused(scheme: Scheme, contents: list[str]) -> list[dict[str, str]]:
    """Reports with one thing changed each, and why they are refused."""
    plain, named = contents[0], next(content for content in contents if '"client"' in content)
    changes = [(named, pattern, put) for pattern, put in _CHANGES] + [
        (plain, pattern, put) for pattern, put in _CHANGES
    ]
    document = json.loads(named)
    for name, answer in document["answers"].items():
        data = tokens.from_text(answer) or b""
        bytes_ = [
            bytes(len(data)),
            b"\xff" * len(data),
            bytes([data[0] ^ 1]) + data[1:],
            data[:1] + b"\xff" * len(data[1:]),
        ]
        odd = [
            "",
            "AA",
            "____",
            f"{answer}A",
            f"{answer}AAAA",
            answer[:-1],
            "_" * len(answer),
            f"{answer[:-1]}-",
            "AAAA",
        ]
        changes += [(named, rf'"{name}":"[^"]*"', f'"{name}":"{put}"') for put in (*map(tokens.to_text, bytes_), *odd)]
        changes.append((named, rf'"{name}":"[^"]*",?', ""))
    changes += [
        (named, '"client":"[^"]*"', f'"client":"{tokens.token_of(bytes([i] * 16), scheme.digest)}"') for i in range(4)
    ]
    found: dict[str, str] = {}
    for content, pattern, put in changes:
        changed = re.sub(pattern, put.replace("\\", "\\\\"), content, count=1)
        try:
            wire.read_report(changed.encode(), scheme)
        except RefusedReport as refused:
            found[changed] = refused.reason
    return [{"content": content, "reason": reason} for content, reason in found.items()]


_CHANGES = [
    ("^.*$", ""),
    ("^.*$", "[]"),
    ("^.*$", "null"),
    ("^.*$", "{}"),
    ("}$", ""),
    ("$", " "),
    ("^", "\ufeff"),
    ("^", " " * 2000),
    ('"format":1', '"format":1.0'),
    ('"format":1', '"format":2'),
    ('"format":1', '"format":"1"'),
    ('"format":1', '"format":true'),
    ('"format":1', '"format":NaN'),
    ('"format":1,', ""),
    ('"format":1', '"format": 1'),
    ('"format":1', '"format":1,"format":1'),
    ('"format":1', '"format":1,"time":0'),
    ('"format":1', '"format":1,"__proto__":{}'),
    ('"format"', '"f\\u006frmat"'),
    ('("scheme":)"."', '"scheme":""'),
    ('"scheme":"."', '"scheme":"'),
    ('"scheme":"...', '"scheme":"000'),
    ('"report":"[^"]*"', '"report":""'),
    ('"report":"[^"]*"', '"report":"AAAAAAAAAAAAAAAAAAAAAA"'),
    ('"report":"[^"]*"', '"report":"AAAAAAAAAAAAAAAAAAAAAB"'),
    ('"report":"[^"]*"', '"report":"AQAAAAAAAAAAAAAAAAAAAA=="'),
    ('"report":"[^"]*"', '"report":"+QAAAAAAAAAAAAAAAAAAAA"'),
    ('"report":"[^"]*"', '"report":null'),
    ('"client":"[^"]*"', '"client":""'),
    ('"client":"[^"]*"', '"client":null'),
    ('"client":"[^"]*"', '"client":"AAAAAAAAAAAAAAAAAAAAAA"'),
    ('"round":"[^"]*"', '"round":"last week"'),
    ('"round":"[^"]*"', '"round":"-1"'),
    ('"round":"[^"]*"', '"round":"é"'),
    ('"round":"[^"]*"', '"round":"2026\\n"'),
    ('"round":"[^"]*"', f'"round":"{"x" * 64}"'),
    ('"round":"[^"]*"', '"round":0'),
    ('"round":("[^"]*"),"answers":(.*)}$', '"answers":{},"round":""}'),
    ('"answers":.*$', '"answers":{}}'),
    ('"answers":.*$', '"answers":[]}'),
    ('"answers":{', '"answers":{"weight":"AA",'),
    ('"answers":{"([a-z]*)":"[^"]*"', '"answers":{"place":7'),
    ('"answers":{"([a-z]*)":"', '"answers":{"coin":"='),
]


_CHANGED_SCHEMES = (
    *CHANGES,
    (r"\n\[attributes", "\n[[attributes"),
    (r"(?s)labels.region(.*)labels.region", r"labels.pet\1labels.pet"),
    (r"(?s)labels.region(.*)labels.region", r"labels.weighted\1labels.weighted"),
    (r"labels\.region", "labels.Region"),
    (r"labels\.region\]", "labels.region]\nepsilon = 1"),
    (r'column = "Region"', 'column = "pet"'),
    (
        r"(?s)labels.version.*categories = \[\n",
        lambda found: found[0] + "".join(f'    "d{i}",\n' for i in range(800)),
    ),
)


if __name__ == "__main__":
    main()
