"""The key of the server: made once, kept beside what a profile has, for its owner alone."""

from __future__ import annotations

import asyncio
import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prefect.settings import (
    PREFECT_PROFILES_PATH,
    PREFECT_SERVER_CORS_ALLOWED_ORIGINS,
    PREFECT_UI_URL,
    temporary_settings,
)
from starlette.responses import PlainTextResponse

from dpcore.errors import DPCoreError
from ldpflow_flows import server
from ldpflow_flows.services import key, up


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in (key.SERVER, key.CLIENT, "PREFECT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with temporary_settings({PREFECT_PROFILES_PATH: tmp_path / "home/profiles.toml"}):
        yield tmp_path / "home/profiles.toml"


def kept(profiles: Path) -> dict[str, dict[str, str]]:
    found = tomllib.loads(profiles.read_text(encoding="utf-8"))
    return {"active": found["active"], **found["profiles"]}


def test_the_address_is_in_the_profile_while_the_server_is_up(profiles: Path) -> None:
    """Beside the key; afterwards Prefect's commands find no server, and may not start one."""
    made = key.ensure()
    for url in ("http://127.0.0.1:4300/api", "http://127.0.0.2:4300/api", None):
        if url is None:
            assert key.main(["--withdraw"]) == 0
        else:
            key.announce(url)
        profile = kept(profiles)["ephemeral"]
        assert profile.get("PREFECT_API_URL") == url
        assert (profile[key.SERVER], profile["PREFECT_SERVER_EPHEMERAL_ENABLED"]) == (made, "false")


def test_an_operators_address_of_another_server_stays_in_the_profile(profiles: Path) -> None:
    key.ensure()
    key._keep(profiles, "ephemeral", {"PREFECT_API_URL": "https://prefect.example.org/api"})
    for url in ("http://127.0.0.1:4300/api", None):
        key.announce(url)
        assert kept(profiles)["ephemeral"]["PREFECT_API_URL"] == "https://prefect.example.org/api"


def test_it_is_made_once_for_its_owner_alone(profiles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert key.main() == 1
    assert capsys.readouterr().err == "ldpflow: there is no key yet; `make up` creates one\n"
    made = key.ensure()
    user, _, secret = made.partition(":")
    assert (user, len(secret)) == ("ldpflow", 32)
    assert key.ensure() == made
    assert stat.S_IMODE(profiles.stat().st_mode) == 0o600
    assert stat.S_IMODE(profiles.parent.stat().st_mode) == 0o700
    assert list(profiles.parent.iterdir()) == [profiles]
    assert kept(profiles) == {
        "active": "ephemeral",
        "ephemeral": {"PREFECT_SERVER_EPHEMERAL_ENABLED": "true", key.SERVER: made, key.CLIENT: made},
    }
    assert key.main() == 0
    assert capsys.readouterr().out == f"{made}\n"


def test_a_profile_keeps_what_it_has(profiles: Path) -> None:
    profiles.parent.mkdir()
    profiles.write_text(
        'active = "mine"\n[profiles.mine]\nPREFECT_LOGGING_LEVEL = "INFO"\n[profiles.other]\nPREFECT_API_URL = "http://x/api"\n'
    )
    profiles.chmod(0o644)
    made = key.ensure()
    assert kept(profiles) == {
        "active": "mine",
        "mine": {"PREFECT_LOGGING_LEVEL": "INFO", key.SERVER: made, key.CLIENT: made},
        "other": {"PREFECT_API_URL": "http://x/api"},
    }
    assert stat.S_IMODE(profiles.stat().st_mode) == 0o600


def test_a_key_of_the_operators_goes_before(profiles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles.parent.mkdir()
    profiles.write_text(f'active = "mine"\n[profiles.mine]\n{key.CLIENT} = "a:b"\n')
    assert key.ensure() == "a:b"
    assert kept(profiles)["mine"] == {key.SERVER: "a:b", key.CLIENT: "a:b"}
    monkeypatch.setenv(key.SERVER, "c:d")
    assert key.ensure() == "c:d"
    monkeypatch.setenv(key.CLIENT, "e:f")
    with pytest.raises(DPCoreError, match="must be one key, got two"):
        key.ensure()


def test_prefects_folder_is_its_owners(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "prefect.db").touch(mode=0o644)
    up._keep_to_owner(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "prefect.db").stat().st_mode) == 0o600
    home.chmod(0o1777)
    with pytest.raises(up.UpError, match="must be a folder for Prefect only"):
        up._keep_to_owner(home)


def test_the_pages_that_may_ask_are_those_that_people_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_UI_URL", raising=False)
    monkeypatch.delenv("PREFECT_SERVER_CORS_ALLOWED_ORIGINS", raising=False)
    of = "PREFECT_SERVER_CORS_ALLOWED_ORIGINS"
    assert up.environment_of("4300")[of] == "http://127.0.0.1:4300,http://localhost:4300"
    monkeypatch.setenv("PREFECT_UI_URL", "https://prefect.example.org/ui")
    assert up.environment_of("4300")[of].split(",")[2:] == ["https://prefect.example.org"]
    assert os.environ["PREFECT_UI_URL"] == up.environment_of("4300")["PREFECT_UI_URL"]


def test_behind_a_proxy_its_name_and_pages_are_ours() -> None:
    proxy = "https://prefect.example.org"
    origins = ",".join(server.own_origins("4300", proxy))
    with temporary_settings({PREFECT_UI_URL: f"{proxy}/ui", PREFECT_SERVER_CORS_ALLOWED_ORIGINS: origins}):
        app = server.filtered(PlainTextResponse("in"))

    async def ask(**headers: str) -> tuple[int, str]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=proxy, headers=headers) as client:
            answer = await client.get("/")
            return answer.status_code, answer.text

    assert asyncio.run(ask()) == (200, "in")
    assert asyncio.run(ask(Origin=proxy)) == (200, "in")
    assert asyncio.run(ask(Host="127.0.0.1:4300", Origin="http://localhost:4300")) == (200, "in")
    assert asyncio.run(ask(Origin=f"{proxy}.evil.example"))[0] == 403
    assert asyncio.run(ask(Host="prefect.example.org.evil.example"))[0] == 400
