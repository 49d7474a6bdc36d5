"""`ldpflow scheme --from`: the scheme of a second round, which refines the estimates of a landed round."""

from __future__ import annotations

from pathlib import Path

import typer


def follow(files: list[Path], round_: str, aims: list[str], out: Path | None, warehouse: Path) -> None:
    """Write or print the scheme of a second round."""
    from dpcore.rounds.follow_up import scheme_from
    from dpcore.wire.files import write_bytes

    if len(files) != 1:
        raise typer.BadParameter(f"--from needs exactly one scheme file, that of the first round, got {len(files)}")
    if out is not None and out.exists():
        raise typer.BadParameter(f"{out} exists; choose another file name")
    text = scheme_from(files[0], round_, warehouse, aims)
    if out is None:
        print(text, end="")
        return
    write_bytes(out, text.encode())
    print(f"wrote {out}; next, with respondents who have not answered: ldpflow run {out} --after {round_}")
