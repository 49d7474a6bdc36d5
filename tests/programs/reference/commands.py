"""Every command with its arguments and options, as `--help` has them."""

from __future__ import annotations

import re
from typing import Any

import typer.main

from dpcore.cli import app
from tests.programs.reference import markdown

_BEFORE = """Exit status: 0 done; 1 the input or the data were refused, and one line names what was expected, the
value, and what to do; 2 wrong usage of the command; 130 interrupted. In a project's folder, its `ldpflow.toml` gives the
defaults. `ldpflow --version` shows the version."""


def page() -> str:
    """Return the page."""
    root: Any = typer.main.get_command(app)
    groups = {name: command for name, command in root.commands.items() if hasattr(command, "list_commands")}
    single = {name: command for name, command in root.commands.items() if name not in groups}
    for name, group in groups.items():
        single |= {f"{name} {study}": group.get_command(None, study) for study in group.list_commands(None)}
    shown = [
        (f"[`ldpflow {name}`](#ldpflow-{name.replace(' ', '-')})", _words(each)[0]) for name, each in single.items()
    ]
    parts = [_BEFORE, markdown.table(("command", "what it does"), shown)]
    parts += [part for name, command in single.items() for part in _section(name, command)]
    return markdown.page("Commands", *parts)


def _section(name: str, command: Any) -> list[str]:
    first, *more = _words(command)
    arguments = [each for each in command.params if not each.opts[0].startswith("-")]
    options = [each for each in command.params if each.opts[0].startswith("-") and each.name != "help"]
    told = [f"`{' '.join([f'ldpflow {name}', *map(_argument, arguments)])}`"]
    rows = [(markdown.code(_argument(each)), _what(each)) for each in arguments]
    rows += [(_flags(each), _what(each)) for each in options]
    table = [markdown.table(("argument or option", "what"), rows)] if rows else []
    return [f"## ldpflow {name}", *told, first, *more, *table]


def _words(command: Any) -> list[str]:
    """The paragraphs of its help; an example as code."""
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    return [re.sub(r"^(Examples?): (.*)$", r"\1: `\2`", part) for part in paragraphs]


def _argument(each: Any) -> str:
    name = (each.metavar or each.name).strip("[]").removesuffix("]...").upper()
    many = "..." if each.nargs == -1 else ""
    return f"{name}{many}" if each.required else f"[{name}]{many}"


def _flags(each: Any) -> str:
    return ", ".join(f"`{flag}`" for flag in (*each.opts, *each.secondary_opts))


def _what(each: Any) -> str:
    """Its help, and what it is where nothing is said."""
    told = each.help or ""
    if each.required:
        return f"{told} Needed."
    nothing = each.default in (None, False) or str(each.default) in ("", "()")
    return told if nothing else f"{told} Default: {markdown.code(each.default)}."
