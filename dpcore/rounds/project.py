"""A team's project: a folder whose `ldpflow.toml` says what its rounds are told, when they run, and what `ldpflow up` needs.

Commands in the folder take what it says for their defaults; `ldpflow up` and `ldpflow deploy` put it into a server of Prefect.
A folder without the file is no project: the checkout is one of those, whose defaults are the shipped scheme and its people.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from dpcore.errors import SchemeError
from dpcore.rounds.defaults import DEFAULT_DATA
from dpcore.rounds.defaults import PROJECT as FILE
from dpcore.rounds.settings import Round, Which, options

_SHIPPED = "ldpflow_project"  # where a wheel has what lies at the top here: `prefect.yaml` and `data`
SCHEME = "schemes/survey.toml"
_TEMPLATES = {  # in `data/project`, without a dot before a name: where `ldpflow init` puts each
    "Containerfile": "Containerfile",
    "README.md": "README.md",
    "RUNNING.md": "RUNNING.md",
    "compose.yaml": "compose.yaml",
    "gitignore": ".gitignore",
    "ldpflow.toml": FILE,
    "prefect.toml": "prefect.toml",
    "survey.toml": SCHEME,
    "systemd/ldpflow.service": "systemd/ldpflow.service",
}
_WHOSE = ("clients", "records", "reports")
_OF_ONE_ROUND = ("round", "again", "seed")
_OPTIONS = {option.name: option for option in (*options(Which), *options(Round)) if option.name not in _OF_ONE_ROUND}
_OWN = {
    "schedule": str,
    "time_zone": str,
    "notify": str,
    "notify_as": str,
    "metrics_port": int,
    "folders": list,
    "language": str,
    "collector": dict,
}
SHAPES = ("json", "slack", "teams")  # of what a webhook is told
_KINDS = {str: "a text", Path: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
_CRON_FIELDS = 5


@dataclass(frozen=True)
class Project:
    """What a project's file says.

    told: option of its rounds -> value.  schedule: when the daily round runs, as cron has it; '' for never.  time_zone: of it.
    notify: a webhook; notify_as: how it is told, one of SHAPES.  metrics_port: where Prometheus may ask.
    folders: what runs may use beside what is told.  language: of what people are told of odds.
    collector: options of `ldpflow serve`; None for none.
    None stands for what was not said.
    """

    told: Mapping[str, Any] = field(default_factory=dict)
    schedule: str | None = None
    time_zone: str | None = None
    notify: str | None = None
    notify_as: str | None = None
    metrics_port: int | None = None
    folders: Sequence[str] = ()
    language: str | None = None
    collector: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, folder: Path = Path()) -> Project | None:
        """Return a folder's project, None without one.  Raises SchemeError for a file that is not understood."""
        try:
            said = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except tomllib.TOMLDecodeError as error:
            raise SchemeError(f"{FILE} is no TOML: {error}") from None
        for key, value in said.items():
            kind = _OPTIONS[key].plain if key in _OPTIONS else _OWN.get(key)
            if kind is None:
                raise SchemeError(f"{FILE} has no key {key}; it has {', '.join((*_OPTIONS, *_OWN))}")
            if type(value) is not (str if kind is Path else kind):
                raise SchemeError(f"{FILE}: {key} must be {_KINDS[kind]}, got {value!r}")
        told = {key: value for key, value in said.items() if key in _OPTIONS}
        made = cls(told, **{key: value for key, value in said.items() if key in _OWN})
        made._check()
        return made

    def _check(self) -> None:
        if "scheme" not in self.told:
            raise SchemeError(f'{FILE} must say which scheme is asked, such as scheme = "schemes/survey.toml"')
        if len(whose := [key for key in _WHOSE if key in self.told]) > 1:
            raise SchemeError(f"{FILE}: a round is of one of {', '.join(_WHOSE)}, got {' and '.join(whose)}")
        Round(**{key: value for key, value in self.told.items() if key != "scheme"})  # its numbers' bounds
        if self.schedule and len(self.schedule.split()) != _CRON_FIELDS:
            raise SchemeError(f'{FILE}: schedule must be as cron has it, such as "15 2 * * *", got {self.schedule!r}')
        if self.notify and not self.notify.startswith(("http://", "https://")):
            raise SchemeError(f"{FILE}: notify must be a URL that begins with http:// or https://")  # it is a secret
        if self.notify_as is not None and self.notify_as not in SHAPES:
            raise SchemeError(f"{FILE}: notify_as must be one of {', '.join(SHAPES)}, got {self.notify_as!r}")
        if self.metrics_port is not None and not 0 < self.metrics_port < 1 << 16:
            raise SchemeError(f"{FILE}: metrics_port must be a port between 1 and 65535, got {self.metrics_port}")
        if not all(isinstance(folder, str) for folder in self.folders):
            raise SchemeError(f"{FILE}: folders must be a list of texts, got {self.folders!r}")
        if self.language is not None:
            from dpcore.protocol.odds_text import texts_of

            texts_of(self.language)
        if self.collector is not None and not isinstance(self.collector.get("into"), str):
            raise SchemeError(f'{FILE}: collector must say where it keeps reports, such as into = "data/collected"')
        port = 1 if self.collector is None else self.collector.get("port", 1)
        if type(port) is not int or not 0 < port < 1 << 16:
            raise SchemeError(f"{FILE}: collector: port must be a port between 1 and 65535, got {port!r}")
        try:
            ZoneInfo(self.time_zone or "UTC")
        except (KeyError, ValueError, OSError):
            raise SchemeError(
                f'{FILE}: time_zone must be one such as "Europe/Berlin", got {self.time_zone!r}'
            ) from None

    @property
    def data(self) -> str:
        """Where its rounds are."""
        return str(self.told.get("data", DEFAULT_DATA))

    @property
    def schemes(self) -> str:
        """The folder of its scheme."""
        return str(Path(self.told["scheme"]).parent)

    @property
    def used(self) -> list[str]:
        """The files and folders that its runs may use."""
        named = [self.told[key] for key in ("scheme", "records", "reports", "warehouse", "margins") if key in self.told]
        named += [self.language] if self.language is not None and self.language.endswith(".toml") else []
        kept = [] if self.collector is None else [self.collector["into"]]
        schemes = [self.schemes] if self.schemes != "." else []  # all of the project otherwise
        return list(dict.fromkeys([self.data, *named, *kept, *schemes, *self.folders]))

    def of_rounds(self) -> dict[str, Any]:
        """Return what its rounds are told; whose they are, where that is not said, are those who sent to its collector."""
        if self.collector is None or any(key in self.told for key in _WHOSE):
            return dict(self.told)
        from dpcore.collector.store.sealing import landing
        from dpcore.protocol.scheme import Scheme

        scheme = Scheme.from_toml(Path(self.told["scheme"]))
        return {**self.told, "reports": str(landing(Path(self.collector["into"]), scheme.digest))}

    def defaults(self, arguments: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return command -> option -> value for a command line; one that says whose round it is means no other people."""
        says_whose = any(word.split("=")[0] in ("--seed", *(f"--{key}" for key in _WHOSE)) for word in arguments)
        if arguments[:1] not in (["run"], ["backfill"]):
            rounds = {}
        elif says_whose:
            rounds = {key: value for key, value in self.told.items() if key not in _WHOSE}
        else:
            rounds = self.of_rounds()
        places = {
            key: value for key, value in self.told.items() if key in ("data", "warehouse", "min_clients", "margins")
        }
        others = ("collect", "estimate", "cleanup", "forget", "show", "query", "export", "publish", "audit")
        speaks = {} if self.language is None else {"language": self.language}
        return (
            {"run": rounds, "backfill": rounds}
            | dict.fromkeys(others, places)
            | {"publish": places | speaks, "scheme": speaks}
        )


def start(folder: Path, draft: str | None = None) -> list[Path]:
    """Write a new project and return its files.

    draft: the text of its scheme, by default that of an example.
    Raises SchemeError, with nothing written, where one of the files is there.
    """
    texts = {folder / path: shipped("data", "project", name).read_text("utf-8") for name, path in _TEMPLATES.items()}
    if draft is not None:
        texts[folder / SCHEME] = draft
    if there := [path for path in texts if path.exists()]:
        raise SchemeError(f"{there[0]} is there already; name another folder")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(texts)


def shipped(*parts: str) -> Path:
    """Return a file that ldpflow brings: of this checkout, or of what a wheel installs beside this package."""
    top = Path(__file__).parents[2]
    return next(place for place in (top, top / _SHIPPED) if (place / "prefect.yaml").is_file()).joinpath(*parts)
