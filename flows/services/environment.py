"""Environment variables for every process of Prefect that ldpflow starts, in any folder.

Variables of the operator take precedence.  Prefect is imported only if needed: `up` runs without it.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path

from dpcore.rounds.project import Project

HOST = "127.0.0.1"  # where the server listens, unless the project names another address
EVERYWHERE = "0.0.0.0"  # all addresses of this machine
FOLDERS = "LDPFLOW_FOLDERS"  # folders that runs may use, see `permitted_folders`
_SERVER = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",  # no telemetry
    "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1:4200,http://localhost:4200",  # the default allows every page
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",  # the newer pages load an external tracker before login
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",  # a first start migrates SQLite, 20 s on a slow machine
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",  # a restart keeps them
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",  # 1 stalls and, without a server, loses task runs
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    # Loops that wait longer than Prefect's (in brackets), since each turn costs 8 ms of an idle machine.  All still happens.
    "PREFECT_SERVER_SERVICES_LATE_RUNS_LOOP_SECONDS": "15",  # [5] a run is shown as late
    "PREFECT_SERVER_SERVICES_SCHEDULER_RECENT_DEPLOYMENTS_LOOP_SECONDS": "15",  # [5] a changed schedule plans its runs
    "PREFECT_SERVER_SERVICES_PAUSE_EXPIRATIONS_LOOP_SECONDS": "30",  # [5] a paused run gives up
    "PREFECT_SERVER_SERVICES_CLEANUP_RECONCILER_LOOP_SECONDS": "30",  # [5] a worker gets an unanswered message again
    "PREFECT_SERVER_SERVICES_FOREMAN_LOOP_SECONDS": "30",  # [15] a silent worker is shown as offline
    "PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_LOOP_SECONDS": "60",  # [20] tasks of a cancelled run are cancelled
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,orphans",  # logs and artifacts of runs that `cleanup` deletes
}


def host(project: Project | None) -> str:
    """Return the address at which this folder's server listens.

    A variable does not change it: PREFECT_SERVER_API_HOST may be that of another server, in the operator's own profile.
    """
    return (project.host if project is not None else None) or HOST


def reached_at(host: str) -> str:
    """Return the address at which programs on this machine reach what listens at `host`."""
    return HOST if host == EVERYWHERE else host


def is_here(host: str) -> bool:
    """Whether this is an address of this machine; False for a name."""
    with socket.socket() as probe:
        try:
            ipaddress.IPv4Address(host)
            probe.bind((host, 0))
        except (ValueError, OSError):
            return False
    return True


def port(project: Project | None) -> str:
    """Return the port of this folder's server: the environment's, else that of the project's file, else Prefect's own."""
    stated = None if project is None else project.port
    return os.environ.get("PREFECT_SERVER_API_PORT") or str(stated or 4200)


def here(**more: str) -> dict[str, str]:
    """Return the variables for this folder, and more; Prefect's files are in this folder, not in the user's home."""
    home = Path(os.environ.get("PREFECT_HOME", ".prefect")).expanduser().absolute()
    places = {"PREFECT_PROFILES_PATH": str(home / "profiles.toml")}
    return {**_SERVER, **places, **more, **os.environ, "PREFECT_HOME": str(home)}


def settle(**more: str) -> None:
    """Set these variables, and more, in this process."""
    from prefect.context import refresh_global_settings_context

    os.environ.update(here(**more))
    refresh_global_settings_context()
