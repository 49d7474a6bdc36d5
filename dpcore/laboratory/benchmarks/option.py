"""An option of a study, declared with its field; it defines the command's option, the form's field, and the check."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from dpcore.errors import SchemeError, check_one_of, check_within

CLIENTS: dict[str, Any] = {"least": 100, "most": 10**12}  # persons
EPSILON: dict[str, Any] = {"least": 0.01, "most": 16}


@dataclass(frozen=True, kw_only=True)
class Option:
    """One field of a study; its kind is that of its default, and a tuple is a list of such, which is given with commas.

    words: what it is.  flag: the command's option, by default the field's name; '' makes it an argument.
    choices: names it may be, any by default.  least, most: of a number.  multiple: it must be a multiple of this.
    """

    default: Any
    words: str
    flag: str | None = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    multiple: int = 1

    @property
    def is_list(self) -> bool:
        return isinstance(self.default, tuple)

    @property
    def kind(self) -> type:
        """What it is, or each in its list."""
        if not self.is_list:
            return type(self.default)
        return type(self.default[0]) if self.default else str

    def check(self, name: str, value: Any) -> None:
        """Raise SchemeError for what it must not be."""
        if self.is_list and self.default and not value:
            raise SchemeError(f"{name} needs at least one, such as {self.default[0]}; got none")
        for item in value if self.is_list else (value,):
            if is_dataclass(item):
                check(item)
            if self.choices:
                check_one_of(self.choices, **{name: item})
            if self.least is not None and self.most is not None:
                check_within(self.least, self.most, **{name: item})
            if self.multiple > 1 and item % self.multiple:
                raise SchemeError(f"{name} must be a multiple of {self.multiple}, got {item}: {self.words}")


def option(default: Any, words: str, **more: Any) -> Any:
    """Return the dataclass field that is declared so; more: as `Option` has it."""
    return field(default=default, metadata={"option": Option(default=default, words=words, **more)})


def options(asked: Any) -> dict[str, Option]:
    """Return field -> its declaration, of a class or of what is asked."""
    return {entry.name: entry.metadata["option"] for entry in fields(asked)}


def check(asked: Any) -> None:
    """Raise SchemeError, in the options' words, for a field that is not what it may be."""
    for name, declared in options(asked).items():
        declared.check((declared.flag or name).lstrip("-"), getattr(asked, name))


@dataclass(frozen=True)
class Place:
    """How many clients, and at which epsilon."""

    clients: int = option(100_000, "Number of clients.", **CLIENTS)
    epsilon: float = option(1.0, "Epsilon, natural-log units.", **EPSILON)

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read CLIENTS@EPSILON; raises ValueError for anything else."""
        clients, _, epsilon = text.partition("@")
        return cls(int(clients), float(epsilon))

    def __str__(self) -> str:
        return f"{self.clients}@{self.epsilon:g}"
