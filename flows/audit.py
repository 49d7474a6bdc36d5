"""The flow `audit`: certificates of every scheme in Prefect's UI, figures in `checks`; a broken promise fails the run."""

from __future__ import annotations

from pathlib import Path

from prefect.artifacts import create_markdown_artifact

from dpcore.audit import SchemeAudit
from dpcore.rounds import audit_run

from .settings import AuditSettings
from .tasks.stage import WRITES, key, scheduled_day, stage, whole


@stage("enumerate", run_name="enumerate-{file.stem}")
def enumerate_loss(file: Path) -> SchemeAudit:
    """Return the exact privacy loss of the scheme in a file."""
    return audit_run.audit_file(file)


@stage("look-at-reports", run_name="look-at-reports-{audit.name}")
def look_at_reports(audit: SchemeAudit, trials: int) -> SchemeAudit:
    """Return the audit with the empirical results of attacks on reports, drawn with the operating system's randomness."""
    return audit_run.measure(audit, trials)


@stage("show-certificate", run_name="show-{audit.name}")
def show_certificate(audit: SchemeAudit, day: str) -> None:
    """Put a scheme's certificate, with its picture, into Prefect's UI."""
    title = f"{audit.name}, scheme {audit.digest[:16]}, {day}"
    create_markdown_artifact(audit_run.embedded_page(audit, day), key=key(audit.name, "certificate"), description=title)


@stage("land-checks", seconds=WRITES, run_name="land-{audit.name}")
def land_checks(audit: SchemeAudit, warehouse: Path, day: str) -> None:
    """Land a scheme's figures in `checks`."""
    audit_run.land(warehouse, audit, day)


@whole("audit", hours=2)
def audit(settings: AuditSettings = AuditSettings()) -> list[SchemeAudit]:  # noqa: B008 - frozen
    """Enumerate the loss of every scheme, attack its reports, show and land the results; a broken promise fails the run."""
    day, audits = scheduled_day(), []
    for file in audit_run.scheme_files(settings.schemes):
        audits.append(look_at_reports(enumerate_loss(file), settings.trials))
        show_certificate(audits[-1], day)
        land_checks(audits[-1], settings.warehouse, day)
    audit_run.require(audits, audit_run.landed_seeds(settings.warehouse))
    return audits
