"""What `ldpflow scheme A B` says of two schemes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcore import cli
from dpcore.protocol.revision import Revision, revise
from dpcore.protocol.scheme import Scheme


def against(text: str, *replacements: tuple[str, str]) -> Revision:
    changed = text
    for old, new in replacements:
        assert old in changed
        changed = changed.replace(old, new)
    return revise(Scheme.from_toml(text), Scheme.from_toml(changed))


def test_a_scheme_differs_in_nothing_from_itself(small_text: str) -> None:
    found = against(small_text)
    assert found.same
    assert found.changes == ()
    assert found.verdict == ("the schemes are equal: their rounds are pooled",)


def test_another_epsilon_asks_the_same(small_text: str) -> None:
    found = against(small_text, ("epsilon = 0.5", "epsilon = 2"))
    assert (found.alike, found.apart) == (("side", "colour", "height"), ())
    shown = {(change.where, change.field): (change.before, change.after) for change in found.changes}
    assert shown["colour", "epsilon"] == ("1/2", "2") or shown["colour", "epsilon"] == ("0.5", "2")
    assert shown["", "epsilon per client"][0].startswith("2.5986")
    assert "the digests differ" in found.verdict[0]
    assert not any("not comparable" in line for line in found.verdict)


def test_another_domain_asks_something_else(small_text: str, subtests: pytest.Subtests) -> None:
    for change, apart in [
        (("upper = 2.5", "upper = 3"), "height"),
        (('"green", "blue"]', '"blue", "green"]'), "colour"),
        (("values = [0, 1, 2.5]", "values = [0, 1, 3]"), "colour"),
        (('codes = { 1 = "left", 2 = "right" }', 'codes = { 2 = "left", 1 = "right" }'), "side"),
    ]:
        with subtests.test(change=change, apart=apart):
            found = against(small_text, change)
            assert found.apart == (apart,)
            assert apart not in found.alike
            assert any(line.startswith("not comparable") and line.endswith(f": {apart}") for line in found.verdict)
            assert any(line.where == apart and line.before != line.after for line in found.changes)


def test_sets_and_texts_come_and_change(small_text: str) -> None:
    added = (
        '[attributes.uses]\ntype = "set"\ncategories = ["a", "b", "c"]\nepsilon = 1\n'
        '[attributes.word]\ntype = "text"\nmax_bytes = 8\nepsilon = 1\n'
    )
    with_both = small_text + added
    found = revise(Scheme.from_toml(small_text), Scheme.from_toml(with_both))
    shown = {change.where: change.after for change in found.changes if change.field == "added"}
    assert shown["uses"] == "at most 3 of 3 options, set_selection, epsilon 1"
    assert shown["word"] == "texts of 8 bytes at most, text_hashing, epsilon 1"
    assert against(with_both, ("max_bytes = 8", "max_bytes = 9")).apart == ("word",)
    assert against(with_both, ("max_bytes = 8", 'max_bytes = 8\nalphabet = "ab"')).apart == ("word",)
    assert against(with_both, ('"b", "c"]', '"b", "c"]\nseparator = ","')).apart == ()


def test_attributes_come_and_go(small_text: str) -> None:
    found = against(small_text, ("[attributes.colour]", "[attributes.tint]"))
    assert (found.added, found.removed, found.alike) == (("tint",), ("colour",), ("side", "height"))
    shown = {change.where: (change.field, change.before) for change in found.changes if change.where}
    assert shown["tint"] == ("added", "-")
    assert shown["colour"][0] == "removed"
    assert "3 categories" in shown["colour"][1]


def test_what_is_sent_in_clear_is_told(small_text: str) -> None:
    region = '\n[labels.region]\ncategories = ["north", "south"]\n'
    asked, more = small_text + region, small_text + region.replace('"south"', '"south", "west"')
    schemes = {text: Scheme.from_toml(text) for text in (small_text, asked, more)}
    found = revise(schemes[small_text], schemes[asked])
    (change,) = found.changes
    assert (change.where, change.field, change.before, change.after) == (
        "labels.region",
        "public",
        "-",
        "2 categories",
    )
    assert found.verdict[-1] == "newly public, readable by anybody who sees a report: region"
    assert found.alike == ("side", "colour", "height")
    found = revise(schemes[asked], schemes[more])
    assert [(change.where, change.field, change.after) for change in found.changes] == [
        ("labels.region", "categories", "north, south, west")
    ]
    assert found.in_clear == ("region",)
    found = revise(schemes[asked], schemes[small_text])
    assert (found.in_clear, found.hidden) == ((), ("region",))
    assert found.verdict[-1] == "no longer public: region"
    renamed = Scheme.from_toml(asked + 'column = "Region"\n')
    assert revise(schemes[asked], renamed).in_clear == ()


def test_another_level_is_shown_by_its_integers(small_text: str) -> None:
    found = against(small_text, ("finest_level = 3", "finest_level = 4"))
    shown = {change.field: (change.before, change.after) for change in found.changes if change.where == "height"}
    assert shown["finest_level"] == ("3", "4")
    assert "height" in found.alike


def test_another_name_is_another_scheme_to_the_views(small_text: str) -> None:
    found = against(small_text, ('name = "small"', 'name = "smaller"'))
    assert any("two schemes" in line for line in found.verdict)
    assert found.alike == ("side", "colour", "height")


def test_the_command_prints_the_difference(small_text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / name for name in ("a.toml", "b.toml")]
    for file, upper in zip(files, ("2.5", "3"), strict=True):
        file.write_text(small_text.replace("upper = 2.5", f"upper = {upper}"), encoding="utf-8")
    cli.scheme(files, data=tmp_path)
    said = capsys.readouterr().out
    assert "5/2" in said
    assert "differs: height" in said
    assert not (tmp_path / "bundles").exists()
