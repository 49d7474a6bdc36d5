"""Arguments and options that several commands have, with their defaults, and how text is read from them."""

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


def _says(declared: type, name: str) -> str:
    return next(option.words for option in options(declared) if option.name == name)


SchemeArgument = Annotated[Path, typer.Argument(help=_says(Which, "scheme"))]
RoundOption = Annotated[str | None, typer.Option("--round", help=_says(Which, "round"))]
DataOption = Annotated[Path, typer.Option("--data", help=_says(Where, "data"))]
LanguageOption = Annotated[
    str, typer.Option(help="Of what people are told of odds: en, de, es, or a TOML file of your own texts.")
]
RecordsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="IN", help="Records: CSV, Parquet, Arrow, JSON lines, Excel and others; - is standard input."
    ),
]
FormatOption = Annotated[
    str, typer.Option("--format", help="With - for IN: the ending that such a file has, such as csv or jsonl.gz.")
]
WarehouseOption = Annotated[Path | None, typer.Option("--warehouse", help=_says(Where, "warehouse"))]


def taken_apart(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameter `chosen`, of a class of `rounds.settings`, is an option for each of its fields."""
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
    """An option's type as typer reads it; numbers may be 1e6."""
    if option.plain is int:
        return Annotated[option.kind, typer.Option(help=option.words, parser=_integer, metavar="INTEGER")]
    return Annotated[option.kind, typer.Option(help=option.words)]


def _integer(text: str) -> int:
    try:
        return integer(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def file_of(warehouse: Path | None, data: Path) -> Path:
    """The DuckDB file that the options name."""
    return warehouse or warehouse_of(data)


def records_of(source: Path, ending: str) -> Path:
    """Return where records are; those of standard input, `-`, are copied to memory, never to a disk."""
    if (str(source) == "-") != bool(ending):
        raise typer.BadParameter(
            "--format goes with standard input, -, and standard input needs it, such as --format csv"
        )
    if not ending:
        return source
    from dpcore.wire.files import location

    copy = location(f"memory://standard_input/records.{ending.removeprefix('.')}")
    with copy.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return copy


def listed(text: str, kind: Callable[[str], Any], option: str) -> tuple[Any, ...]:
    """The parts of a text separated by commas."""
    try:
        return tuple(kind(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        kinds = "numbers" if isinstance(kind, type) else "CLIENTS@EPSILON"
        raise typer.BadParameter(f"{option} must be {kinds} separated by commas, got {text!r}") from None
