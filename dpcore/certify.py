"""An audit with its effects: scheme files are read, the certificate is written, the checks land.

What the command line and the Prefect flow both call.  `audit` computes and touches no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from dpcore import warehouse, wire
from dpcore.audit import SchemeAudit, audit_scheme, check_rows, to_json, to_markdown
from dpcore.errors import CalibrationError, SchemeError
from dpcore.scheme import Scheme

DEFAULT_SCHEMES = Path("data/schemes")
_WRITERS = {".md": to_markdown, ".json": to_json}


def scheme_files(folder: Path) -> list[Path]:
    """Return the scheme files of a folder, sorted; raises SchemeError where there are none."""
    files = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    if not files:
        raise SchemeError(f"{folder} holds no .toml files of schemes; name the folder that does")
    return files


def audit_file(file: Path) -> SchemeAudit:
    """Return the audit of the scheme in a file; raises SchemeError, naming the file, where it is refused already."""
    try:
        return audit_scheme(Scheme.from_toml(file))
    except SchemeError as error:
        named = "" if file.name in str(error) else f"{file.name}: "
        raise type(error)(f"{named}{error}") from None


def today() -> str:
    """Return the UTC date."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def page(audits: Sequence[SchemeAudit], day: str) -> str:
    """Return the certificates of some schemes as Markdown; day: when they were made."""
    return to_markdown(audits, day, version("ldpflow"))


def check_target(file: Path) -> None:
    """Raise SchemeError unless a certificate can be written under this name."""
    if file.suffix not in _WRITERS:
        raise SchemeError(f"a certificate is a {' or a '.join(_WRITERS)} file, got {file.name!r}; name one of these")


def write(file: Path, audits: Sequence[SchemeAudit], day: str) -> None:
    """Write the certificates of some schemes, Markdown or JSON by the file's ending."""
    check_target(file)
    wire.write_bytes(file, _WRITERS[file.suffix](audits, day, version("ldpflow")).encode())


def land(file: Path, audit: SchemeAudit, day: str) -> None:
    """Land an audit's rows of `checks`; a second audit of a scheme on a day replaces the first."""
    identifier = warehouse.run_id(audit.digest, day, "audit")
    warehouse.land_checks(file, identifier, pd.DataFrame(check_rows(audit, day)))


def require(audits: Sequence[SchemeAudit]) -> None:
    """Raise CalibrationError, one line, where any promise is broken."""
    broken = [sentence for audit in audits for sentence in audit.broken]
    if broken:
        more = f"; and {len(broken) - 1} more" if len(broken) > 1 else ""
        raise CalibrationError(f"a promise is broken: {broken[0]}{more}; take the scheme out of use until it is mended")
