"""`make fuzz`: malformed reports, streams and requests, made by the coverage of the decoders and from the OpenAPI.

Whatever comes, a decoder gives one of its reasons, or reports that clients of the scheme can send, in the one spelling; and the
collector answers as its OpenAPI says, without a traceback.  Exit status: 0 all of it was so; 1 not.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RUNS = 150_000  # inputs for the decoders
REQUESTS = 4000  # examples for each path and method, good and bad ones each
MINUTES = 10.0  # after which no more are made
_GO = 25  # of them at a time, of every path in turn


def decoders(runs: int, seed: int, corpus: Path) -> None:
    """Run the decoders on inputs that libFuzzer makes; a failure ends the process with its own status."""
    import atheris

    with atheris.instrument_imports(include=["dpcore.wire", "dpcore.protocol.tokens"]):
        from dpcore import wire  # noqa: F401
        from dpcore.wire import arrow_stream, json_report, parquet_reports

    import dpcore as dp
    from dpcore.errors import InvalidReport, RefusedReport
    from dpcore.protocol.aggregates import Aggregate
    from dpcore.protocol.report import batch_of
    from dpcore.protocol.scheme import Scheme
    from tests.helpers import client_cases

    schemes = [Scheme.from_toml(text) for text in client_cases.SCHEMES.values()]

    def settled(aggregate: Aggregate) -> int:
        """How many reports were counted, or refused for noise that the round's own size makes too rare; for nothing else."""
        assert all(reason.endswith(": beyond honest noise") for reason in aggregate.rejected)
        return aggregate.n + sum(aggregate.rejected.values())

    def one(data: bytes) -> None:
        if not data:
            return
        scheme, content = schemes[data[0] % len(schemes)], data[1:]
        if data[0] // len(schemes) % 2 == 0:
            try:
                report = json_report.read_report(content, scheme)
            except RefusedReport as refused:
                if refused.reason not in json_report.REASONS:
                    raise
                return
            assert json_report.write_report(report, scheme) == content
            assert settled(dp.aggregate(scheme, batch_of([report]))) == 1
        else:
            try:
                rows = arrow_stream.read_stream(content, scheme)
            except InvalidReport:
                return
            taken = rows.where(arrow_stream.judge(rows) == 0)
            file = corpus.parent / "segment.parquet"
            file.write_bytes(arrow_stream.write_segment(scheme, "", [taken.to_bytes()], {}))
            assert settled(dp.aggregate(scheme, parquet_reports.read_reports(file, scheme))) == len(taken)

    options = [
        f"-runs={runs}",
        f"-seed={seed}",
        "-max_len=12000",
        "-rss_limit_mb=4096",
        "-timeout=60",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


def seed_corpus(corpus: Path) -> None:
    """Reports and streams that are taken, and the frozen ones that are refused."""
    import dpcore as dp
    from dpcore import wire
    from dpcore.protocol import tokens
    from dpcore.protocol.report import batch_of
    from dpcore.protocol.scheme import Scheme
    from tests.helpers import client_cases

    corpus.mkdir()
    for number, (name, text) in enumerate(client_cases.SCHEMES.items()):
        vectors = json.loads((ROOT / f"tests/vectors/{name}.json").read_text(encoding="utf-8"))
        contents = [case["content"] for case in vectors["reports"][:6] + vectors["refused_reports"]]
        for place, content in enumerate(contents):
            data = bytes([number]) + content.encode("utf-8", "surrogatepass")
            (corpus / f"{name}-{place}").write_bytes(data)
        scheme = Scheme.from_toml(text)
        token = tokens.token_of(bytes(16), scheme.digest)
        for place, (count, own) in enumerate([(1, None), (3, token), (0, None)]):
            made = [
                dp.Client(scheme, dp.seeded(k), own).report(client_cases.RECORDS[name][0]) for k in range(max(1, count))
            ]
            content = wire.write_stream(batch_of(made[:count] or made), scheme)
            (corpus / f"{name}-stream-{place}").write_bytes(bytes([len(client_cases.SCHEMES) + number]) + content)


def requests(examples: int, seed: int, minutes: float = MINUTES) -> int:
    """Send what schemathesis makes of the OpenAPI to a collector, and return how many requests failed a check."""
    import schemathesis
    from schemathesis.checks import CHECKS, load_all_checks

    from dpcore.collector.http.access_keys import RIGHTS, Access, add_key
    from tests.helpers import collectors
    from tests.helpers.collectors import Sender

    @schemathesis.serializer(collectors.LINES, collectors.STREAM)
    def raw(context: Any, value: Any) -> bytes:
        return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")

    load_all_checks()
    left_out = {  # a report that fits the OpenAPI is refused where no client can send it; what a batch holds is judged below
        "positive_data_acceptance",
        "negative_data_rejection",
    }
    checks = [CHECKS.get_one(name) for name in CHECKS.get_all_names() if name not in left_out]
    failures: list[str] = []
    sent = 0
    with tempfile.TemporaryDirectory() as made:
        keys = Path(made) / "keys.toml"
        secret = add_key(keys, "everything", RIGHTS)
        with collectors.collector(Path(made) / "into", access=Access.read(keys)) as sender:
            api = schemathesis.openapi.from_url(f"http://{collectors.HOST}:{sender.port}/openapi.json")
            own = {"Authorization": f"Bearer {secret}"}
            operations = [found.ok() for found in api.get_all_operations()]

            def send(case: schemathesis.Case) -> None:
                nonlocal sent
                sent += 1
                if "ref" in (case.path_parameters or {}) and sent % 4:
                    case.path_parameters["ref"] = "colours"
                answer = case.call(headers=own)
                try:
                    case.validate_response(answer, checks=checks, headers=own)
                    assert "Traceback" not in answer.text
                    assert answer.status_code != 500
                except (Exception, BaseExceptionGroup) as error:
                    failures.append(f"{case.method} {case.path}: {answer.status_code}: {str(error)[:600]}")

            until = time.monotonic() + 60 * minutes
            for go in range(-(-examples // _GO)):
                for operation, mode in itertools.product(operations, schemathesis.GenerationMode):
                    if time.monotonic() < until:
                        strategy = operation.as_strategy(generation_mode=mode)
                        _run(strategy, send, min(_GO, examples - go * _GO), (seed, go))
            said = Sender(sender.port, secret).get("/metrics").content.decode()
    accepted = [line for line in said.splitlines() if line.startswith("ldpflow_reports_total") and "accepted" in line]
    if any(float(line.split()[-1]) for line in accepted):
        failures.append("a made-up report was accepted")
    print(f"{sent} requests, {len(failures)} failures")
    print("\n".join(dict.fromkeys(failures[:20])))
    return len(failures)


def _run(strategy: Any, send: Callable[[Any], None], examples: int, drawn: tuple[int, int]) -> None:
    import hypothesis
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.errors import Unsatisfiable

    limits = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with contextlib.suppress(Unsatisfiable):  # nothing malformed can be made of a path without parameters
        hypothesis.seed(hash(drawn))(limits(given(strategy)(lambda case: send(case))))()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--examples", type=int, default=REQUESTS)
    options.add_argument("--minutes", type=float, default=MINUTES)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.corpus:
        decoders(given.runs, given.seed, given.corpus)
        return 0
    with tempfile.TemporaryDirectory(prefix="ldpflow-fuzz-") as made:
        corpus = Path(made) / "corpus"
        seed_corpus(corpus)
        words = [
            sys.executable,
            __file__,
            "--corpus",
            str(corpus),
            "--runs",
            str(given.runs),
            "--seed",
            str(given.seed),
        ]
        child = subprocess.run(words, cwd=made, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False)
        print(
            f"decoders: {given.runs} inputs, {'no failure' if child.returncode == 0 else f'status {child.returncode}'}"
        )
    failed = requests(given.examples, given.seed, given.minutes) if given.examples else 0
    return int(bool(child.returncode or failed))


if __name__ == "__main__":
    sys.exit(main())
