"""The command `ldpflow`: the command line or, where this installation lacks a package, one line that names the extra."""

from __future__ import annotations

import sys
from typing import Any

from dpcore.extras import reason


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; exit with 1 and one line where a package is missing."""
    try:
        from dpcore.cli import main as command_line

        return command_line(arguments)
    except ModuleNotFoundError as error:
        if (line := reason(error)) is None:
            raise
        sys.stderr.write(f"ldpflow: {line}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
