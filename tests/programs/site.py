"""The site: the tracked Markdown pages under one search, in build/site, to be read from a folder or served by anything.

`make site` lays the pages, and the files of ours that they lead to, in a folder of build at the places they have here, so that
their links are the site's; MkDocs with Material builds it, and refuses a link that leads nowhere.  Nothing is fetched, neither
then nor when it is read.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
BUILD, SITE = ROOT / "build/site-pages", ROOT / "build/site"
LEFT_OUT = (
    "dpcore/results/pages/templates/",
    "data/project/",
    ".github/",
)  # pages that runs make; of a project, but for RUNNING.md; of hosting services
GUIDE = "data/guide"
NAVIGATION = (  # (its name, a page or pages); a page that is not named here is found by the search and by links
    ("Home", "README.md"),
    ("Guide", f"{GUIDE}/README.md"),
    ("Tutorial", f"{GUIDE}/tutorial"),
    ("How-to", f"{GUIDE}/how-to"),
    ("Troubleshooting", f"{GUIDE}/troubleshooting.md"),
    ("Reference", f"{GUIDE}/reference"),
    ("Explanation", f"{GUIDE}/explanation"),
    ("Privacy guarantee", "dpcore/README.md"),
    ("Evidence", "dpcore/laboratory/README.md"),
    ("Data", "data/README.md"),
    ("Collector", "dpcore/collector/README.md"),
    ("Rounds", "flows/README.md"),
    ("Python", "dpcore/estimation/README.md"),
    ("Operation", "data/project/RUNNING.md"),
)
BOOST = {  # of pages' hits in the search, the first that fits: what answers a question comes before why it is so
    "data/guide/explanation/": 4,
    "data/guide/how-to/": 4,
    "data/guide/reference/": 0.7,
    "data/guide/": 2,
    "dpcore/decisions/": 0.4,
    "dpcore/extending/": 0.4,
    "dpcore/": 0.8,
    "tests/": 0.4,
}
_LINK = re.compile(r"\]\(([^)#\s:]+)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_STYLE = """\
.md-typeset table:not([class]) { font-size: 0.72rem; }
.md-typeset pre > code { font-size: 0.68rem; }
.md-typeset img { background: white; }
"""


def tracked() -> list[str]:
    """Return the files of ours, those included that are about to be committed."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    return [
        name for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0") if (ROOT / name).is_file()
    ]


def is_shown(name: str) -> bool:
    """Whether a file is a page of the site."""
    return name.endswith(".md") and (not name.startswith(LEFT_OUT) or name == "data/project/RUNNING.md")


def lay(folder: Path) -> list[str]:
    """Lay the pages and what they lead to in a folder; return the pages' names."""
    files = set(tracked())
    pages = sorted(name for name in files if is_shown(name))
    for name in pages:
        text = (ROOT / name).read_text(encoding="utf-8")
        for link in _LINK.findall(_CODE.sub("", text)):
            target = Path(name).parent / link
            found = Path(*_resolved(target.parts)).as_posix()
            if found in files and found not in pages:
                _copy(found, folder)
            elif found not in files and (ROOT / found).is_dir():
                inside = f"{link.rstrip('/')}/"
                if f"{found}/README.md" in files:
                    text = text.replace(f"]({link})", f"]({inside}README.md)")
        boost = next((boost for place, boost in BOOST.items() if name.startswith(place)), 1)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"---\nsearch:\n  boost: {boost}\n---\n{text}", encoding="utf-8")
    return pages


def configuration(pages: list[str], folder: Path, site: Path) -> dict[str, object]:
    """Return what MkDocs is told."""
    return {
        "site_name": "ldpflow",
        "docs_dir": str(folder),
        "site_dir": str(site),
        "use_directory_urls": False,  # a folder has no server that finds index.html
        "nav": [{name: _entry(place, pages)} for name, place in NAVIGATION if _entry(place, pages)],
        "theme": {
            "name": "material",
            "font": False,  # those of the reader's system: nothing is fetched
            "features": [
                "navigation.indexes",
                "navigation.top",
                "navigation.footer",
                "search.highlight",
                "content.code.copy",
            ],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "blue", "accent": "blue"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "blue", "accent": "blue"},
            ],
        },
        "plugins": ["search", "offline"],
        "markdown_extensions": [
            "tables",
            "attr_list",
            "sane_lists",
            {"toc": {"permalink": True, "slugify": "PYTHON"}},
            "pymdownx.superfences",
            {"pymdownx.highlight": {"anchor_linenums": False}},
        ],
        "extra_css": ["site.css"],
        "extra": {"polyfills": ["iframe-worker.js"], "generator": False},  # ours, in place of one that would be fetched
        "validation": {"anchors": "warn", "unrecognized_links": "warn", "nav": {"omitted_files": "ignore"}},
        "strict": True,
    }


def build(site: Path = SITE, folder: Path = BUILD) -> None:
    """Build the site; raises CalledProcessError where MkDocs refuses."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = lay(folder)
    shutil.copy2(Path(__file__).with_name("iframe-worker.js"), folder)
    (folder / "site.css").write_text(_STYLE, encoding="utf-8")
    told = yaml.safe_dump(configuration(pages, folder, site), sort_keys=False)
    told = told.replace(
        "slugify: PYTHON", "slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"
    )
    settings = folder.with_suffix(".yml")
    settings.write_text(told, encoding="utf-8")
    quiet = {"NO_MKDOCS_2_WARNING": "1", "PATH": "/usr/bin:/bin"}
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--clean", "--config-file", settings],
        check=True,
        env=quiet,
    )


def _resolved(parts: tuple[str, ...]) -> list[str]:
    """The parts of a path without `..`."""
    found: list[str] = []
    for part in parts:
        if part == "..":
            found = found[:-1]
        elif part != ".":
            found.append(part)
    return found


def _copy(name: str, folder: Path) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(ROOT / name, folder / name)


def _entry(place: str, pages: list[str]) -> str | list[str]:
    """A page, or those of a folder, its own first."""
    if place.endswith(".md"):
        return place if place in pages else ""
    return sorted(
        (name for name in pages if name.startswith(f"{place}/")),
        key=lambda name: (not name.endswith("README.md"), name),
    )


def main() -> None:
    build()
    print(f"wrote {SITE.relative_to(ROOT)}/index.html")


if __name__ == "__main__":
    main()
