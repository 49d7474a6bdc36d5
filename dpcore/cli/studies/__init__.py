"""Commands of studies: `reproduce` runs the figures of source documents, `benchmark NAME` any other study."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, Signature, cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from dpcore.cli.options import DataOption, WarehouseOption, file_of, listed
from dpcore.cli.printing import measure, progress, show_aims, show_lines, show_places
from dpcore.rounds.defaults import DEFAULT_DATA, WORKERS

if TYPE_CHECKING:
    from dpcore.laboratory.benchmarks.option import Option
    from dpcore.laboratory.benchmarks.study import Study

Workers = Annotated[int, typer.Option("--workers", min=1, max=64, help="Number of processes.")]
Again = Annotated[bool, typer.Option("--again", help="Repeat measurements that the study already has.")]
ReportAlone = Annotated[bool, typer.Option("--report", help="Measure nothing; print and draw the newest study.")]


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Figures. Default: all.")] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Measure nothing; list the figures and their processor time.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Use a tenth of the repetitions.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Repeat measurements that the warehouse already has.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Run the tables and figures of the source documents, and draw each with the theoretical values.

    Every figure lands in `benchmarks` when it is finished, so an interrupted run resumes with the next figure.

    Example: ldpflow reproduce beta_histograms warner_survey --quick
    """
    from dpcore.laboratory.benchmarks.reproduce import Reproduce
    from dpcore.laboratory.studies.reproduce import FIGURES

    if list_:
        lines = [(name, figure.document, figure.shows, f"{figure.seconds:g} s") for name, figure in FIGURES.items()]
        show_lines("figures", ("name", "document", "what it shows", "processor"), lines)
        return
    _carry_out(Reproduce(names=tuple(names or FIGURES), quick=quick), warehouse, data, again=again)


class Studies(TyperGroup):
    """The commands of the studies; each is created when it is requested, because its imports take a second."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_studies())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _studies():
            return None
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        alone.command(cmd_name)(_command(cmd_name))
        return typer.main.get_command(alone)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_studies().items()))


def _studies() -> dict[str, str]:
    from dpcore.laboratory.benchmarks import STUDIES

    return STUDIES


def _command(name: str) -> Callable[..., None]:
    """Return a study's command, with an option for each of its fields and the common options."""
    kind: type[Study] = getattr(import_module(f"dpcore.laboratory.benchmarks.{name}"), name.capitalize())
    from dpcore.laboratory.benchmarks.option import options

    declared = options(kind)

    def command(warehouse: Path | None, data: Path, **chosen: Any) -> None:
        how = {flag: chosen.pop(flag) for flag in ("workers", "again", "report") if flag in chosen}
        fields = {field: _read(field, text, declared[field]) for field, text in chosen.items()}
        _carry_out(kind(**fields), warehouse, data, **how)

    parameters = [_parameter(field, *_declared(field, option)) for field, option in declared.items()]
    if kind.is_parallel:
        parameters.append(_parameter("workers", Workers, WORKERS))
    if kind.stands:
        parameters.append(_parameter("again", Again, False))
    parameters += [
        _parameter("report", ReportAlone, False),
        _parameter("warehouse", WarehouseOption, None),
        _parameter("data", DataOption, DEFAULT_DATA),
    ]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    _, _, more = cleandoc(kind.__doc__ or "").partition("\n\n")
    command.__doc__ = f"{_studies()[name]}\n\n{more}"
    return command


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _declared(name: str, option: Option) -> tuple[Any, Any]:
    """Return a field's annotation for typer and its default; a list is a text with commas, empty for all."""
    words, default, kind, shape = option.words, option.default, option.kind, None
    if option.is_list:
        shape = "CLIENTS@EPSILON" if hasattr(kind, "parse") else None
        words, kind = f"{words} Separated by commas.", str
        default = ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in option.default)
        if option.default in ((), option.choices):
            words, default = f"{words} Default: all.", ""
    if option.flag == "":
        return Annotated[kind, typer.Argument(help=words)], default
    return Annotated[kind, typer.Option(option.flag or f"--{name}", help=words, metavar=shape)], default


def _read(name: str, value: Any, option: Option) -> Any:
    """Return an option's value; texts with commas become lists, and an empty text means all if that is the default."""
    if not option.is_list:
        return value
    kind = getattr(option.kind, "parse", option.kind)
    values = listed(value, kind, (option.flag or name).lstrip("-"))
    return option.default if not values and option.default == option.choices else values


def _carry_out(
    study: Study, warehouse: Path | None, data: Path, *, workers: int = 1, again: bool = False, report: bool = False
) -> None:
    """Make the missing measurements, draw the newest study, and print its results."""
    file, figures = file_of(warehouse, data), data / "figures" / study.name
    if not report:
        measure(study.run(file, workers, again=again), goes_on=bool(study.stands))
    outcome = study.report(file)
    with progress("drawing", None):
        pictures = study.draw(file, figures)
    if lines := study.lines(outcome):
        show_lines(study.title, list(study.table), lines)
    if outcome.verdicts:
        show_aims(verdict.line for verdict in outcome.verdicts)
    for remark in study.remarks():
        print(remark)
    show_places(file, figures if pictures else None)
