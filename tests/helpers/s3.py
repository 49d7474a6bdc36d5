"""A server of S3 on this machine, with one bucket, gone at the end; what is put there is in its memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyarrow.fs import S3FileSystem

from tests.helpers.ports import free_port

SECRET = "a-secret-that-lands-nowhere"  # any will do; a test looks for it


@contextmanager
def bucket(name: str) -> Iterator[dict[str, str]]:
    """Start it and yield the variables by which AWS's programs, and ours, find it."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told = {
        "AWS_ACCESS_KEY_ID": f"id-of-{SECRET}",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    try:
        _make(name, told)
        yield told
    finally:
        server.kill()
        server.wait()


def _make(name: str, told: dict[str, str]) -> None:
    store = S3FileSystem(
        access_key=told["AWS_ACCESS_KEY_ID"],
        secret_key=told["AWS_SECRET_ACCESS_KEY"],
        region=told["AWS_DEFAULT_REGION"],
        endpoint_override=told["AWS_ENDPOINT_URL"],
        allow_bucket_creation=True,
    )
    deadline = time.monotonic() + 60
    while True:
        try:
            return store.create_dir(name)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
