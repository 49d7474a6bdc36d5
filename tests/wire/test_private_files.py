"""Files appear whole: for their owner alone from their first byte, and a full disk names them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpcore.wire.files import write_whole


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """A process that keeps nothing from anybody by itself."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_private_file_is_its_owners_while_it_is_written(tmp_path: Path) -> None:
    modes = []

    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            modes.append(beside.stat().st_mode & 0o777)
            file.write(b"reports")

    write_whole(tmp_path / "made" / "reports", write, private=True)
    modes += [(tmp_path / "made" / "reports").stat().st_mode & 0o777, (tmp_path / "made").stat().st_mode & 0o777]
    assert modes == [0o600, 0o600, 0o700]
    write_whole(tmp_path / "tables" / "others", write)
    assert modes[3:] == [0o666]


def test_a_failed_write_leaves_what_was_there_and_a_full_disk_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")

    def write(beside: Path) -> None:
        beside.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "no space")

    with pytest.raises(OSError, match="No space left") as full:
        write_whole(tmp_path / "file", write)
    assert full.value.filename == str(tmp_path / "file")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"before")]
