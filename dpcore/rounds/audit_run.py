"""An audit with its files: reads scheme files, writes certificates, and lands checks.

For the command line and the Prefect flow; `audit` computes without files.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from math import nan
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dpcore import wire
from dpcore._random import secure
from dpcore.audit import SchemeAudit, audit_scheme, check_rows, to_json, to_markdown
from dpcore.audit import measure as black_box
from dpcore.audit.publication import planned
from dpcore.errors import CalibrationError, SchemeError
from dpcore.protocol.scheme import Scheme
from dpcore.results.checks.check import Check


def scheme_files(folder: Path) -> list[Path]:
    """Return the scheme files of a folder, sorted; raises SchemeError if there are none."""
    files = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    if not files:
        raise SchemeError(f"{folder}: no scheme files (.toml); name another folder")
    return files


def audit_file(file: Path) -> SchemeAudit:
    """Return the exact part of a scheme file's audit; raises SchemeError with the file's name for an invalid scheme."""
    try:
        scheme = Scheme.from_toml(file)
        return replace(audit_scheme(scheme), published=planned(scheme))
    except SchemeError as error:
        named = "" if file.name in str(error) else f"{file.name}: "
        raise type(error)(f"{named}{error}") from None


def measure(audit: SchemeAudit, trials: int) -> SchemeAudit:
    """Return the audit with its black-box part, from reports with the operating system's randomness.

    A scheme of stated channels has no clients of ours, so this part is missing.
    """
    if not Scheme.from_toml(audit.canonical).is_asked:
        return audit
    return black_box(audit, secure(), trials=trials)


def draw(audit: SchemeAudit) -> Any:
    """Return a figure of the black-box part; None without it."""
    if audit.averaging is None:
        return None
    import pandas as pd

    from dpcore.results import plots

    rows = [(a.name, float(a.promised), float(a.finding.loss), a.measured) for a in audit.attributes]
    bounds = pd.DataFrame(
        [(name, promised, epsilon, nan if shown is None else shown.epsilon) for name, promised, epsilon, shown in rows],
        columns=["attribute", "promised", "epsilon", "lower_bound"],
    )
    right, fresh = audit.averaging.right, audit.averaging.fresh
    averaged = pd.DataFrame({"round": range(1, len(right) + 1), "right": right, "fresh": fresh})
    figure, (first, second) = plots.new_panels(
        2,
        title=f"{audit.name}: attacks on reports",
        subtitle=f"scheme {audit.digest[:16]}, {audit.averaging.people} clients",
        width=5.6,
        height=plots.height_for(len(rows)),
    )
    plots.plot_audit(bounds, first)
    plots.plot_averaging(averaged, second)
    return figure


def page(audits: Sequence[SchemeAudit], day: str, pictures: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the certificates of some schemes as Markdown; day: of the audit; pictures: scheme -> path."""
    return to_markdown(audits, day, version("ldpflow"), pictures)


def embedded_page(audit: SchemeAudit, day: str) -> str:
    """Return a scheme's certificate as Markdown with an embedded picture."""
    from dpcore.results import plots

    figure = draw(audit)
    encoded = "" if figure is None else base64.b64encode(plots.png(figure)).decode()
    return page([audit], day, {audit.name: f"data:image/png;base64,{encoded}"} if encoded else {})


def check_target(file: Path) -> None:
    """Raise SchemeError unless the name is valid for a certificate."""
    if file.suffix not in (".md", ".json"):
        raise SchemeError(f"certificate {file.name!r}: must be a .md or .json file; choose another name")


def write(file: Path, audits: Sequence[SchemeAudit], day: str) -> list[Path]:
    """Write the certificates of some schemes as Markdown or JSON with pictures in the same folder; return the files."""
    check_target(file)
    written, names = [], {}
    for audit in audits:
        figure = draw(audit)
        if figure is not None:
            from dpcore.results import plots

            names[audit.name] = f"{file.stem}-{audit.name}.svg"
            written.append(file.with_name(names[audit.name]))
            wire.write_bytes(written[-1], plots.svg(figure).encode())
    content = page(audits, day, names) if file.suffix == ".md" else to_json(audits, day, version("ldpflow"))
    wire.write_bytes(file, content.encode())
    return [file, *written]


def land(file: Path, audit: SchemeAudit, day: str) -> int:
    """Land an audit's rows of `checks` and return their number; a second audit of a scheme on a day replaces the first.

    One of the checks, `landed_seeds`, is about the warehouse file.
    """
    import pandas as pd

    from dpcore.results import warehouse

    identifier = warehouse.run_id(audit.digest, day, "audit")
    seeds = landed_seeds(file)
    detail = "runs on real data with a stored seed; a known seed reveals the noise and so the records"
    check = Check("landed_seeds", seeds == 0, float(seeds), 0.0, detail)
    rows = pd.DataFrame([*check_rows(audit, day), check._asdict()])
    warehouse.land_checks(file, identifier, rows)
    return len(rows)


def landed_seeds(file: Path) -> int:
    """Return the number of runs on real data with a seed in a warehouse; 0 without a warehouse."""
    if not file.exists():
        return 0
    from dpcore.results import warehouse

    counted = warehouse.query(file, "select count(*) as n from runs where seed is not null and source <> 'simulated'")
    return int(counted["n"][0])


def require(audits: Sequence[SchemeAudit], seeds: int = 0) -> None:
    """Raise CalibrationError, in one line, if a check of an audit fails; seeds: number of landed runs on real data with one."""
    broken = [sentence for audit in audits for sentence in audit.broken]
    if seeds:
        broken.append(f"the warehouse has the seeds of {seeds} runs on real data, which reveal their noise")
    if broken:
        more = f"; and {len(broken) - 1} more" if len(broken) > 1 else ""
        raise CalibrationError(f"audit failed: {broken[0]}{more}; do not use the scheme until this is fixed")
