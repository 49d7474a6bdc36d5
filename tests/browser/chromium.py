"""A real browser without a library: Debian's Chromium, headless, spoken to over its own protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

BINARY = shutil.which("chromium") or shutil.which("chromium-browser")


class Tab:
    """One page: what it fetched, what it complained of, and whatever is asked of it."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._number = socket, 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.do(f"{domain}.enable")

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = self._read()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    def open(self, page: Path | str, width: int) -> None:
        """Load a file, or a page that a server gives, in a window of this width."""
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.do("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def visit(self, url: str, *, until: str, width: int = 1400, height: int = 1000, seconds: float = 120) -> None:
        """Open a page that is built by scripts, and wait until its text holds what it is opened for."""
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.do("Page.navigate", url=url)
        self.wait(until, seconds)

    def wait(self, text: str, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while text not in (found := self.text()):
            assert time.monotonic() < deadline, f"{text!r} did not appear in {found!r}"
            time.sleep(0.5)

    def text(self) -> str:
        return str(self.evaluate("document.body ? document.body.innerText : ''"))

    def click(self, text: str, *, until: str, seconds: float = 120) -> None:
        """Click the last element that says just this, again where the page was being drawn anew, until its text holds that."""
        said, deadline = json.dumps(text), time.monotonic() + seconds
        while until not in (found := self.text()):
            assert time.monotonic() < deadline, f"{until!r} did not appear in {found!r}"
            self.evaluate(
                "[...document.querySelectorAll('*')]"
                f".filter(one => !one.children.length && one.textContent.trim() === {said}).pop()?.click()"
            )
            time.sleep(2)

    def log_in(self, key: str, *, until: str) -> None:
        """Give Prefect's UI the key where it asks for one."""
        self.evaluate("document.querySelector('input[type=password]').focus()")
        self.do("Input.insertText", text=key)
        self.click("Login", until=until)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression; of what is promised, once it is there."""
        result = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def prefer(self, scheme: str, media: str = "screen") -> None:
        """Say what the person who looks prefers, 'light' or 'dark', and on which medium they look."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.do("Emulation.setEmulatedMedia", media=media, features=features)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Save a picture of the whole page, or of what fits the window."""
        shot = self.do("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        return base64.b64decode(self.do("Page.printToPDF", preferCSSPageSize=True)["data"])

    def _read(self) -> dict[str, Any]:
        message = json.loads(self._socket.recv(timeout=180))
        method, told = message.get("method", ""), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        if method == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(told))
        return message


@contextmanager
def tab(profile: Path, *more: str) -> Iterator[Tab]:
    """Start the browser with an empty profile and nothing but this machine to talk to; ended at the end.

    more: switches of Chromium.
    """
    assert BINARY is not None
    switches = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
    switches += ["--remote-debugging-port=0", f"--user-data-dir={profile}", *more, "about:blank"]
    with subprocess.Popen([BINARY, *switches], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            port = _port(profile / "DevToolsActivePort")
            with connect(f"ws://127.0.0.1:{port[0]}{port[1]}", max_size=None, proxy=None, ping_interval=None) as socket:
                socket.send(json.dumps({"id": 0, "method": "Target.getTargets"}))
                targets = json.loads(socket.recv(timeout=60))["result"]["targetInfos"]
            page = next(target["targetId"] for target in targets if target["type"] == "page")
            with connect(
                f"ws://127.0.0.1:{port[0]}/devtools/page/{page}", max_size=None, proxy=None, ping_interval=None
            ) as socket:
                yield Tab(socket)
        finally:
            browser.terminate()


def _port(file: Path) -> list[str]:
    """The port and path that the browser writes down when it is ready."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        lines = file.read_text().split() if file.exists() else []
        if len(lines) == 2:
            return lines
        time.sleep(0.1)
    raise TimeoutError("the browser did not start within a minute")
