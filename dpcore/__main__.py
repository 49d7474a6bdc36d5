"""The command `ldpflow`: the command line or, if a package is not installed, one line that names the extra to install."""

from __future__ import annotations

import sys
from typing import Any

from dpcore.errors import installation


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; exit with 1 and one line if a package is missing."""
    try:
        from dpcore.cli import main as command_line

        return command_line(arguments)
    except ModuleNotFoundError as error:
        if (remedy := installation(error.name or "")) is None:
            raise
        sys.stderr.write(f"ldpflow: {str(error.name).partition('.')[0]} is not installed; {remedy}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
