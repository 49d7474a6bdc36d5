"""`make reference`: write every page that is made of the code, and the index of decisions."""

from __future__ import annotations

from tests.programs.reference.pages import ROOT, pages

if __name__ == "__main__":
    for name, text in pages().items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(name)
