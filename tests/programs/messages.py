"""Print a sample of the error messages, to be judged without the guide: `python -m tests.programs.messages`.

A message is a text that dpcore or flows raise with an error for users (DPCoreError, ValueError, TypeError or a subclass), or a
detail of a collector's refusal.
"""

from __future__ import annotations

import argparse
import ast
import random
from pathlib import Path

ROOT = Path(__file__).parents[2]


def error_classes(trees: list[ast.Module]) -> set[str]:
    """Return the names of the errors for users, found by their bases."""
    names = {"DPCoreError", "ValueError", "TypeError"}
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases = {node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases} for node in classes}
    while more := {name for name, above in bases.items() if above & names} - names:
        names |= more
    return names


def messages() -> list[tuple[str, int, str]]:
    """Return (path, line, text) of every message, sorted."""
    paths = [path for package in ("dpcore", "flows") for path in (ROOT / package).rglob("*.py")]
    trees = {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in paths}
    names = error_classes(list(trees.values()))
    found = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                if ast.unparse(node.exc.func).rpartition(".")[2] in names:
                    found.append((path, node.lineno, ": ".join(filter(None, map(_text, node.exc.args)))))
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DETAILS":
                found += [(path, value.lineno, _text(value)) for value in getattr(node.value, "values", ())]
    return sorted(message for message in found if message[2])


def _text(value: ast.expr) -> str:
    """Return a literal text, with the names of its fields; empty for any other expression."""
    if isinstance(value, ast.JoinedStr):
        return ast.unparse(value).lstrip("f").strip("'\"")
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=53)
    options = parser.parse_args()
    everything = messages()
    print(f"{options.count} of {len(everything)} messages")
    for path, line, text in random.Random(options.seed).sample(everything, options.count):
        print(f"{path}:{line}: {text}")
