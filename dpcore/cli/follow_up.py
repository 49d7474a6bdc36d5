"""A second round, as `ldpflow scheme --from` makes its scheme: what it asks is what a landed round left open."""

from __future__ import annotations

from pathlib import Path

import typer


def follow(files: list[Path], round_: str, aims: list[str], out: Path | None, warehouse: Path) -> None:
    """Write or print the scheme that asks what a landed round left open."""
    from dpcore.rounds.follow_up import scheme_from
    from dpcore.wire.files import write_bytes

    if len(files) != 1:
        raise typer.BadParameter(f"--from takes one scheme file, that of the first round, got {len(files)}")
    if out is not None and out.exists():
        raise typer.BadParameter(f"{out} exists; name a new file")
    text = scheme_from(files[0], round_, warehouse, aims)
    if out is None:
        print(text, end="")
        return
    write_bytes(out, text.encode())
    print(f"wrote {out}; next, with people who have not answered: ldpflow run {out} --after {round_}")
