"""A project: a folder whose `ldpflow.toml` has the options of its rounds, their schedule and the settings of `ldpflow up`.

Commands in the folder use them as defaults; `ldpflow up` and `ldpflow deploy` pass them to a Prefect server.  A folder without
the file, such as the checkout, is not a project: there the defaults are the shipped scheme and its simulated clients.
"""

from __future__ import annotations

import ipaddress
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

_SHIPPED = "ldpflow_project"  # folder in a wheel for `prefect.yaml` and `data`, which are at the top of the checkout
SCHEME = "schemes/survey.toml"
_TEMPLATES = {  # file in `data/project` -> its place in a new project
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
    "host": str,
    "port": int,
    "folders": list,
    "language": str,
    "collector": dict,
}
SHAPES = ("json", "slack", "teams")  # formats of a webhook's messages
_KINDS = {str: "a text", Path: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
_CRON_FIELDS = 5


@dataclass(frozen=True)
class Project:
    """The settings in a project's file; None for missing ones.

    options: option of its rounds -> value.  schedule: of the daily round, in cron syntax; '' for never.  time_zone: of the
    schedule.  notify: URL of a webhook; notify_as: format of its messages, one of SHAPES.  metrics_port: for Prometheus.
    host, port: where the Prefect server listens.  folders: additional folders that runs may use.  language: of the
    descriptions of odds.  collector: options of `ldpflow serve`.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    schedule: str | None = None
    time_zone: str | None = None
    notify: str | None = None
    notify_as: str | None = None
    metrics_port: int | None = None
    host: str | None = None
    port: int | None = None
    folders: Sequence[str] = ()
    language: str | None = None
    collector: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, folder: Path = Path()) -> Project | None:
        """Return the project of a folder, None without one.  Raises SchemeError for an invalid file."""
        try:
            content = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except tomllib.TOMLDecodeError as error:
            raise SchemeError(f"{FILE}: not valid TOML: {error}") from None
        for key, value in content.items():
            kind = _OPTIONS[key].plain if key in _OPTIONS else _OWN.get(key)
            if kind is None:
                raise SchemeError(f"{FILE}: unknown key {key}; its keys are {', '.join((*_OPTIONS, *_OWN))}")
            if type(value) is not (str if kind is Path else kind):
                raise SchemeError(f"{FILE}: {key} must be {_KINDS[kind]}, got {value!r}")
        chosen = {key: value for key, value in content.items() if key in _OPTIONS}
        project = cls(chosen, **{key: value for key, value in content.items() if key in _OWN})
        project._check()
        return project

    def _check(self) -> None:
        if "scheme" not in self.options:
            raise SchemeError(f'{FILE}: no scheme; add a line such as scheme = "schemes/survey.toml"')
        if len(sources := [key for key in _WHOSE if key in self.options]) > 1:
            raise SchemeError(f"{FILE}: use one of {', '.join(_WHOSE)}, got {' and '.join(sources)}")
        Round(**{key: value for key, value in self.options.items() if key != "scheme"})  # its numbers' bounds
        if self.schedule and len(self.schedule.split()) != _CRON_FIELDS:
            raise SchemeError(f'{FILE}: schedule must be in cron syntax, such as "15 2 * * *", got {self.schedule!r}')
        if self.notify and not self.notify.startswith(("http://", "https://")):
            raise SchemeError(f"{FILE}: notify must be a URL that begins with http:// or https://")  # the URL is secret
        if self.notify_as is not None and self.notify_as not in SHAPES:
            raise SchemeError(f"{FILE}: notify_as must be one of {', '.join(SHAPES)}, got {self.notify_as!r}")
        if self.host is not None and not _is_host(self.host):
            raise SchemeError(
                f'{FILE}: host must be an IPv4 address of this machine, such as "127.0.0.1", got {self.host!r}'
            )
        for name, value in (("port", self.port), ("metrics_port", self.metrics_port)):
            if value is not None and not 0 < value < 1 << 16:
                raise SchemeError(f"{FILE}: {name} must be a port between 1 and 65535, got {value}")
        if not all(isinstance(folder, str) for folder in self.folders):
            raise SchemeError(f"{FILE}: folders must be a list of texts, got {self.folders!r}")
        if self.language is not None:
            from dpcore.protocol.odds import texts_of

            texts_of(self.language)
        if self.collector is not None and not isinstance(self.collector.get("into"), str):
            raise SchemeError(f'{FILE}: collector needs a folder for reports, such as into = "data/collected"')
        port = 1 if self.collector is None else self.collector.get("port", 1)
        if type(port) is not int or not 0 < port < 1 << 16:
            raise SchemeError(f"{FILE}: collector: port must be a port between 1 and 65535, got {port!r}")
        try:
            ZoneInfo(self.time_zone or "UTC")
        except (KeyError, ValueError, OSError):
            raise SchemeError(
                f'{FILE}: time_zone must be a name such as "Europe/Berlin", got {self.time_zone!r}'
            ) from None

    @property
    def data(self) -> str:
        """The data folder of its rounds."""
        return str(self.options.get("data", DEFAULT_DATA))

    @property
    def schemes(self) -> str:
        """The folder of its scheme."""
        return str(Path(self.options["scheme"]).parent)

    @property
    def used(self) -> list[str]:
        """The files and folders that its runs may use."""
        keys = ("scheme", "records", "reports", "warehouse", "margins")
        files = [self.options[key] for key in keys if key in self.options]
        files += [self.language] if self.language is not None and self.language.endswith(".toml") else []
        collected = [] if self.collector is None else [self.collector["into"]]
        schemes = [self.schemes] if self.schemes != "." else []  # "." would permit the whole project
        return list(dict.fromkeys([self.data, *files, *collected, *schemes, *self.folders]))

    def of_rounds(self) -> dict[str, Any]:
        """Return the options of its rounds; the default source are the reports that its collector has sealed."""
        if self.collector is None or any(key in self.options for key in _WHOSE):
            return dict(self.options)
        from dpcore.collector.store.sealing import landing
        from dpcore.protocol.scheme import Scheme

        scheme = Scheme.from_toml(Path(self.options["scheme"]))
        return {**self.options, "reports": str(landing(Path(self.collector["into"]), scheme.digest))}

    def defaults(self, arguments: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return command -> option -> default for a command line; a source in the command line replaces the project's."""
        has_source = any(word.split("=")[0] in ("--seed", *(f"--{key}" for key in _WHOSE)) for word in arguments)
        if arguments[:1] not in (["run"], ["backfill"]):
            rounds = {}
        elif has_source:
            rounds = {key: value for key, value in self.options.items() if key not in _WHOSE}
        else:
            rounds = self.of_rounds()
        places = {
            key: value for key, value in self.options.items() if key in ("data", "warehouse", "min_clients", "margins")
        }
        others = ("collect", "estimate", "cleanup", "forget", "show", "query", "export", "publish", "audit")
        language = {} if self.language is None else {"language": self.language}
        return (
            {"run": rounds, "backfill": rounds}
            | dict.fromkeys(others, places)
            | {"publish": places | language, "scheme": language}
        )


def _is_host(text: str) -> bool:
    """Whether this is an IPv4 address that a machine can have, or 0.0.0.0, which means all of its addresses."""
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return not address.is_multicast and (address.is_unspecified or not address.is_reserved)


def start(folder: Path, draft: str | None = None) -> list[Path]:
    """Write a new project and return its files.

    draft: the text of its scheme; the default is an example.
    Raises SchemeError, with nothing written, if one of the files exists.
    """
    texts = {folder / path: shipped("data", "project", name).read_text("utf-8") for name, path in _TEMPLATES.items()}
    if draft is not None:
        texts[folder / SCHEME] = draft
    if there := [path for path in texts if path.exists()]:
        raise SchemeError(f"{there[0]}: already exists; name another folder")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(texts)


def shipped(*parts: str) -> Path:
    """Return a file that comes with ldpflow, from the checkout or the installed wheel."""
    top = Path(__file__).parents[2]
    return next(place for place in (top, top / _SHIPPED) if (place / "prefect.yaml").is_file()).joinpath(*parts)
