"""Arguments and options of several commands, their defaults, and the parsing of their values."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from dpcore.rounds.defaults import warehouse_of
from dpcore.rounds.settings import Option, Where, Which, integer, options


def _help_of(declared: type, name: str) -> str:
    return next(option.words for option in options(declared) if option.name == name)


SchemeArgument = Annotated[Path, typer.Argument(help=_help_of(Which, "scheme"))]
RoundOption = Annotated[str | None, typer.Option("--round", help=_help_of(Which, "round"))]
DataOption = Annotated[Path, typer.Option("--data", help=_help_of(Where, "data"))]
LanguageOption = Annotated[
    str, typer.Option(help="Language of the texts about odds: en, de, es, or a TOML file with your own texts.")
]
RecordsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="IN", help="Records: CSV, Parquet, Arrow, JSON lines, Excel and others; - is standard input."
    ),
]
FormatOption = Annotated[
    str, typer.Option("--format", help="If IN is -: the file extension of the format, such as csv or jsonl.gz.")
]
WarehouseOption = Annotated[Path | None, typer.Option("--warehouse", help=_help_of(Where, "warehouse"))]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter `chosen`, of a class of `rounds.settings`, by one option for each field of the class."""
    hints = get_type_hints(command, include_extras=True)
    declared = hints.pop("chosen")

    @wraps(command)
    def called(*arguments: Any, **named: Any) -> None:
        chosen = declared(
            **{option.name: named.pop(option.name) for option in options(declared) if option.name in named}
        )
        command(*arguments, **named, chosen=chosen)

    own = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in signature(command).parameters.values()
        if parameter.name != "chosen"
    ]
    parameters = own + [
        Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=_annotated(option))
        for option in options(declared)
    ]
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _annotated(option: Option) -> Any:
    """Return an option's annotation for typer; integers may be written as 1e6."""
    if option.plain is int:
        return Annotated[option.kind, typer.Option(help=option.words, parser=_integer, metavar="INTEGER")]
    return Annotated[option.kind, typer.Option(help=option.words)]


def _integer(text: str) -> int:
    try:
        return integer(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def file_of(warehouse: Path | None, data: Path) -> Path:
    """Return the DuckDB file that the options name."""
    return warehouse or warehouse_of(data)


def records_of(source: Path, ending: str) -> Path:
    """Return the location of records; standard input, `-`, is copied to memory and never to a disk."""
    if (str(source) == "-") != bool(ending):
        raise typer.BadParameter(
            "--format is for standard input only, which requires it: IN must be -, for example with --format csv"
        )
    if not ending:
        return source
    from dpcore.wire.files import location

    copy = location(f"memory://standard_input/records.{ending.removeprefix('.')}")
    with copy.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return copy


def listed(text: str, kind: Callable[[str], Any], option: str) -> tuple[Any, ...]:
    """Return the parts of a text separated by commas."""
    try:
        return tuple(kind(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        kinds = "numbers" if isinstance(kind, type) else "CLIENTS@EPSILON"
        raise typer.BadParameter(f"{option} must be {kinds} separated by commas, got {text!r}") from None
