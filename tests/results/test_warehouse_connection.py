"""Opening the warehouse: locks, missing files, and what a reader may do; two processes where it takes two."""

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from dpcore.errors import WarehouseError
from dpcore.laboratory import landing
from dpcore.results.warehouse import open_for_reading, open_for_writing
from dpcore.wire import locks

# Holds the file for a number of seconds, within a transaction.
HOLDER = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("begin")
connection.execute("insert into rejects select '0123456789abcdef', 'half done', 1, 0")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def warehouse(fresh):
    return str(fresh)


@pytest.fixture
def hold(warehouse):
    started = []

    def start(seconds):
        process = subprocess.Popen([sys.executable, "-c", HOLDER, warehouse, str(seconds)], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
def test_a_file_locked_by_another_process_is_waited_for_and_its_holder_named(warehouse, hold, opening):
    process = hold(60)
    began = time.monotonic()
    holder = rf"locked by .*\(PID {process.pid}\)"
    with pytest.raises(WarehouseError, match=holder) as caught, opening(warehouse, patience=0.3):
        pass
    assert 0.3 <= time.monotonic() - began < 30
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
def test_a_file_let_go_in_time_is_opened(warehouse, hold, opening):
    hold(0.4)
    with opening(warehouse, patience=20) as connection:
        assert connection.execute("select count(*) from runs").fetchone() == (0,)


def test_who_waits_says_once_for_whom(warehouse, hold, caplog, monkeypatch):
    monkeypatch.setattr(locks, "_UNSAID", 0.1)  # not to wait for a whole second
    process = hold(0.5)
    with open_for_writing(warehouse):
        pass
    [said] = caplog.records
    assert re.fullmatch(rf".*warehouse.duckdb: locked by .* \(PID {process.pid}\); waiting", said.getMessage())


def test_a_thread_that_asks_does_not_let_another_process_in(warehouse):
    """A process that closes any handle to a file drops its own locks of it, POSIX says."""
    with open_for_writing(warehouse) as connection:
        connection.execute("begin")
        with (
            pytest.raises(WarehouseError, match="a connection of this process"),
            open_for_reading(warehouse, patience=0),
        ):
            pass
        other = subprocess.run([sys.executable, "-c", HOLDER, warehouse, "0"], capture_output=True, text=True)
        assert "Could not set lock" in other.stderr
    with open_for_reading(warehouse), open_for_reading(warehouse):
        other = subprocess.run([sys.executable, "-c", HOLDER, warehouse, "0"], capture_output=True, text=True)
        assert "Could not set lock" in other.stderr


def test_a_study_lets_go_between_its_pieces(warehouse):
    """Hours are measured, and the file is held for each insert alone."""
    row = {"study": "s", "method": "m", "parameters": "", "target": "t", "clients": 1, "epsilon": 1.0, "metric": "x"}
    frames = (
        pd.DataFrame([row | {"repetitions": 1, "value": value, "low": None, "high": None, "version": "0"}])
        for value in (1.0, 2.0)
    )

    def measured():
        for frame in frames:
            with open_for_writing(warehouse, patience=0):
                pass
            yield frame

    for _ in landing.landed(Path(warehouse), 2, measured(), None):
        with open_for_writing(warehouse, patience=0):
            pass


def test_a_killed_writer_leaves_the_file_free_at_once_and_whole(warehouse, hold):
    process = hold(60)
    process.kill()
    process.wait()
    with open_for_writing(warehouse, patience=0) as connection:
        assert connection.execute("from rejects").fetchall() == []


def test_a_writer_waits_for_a_reader_of_the_same_process(warehouse):
    with (
        open_for_reading(warehouse),
        pytest.raises(WarehouseError, match="a connection of this process"),
        open_for_writing(warehouse, patience=0.2),
    ):
        pass
    with open_for_writing(warehouse, patience=0.2):
        pass


@pytest.mark.slow
def test_threads_write_one_after_the_other(warehouse):
    def note(number):
        with open_for_writing(warehouse) as connection:
            connection.execute("insert into rejects select '0123456789abcdef', ?, 1, 0", [f"reason {number}"])

    threads = [threading.Thread(target=note, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_for_reading(warehouse) as connection:
        assert connection.execute("select count(*) from rejects").fetchone() == (6,)


def test_a_thread_that_waits_too_long_says_so(warehouse):
    with (
        open_for_writing(warehouse),
        pytest.raises(WarehouseError, match="another thread of this process"),
        open_for_writing(warehouse, patience=0.1),
    ):
        pass
    with open_for_writing(warehouse, patience=0.1):
        pass


def test_the_writer_lock_is_given_back_after_a_failure(tmp_path, warehouse):
    (tmp_path / "text").write_text("not a warehouse")
    for _ in range(2):
        with (
            pytest.raises(WarehouseError, match="not a DuckDB file"),
            open_for_writing(tmp_path / "text", patience=0.1),
        ):
            pass
    with open_for_writing(warehouse, patience=0.1):
        pass


def test_a_missing_file_says_what_to_do_and_is_not_created(tmp_path):
    path = tmp_path / "none.duckdb"
    with pytest.raises(WarehouseError, match="run `ldpflow run` first"), open_for_reading(path):
        pass
    assert not path.exists()


@pytest.mark.slow
def test_a_database_without_tables_is_not_readable_but_becomes_a_warehouse(tmp_path):
    path = tmp_path / "empty.duckdb"
    duckdb.connect(path).close()
    with pytest.raises(WarehouseError, match="run `ldpflow run` first"), open_for_reading(path):
        pass
    with open_for_writing(path):
        pass
    with open_for_reading(path) as connection:
        assert connection.execute("select count(*) from runs").fetchone() == (0,)


def test_an_empty_file_is_somebody_elses(tmp_path):
    path = tmp_path / "empty"
    path.touch()
    for opening in (open_for_writing, open_for_reading):
        with pytest.raises(WarehouseError, match="an empty file"), opening(path):
            pass
    assert path.stat().st_size == 0


def test_a_warehouse_appears_whole_and_leaves_no_draft(created):
    assert [file.name for file in created.parent.iterdir()] == ["warehouse.duckdb"]


CREATOR = """
import sys, time
from dpcore.results.warehouse import open_for_writing
time.sleep(max(0.0, float(sys.argv[2]) - time.time()))
with open_for_writing(sys.argv[1]) as connection:
    connection.execute("insert into rejects select '0123456789abcdef', ?, 1, 0", [sys.argv[3]])
"""


@pytest.mark.slow
def test_a_file_system_without_links_has_warehouses_too(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    with open_for_writing(tmp_path / "warehouse.duckdb") as connection:
        assert connection.execute("select count(*) from runs").fetchone() == (0,)
    assert [file.name for file in tmp_path.iterdir()] == ["warehouse.duckdb"]


@pytest.mark.slow
def test_processes_that_create_the_same_warehouse_at_once_share_it(tmp_path):
    path, start = tmp_path / "warehouse.duckdb", str(time.time() + 1.5)
    processes = [subprocess.Popen([sys.executable, "-c", CREATOR, path, start, name]) for name in "abc"]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    with open_for_reading(path) as connection:
        assert connection.execute("select reason from rejects order by 1").fetchall() == [("a",), ("b",), ("c",)]
    assert [file.name for file in tmp_path.iterdir()] == ["warehouse.duckdb"]


def test_a_folder_and_an_impossible_parent_are_refused(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "warehouse.duckdb"):
        with pytest.raises(WarehouseError) as caught, open_for_writing(path, patience=0.1):
            pass
        assert "\n" not in str(caught.value)


def test_errors_inside_the_block_are_one_line_and_others_pass(warehouse):
    with pytest.raises(WarehouseError, match="Catalog Error") as caught, open_for_writing(warehouse) as connection:
        connection.execute("select *\nfrom nowhere")
    assert "\n" not in str(caught.value)
    with pytest.raises(KeyError), open_for_reading(warehouse):
        raise KeyError("passes through")


@pytest.mark.parametrize(
    "sql",
    [
        "delete from runs",
        "create table more (a integer)",
        "copy runs to 'runs.csv'",
        "attach 'other.duckdb'",
        "set threads = 1",
        "from read_csv('/etc/hostname')",
        "install httpfs",
        "load httpfs",
    ],
)
def test_a_reader_changes_nothing_and_sees_no_other_file(warehouse, sql):
    with pytest.raises(WarehouseError), open_for_reading(warehouse) as connection:
        connection.execute(sql).fetchall()


def test_no_extension_is_ever_fetched(warehouse):
    for opening in (open_for_writing, open_for_reading):
        with opening(warehouse) as connection:
            settings = connection.execute(
                "select distinct value from duckdb_settings() "
                "where name in ('autoinstall_known_extensions', 'autoload_known_extensions')"
            ).fetchall()
        assert settings == [("false",)]
