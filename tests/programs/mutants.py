"""`make mutants`: bugs are planted in a copy of the checkout, one at a time, and the tests that are named must fail.

The table is `tests/mutants/*.toml`, by room: of each bug its name, the file, the text that is replaced, which stands there
once, what it is replaced by, and the tests that must see it, which are quick ones.  Those with `ci = true` are what `--ci`
plants.  `--sample N --seed S PLACE...` plants N bugs drawn at random instead: constants, comparisons, signs, `and` for `or`,
calls and named arguments left out, guards that never hold, at most two a file; places are folders or files, their tests are the
quick ones of the rooms they lie in, what is frozen, and whatever names their modules.  What it writes can be read again
(`--table FILE`), so that two commits can be asked about the same bugs.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.programs.changed import asked_for

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests/mutants"
DEADLINE = 600  # seconds: what hangs is no test that failed
QUICK = "not slow and not flows and not nightly"


@dataclass(frozen=True)
class Bug:
    """A planted bug.  old stands once in file, a path from the root; tests are files, folders, or one of a file, FILE::NAME."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    ci: bool = False

    def planted(self, root: Path) -> str:
        """Return the file's text with the bug.  Raises ValueError where the text that it replaces is not there, or not once."""
        text = (root / self.file).read_text(encoding="utf-8")
        if (times := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: expected its text once in {self.file}, found it {times} times")
        return text.replace(self.old, self.new)

    def as_toml(self) -> str:
        quoted = {key: _quoted(getattr(self, key)) for key in ("name", "file", "old", "new")}
        lines = [f"{key} = {value}" for key, value in quoted.items()]
        return "\n".join(["[[bug]]", *lines, f"tests = {list(self.tests)}".replace("'", '"'), ""])


def bugs_of(file: Path) -> list[Bug]:
    """Return the bugs of a file of the table."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return [Bug(**{**row, "tests": tuple(row["tests"])}) for row in table["bug"]]


def sampled(places: list[str], count: int, seed: int) -> list[Bug]:
    """Return bugs drawn at random from files, or the Python files of folders, at most two of a file."""
    files = sorted(
        file for place in places for file in ((ROOT / place).rglob("*.py"), [ROOT / place])[place.endswith(".py")]
    )
    found: list[Bug] = []
    rng = random.Random(seed)
    for place in rng.sample([*files, *files], 2 * len(files)):
        text = place.read_text(encoding="utf-8")
        path, planted = str(place.relative_to(ROOT)), [(bug.file, bug.old, bug.new) for bug in found]
        all_of_it = [edit for edit in _edits(text) if text.count(edit[0]) == 1 and (path, *edit) not in planted]
        if all_of_it and len(found) < count:
            old, new = rng.choice(all_of_it)
            own = [
                _tests_of(path),
                "tests/architecture/test_frozen.py",
                *asked_for([path]),
                "tests/architecture/test_conventions.py",
            ]
            tests = tuple(dict.fromkeys(own))
            found.append(Bug(f"{len(found)} {old.strip()} -> {new.strip()}", path, old, new, tests))
    return found


def _tests_of(path: str) -> str:
    """The tests of the room that a file lies in or is; all of them where there is none."""
    top, room, *_ = Path(path).parts
    room = "flows" if top == "flows" else room.removesuffix(".py").strip("_")
    return next((of for of in (f"tests/{room}", f"tests/test_{room}.py") if (ROOT / of).exists()), "tests")


_OTHER = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*", ast.Pow: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip


def _edits(text: str) -> Iterator[tuple[str, str]]:
    """Give (line, line with a bug) for what one operator can change within one line."""
    lines = text.splitlines(keepends=True)

    def spliced(node: ast.AST, new: str, until: ast.AST | None = None) -> tuple[str, str]:
        line, end = lines[node.lineno - 1].encode(), (until.col_offset if until else node.end_col_offset)  # type: ignore[attr-defined]
        return line.decode(), (line[: node.col_offset] + new.encode() + line[end:]).decode()  # type: ignore[attr-defined]

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise | ast.Return):
            if node.test.lineno == node.test.end_lineno:
                yield spliced(node.test, "False")
            continue
        if getattr(node, "lineno", 0) != getattr(node, "end_lineno", -1):
            continue
        match node:
            case ast.Constant(value=bool()):
                yield spliced(node, str(not node.value))
            case ast.Constant(value=int() | float()):
                yield spliced(node, repr(node.value + 1))
            case ast.Compare(ops=[op]) if type(op) in _OTHER:
                yield spliced(node, f"{ast.unparse(node.left)} {_OTHER[type(op)]} {ast.unparse(node.comparators[0])}")
            case ast.BinOp() if type(node.op) in _OTHER and not isinstance(node.left, ast.Constant | ast.JoinedStr):
                yield spliced(node, f"({ast.unparse(node.left)} {_OTHER[type(node.op)]} {ast.unparse(node.right)})")
            case ast.BoolOp():
                yield spliced(node, "(" + f" {_OTHER[type(node.op)]} ".join(map(ast.unparse, node.values)) + ")")
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield spliced(node, ast.unparse(node.operand))
            case ast.Expr(value=ast.Call()):
                yield spliced(node, "pass")
            case ast.Call(args=[first, *_]) if len(node.args) == 1 and not node.keywords:
                yield spliced(node, ast.unparse(first))
            case ast.Call(keywords=[*_, _]):
                for left_out in node.keywords:
                    others = [argument for argument in node.keywords if argument is not left_out]
                    yield spliced(node, ast.unparse(ast.Call(node.func, node.args, others)))


def _quoted(text: str) -> str:
    return (
        "'''\n" + text + "'''"
        if "'''" not in text and text.endswith("\n")
        else '"""' + text.replace("\\", "\\\\") + '"""'
    )


def is_killed(bug: Bug, checkout: Path) -> bool:
    """Plant a bug in a checkout, run its tests, and take it out again.  Raises ValueError where it cannot be planted."""
    place = checkout / bug.file
    planted, honest = bug.planted(checkout), place.read_bytes()

    def write(content: bytes) -> None:
        place.write_bytes(content)
        # Python takes bytecode for current whose source has the same length and was written in the same second.
        Path(cache_from_source(place)).unlink(missing_ok=True)

    try:
        write(planted.encode())
        environment = os.environ | {"PYTHONPATH": str(checkout), "PLANTED_BUG": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        tests = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", QUICK, *bug.tests]
        said = subprocess.run(tests, cwd=checkout, env=environment, capture_output=True, timeout=DEADLINE, check=False)
    except subprocess.TimeoutExpired:
        raise ValueError(f"{bug.name}: its tests did not end within {DEADLINE} s") from None
    finally:
        write(honest)
    if said.returncode not in (0, 1, 2):  # 2: a file of tests cannot be imported any more
        raise ValueError(f"{bug.name}: pytest ended with {said.returncode}: {said.stdout.decode()[-500:]}")
    return said.returncode != 0


def copied(into: Path) -> Path:
    """Copy what git knows of this checkout, as it is now, into a new folder."""
    known = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in known.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
    (into / "ldpflow_flows").symlink_to("flows")  # before what is installed, which is this checkout's
    return into


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("places", nargs="*", help="with --sample: where bugs are planted")
    parser.add_argument("--ci", action="store_true", help="those that .ci/run plants")
    parser.add_argument("--table", type=Path, nargs="*", help="files of bugs, instead of the project's")
    parser.add_argument("--sample", type=int, default=0, help="plant so many at random instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--write", type=Path, help="with --sample: write them to a file of the table's form, and plant none"
    )
    options = parser.parse_args()
    if options.sample:
        bugs = sampled(options.places, options.sample, options.seed)
    else:
        bugs = [bug for file in options.table or sorted(TABLE.glob("*.toml")) for bug in bugs_of(file)]
        bugs = [bug for bug in bugs if bug.ci] if options.ci else bugs
    if options.write:
        options.write.write_text("\n".join(bug.as_toml() for bug in bugs), encoding="utf-8")
        return 0
    with TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        checkouts = [copied(Path(folder, str(number))) for number in range(2)]

        def tried(bug: Bug) -> str:
            checkout = checkouts.pop()
            try:
                word = "killed" if is_killed(bug, checkout) else "ALIVE"
            except ValueError as error:
                word = f"ERROR {error}"
            finally:
                checkouts.append(checkout)
            print(f"{word:8}{bug.file}: {bug.name}", flush=True)
            return word

        words = list(pool.map(tried, bugs))
    print(f"{words.count('killed')} of {len(words)} planted bugs were seen by the tests that must see them")
    return 0 if words.count("killed") == len(words) else 1


if __name__ == "__main__":
    sys.exit(main())
