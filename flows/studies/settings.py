"""Parameters of the flows of studies: forms built from the options that the studies declare."""

from __future__ import annotations

from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field, create_model

from dpcore.laboratory.benchmarks.accuracy import Accuracy
from dpcore.laboratory.benchmarks.coverage import Coverage
from dpcore.laboratory.benchmarks.option import Option, options
from dpcore.laboratory.benchmarks.option import Place as Declared
from dpcore.laboratory.benchmarks.reproduce import Reproduce
from dpcore.laboratory.benchmarks.study import Study
from dpcore.rounds.defaults import DEFAULT_DATA, warehouse_of

from ..settings import FORM


class StudySettings(BaseModel):
    """The measurement, and its warehouse and pictures."""

    model_config = FORM
    kind: ClassVar[type[Study]]

    again: bool = Field(False, description="Repeat measurements that the warehouse already has.")
    warehouse: Path = Field(warehouse_of(DEFAULT_DATA), description="DuckDB file in which the rows land.")
    figures: Path = Field(DEFAULT_DATA / "figures", description="Folder of the pictures.")

    @property
    def study(self) -> Study:
        """The study with these options."""
        return self.kind(**{name: _plain(getattr(self, name), option) for name, option in options(self.kind).items()})


def _plain(value: Any, option: Option) -> Any:
    if not option.is_list:
        return value
    return tuple(option.kind(**entry.model_dump()) if isinstance(entry, BaseModel) else entry for entry in value)


def _field(option: Option) -> tuple[Any, Any]:
    """The type and default of a field, for pydantic."""
    kind: Any = option.kind
    if is_dataclass(kind):
        kind = Place
    elif option.choices:
        kind = Literal[option.choices]
    elif option.least is not None:
        multiple = option.multiple if option.multiple > 1 else None
        kind = Annotated[kind, Field(ge=option.least, le=option.most, multiple_of=multiple)]
    if not option.is_list:
        return kind, Field(option.default, description=option.words)
    default = [Place(**vars(entry)) if is_dataclass(entry) else entry for entry in option.default]
    return list[kind], Field(default, min_length=1 if default else None, description=option.words)


Place = create_model(
    "Place",
    __config__=FORM,
    __doc__=Declared.__doc__,
    __module__=__name__,
    **{name: _field(option) for name, option in options(Declared).items()},  # type: ignore[call-overload]
)


def form_of(kind: type[Study], name: str) -> type[StudySettings]:
    """Return the form of a study."""
    fields: Any = {name: _field(option) for name, option in options(kind).items()}
    if kind.is_parallel:
        fields["workers"] = (int, Field(2, ge=1, le=64, description="Processes that measure at the same time."))
    fields["figures"] = (Path, Field(DEFAULT_DATA / "figures" / kind.name, description="Folder of the pictures."))
    model = create_model(
        name,
        __base__=StudySettings,
        __doc__=f"Options of the study {kind.name}, and its warehouse and pictures.",
        __module__=__name__,
        **fields,
    )
    model.kind = kind
    return model


BenchmarkSettings = form_of(Accuracy, "BenchmarkSettings")
CoverageSettings = form_of(Coverage, "CoverageSettings")
ReproduceSettings = form_of(Reproduce, "ReproduceSettings")
