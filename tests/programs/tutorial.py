"""The tutorial: notebooks kept as plain Python, run one after the other in a scratch copy, and written as Markdown pages.

`make tutorial` writes data/guide/tutorial/*.md anew from the *.py beside them, with what came out;
tests/architecture/test_tutorial.py runs the same and compares.  Tags of cells: `hidden` is run and not shown; of `picture` the
picture alone is shown; `file:NAME` is written to that file; what comes out of `rows vary` has other rows by chance, so that its
first line alone is compared.  Ports that pages name are exchanged for free ones while cells run, so that nobody who uses them
is disturbed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
from jinja2 import DictLoader
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from traitlets.config import Config

from tests.helpers.ports import free_port
from tests.helpers.scratch import PORTS, ROOT, environment, exchanged, scratch

FOLDER = Path("data/guide/tutorial")
PATIENCE = 300  # seconds for a cell
_FOOT = "\n\n<!-- Written by `make tutorial` from {name}.py; change that. -->\n"
_SHOWN = Config(
    {
        "CoalesceStreamsPreprocessor": {"enabled": True},
        "NbConvertBase": {"display_data_priority": ["image/png", "text/plain"]},
    }
)
_TEMPLATE = """\
{%- extends 'markdown/index.md.j2' -%}
{%- block in_prompt -%}{%- endblock -%}
{%- block input -%}
{% if 'picture' not in cell.metadata.get('tags', ()) %}{{ cell.source | fenced }}{% endif -%}
{%- endblock input -%}
{%- block stream -%}
{% if 'rows vary' in cell.metadata.get('tags', ()) %}
<!-- rows vary -->
{%- endif %}
{{ output.text | printed }}
{%- endblock stream -%}
{%- block data_text -%}
{{ output.data['text/plain'] | printed }}
{%- endblock data_text -%}
{%- block data_png -%}
![{{ (output.metadata.get('image/png') or {}).get('alt', '') }}]({{ output.metadata.filenames['image/png'] }})
{%- endblock data_png -%}
"""


def notebooks() -> list[Path]:
    """Return the notebooks in their order."""
    return sorted((ROOT / FOLDER).glob("*.py"))


def pages(folder: Path) -> Iterator[tuple[str, str, dict[str, bytes]]]:
    """Run the notebooks in the folder; yield each one's name, its page, and its pictures by name."""
    ports = {named: free_port() for named in PORTS}
    for path in notebooks():
        notebook = jupytext.read(path)
        for cell in notebook.cells:
            cell.source = exchanged(written(cell), ports)
        # By files of the folder: by TCP others of the machine could listen.
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder.parent}/kernel{path.stem[0]}"}})
        place = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3", resources=place, config=config)
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update(environment(ports))
        try:
            client.execute()
        finally:
            os.environ.clear()
            os.environ.update(before)
        yield path.stem, *page(path.stem, notebook, {own: named for named, own in ports.items()}, folder)


def page(
    name: str, notebook: nbformat.NotebookNode, ports: dict[str, str], folder: Path
) -> tuple[str, dict[str, bytes]]:
    """Return a notebook that was run as a Markdown page, and its pictures by name."""
    notebook.cells = [cell for cell in notebook.cells if "hidden" not in cell.metadata.get("tags", ())]
    loaders = [DictLoader({"page.md.j2": _TEMPLATE})]
    exporter = MarkdownExporter(config=_SHOWN, extra_loaders=loaders, template_file="page.md.j2")
    exporter.register_filter("fenced", fenced)
    exporter.register_filter("printed", printed)
    text, resources = exporter.from_notebook_node(notebook, {"unique_key": name, "output_files_dir": ""})
    text = exchanged(text, ports).replace(f"{folder}/", "").replace(str(folder), ".")
    return re.sub(r"\n{3,}", "\n\n", text).strip() + _FOOT.format(name=name), resources["outputs"]


def written(cell: nbformat.NotebookNode) -> str:
    """A cell's source; one that is a file's text writes it, and says nothing."""
    names = [tag.partition(":")[2] for tag in cell.metadata.get("tags", ()) if tag.startswith("file:")]
    return f"%%writefile {names[0]}\n{cell.source}" if names else cell.source


def fenced(source: str) -> str:
    """A cell as people type it: without the line that only a notebook needs."""
    magic, _, rest = source.partition("\n")
    kind = {"%%bash": "sh", "%%writefile": "toml"}.get(magic.split(" ")[0])
    return f"\n```{kind}\n{rest.strip()}\n```\n" if kind else f"\n```python\n{source.strip()}\n```\n"


def printed(text: str) -> str:
    """What came out, in a fence."""
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "\n```text\n" + "\n".join(lines) + "\n```\n"


def main() -> None:
    with scratch() as folder:
        for name, text, pictures in pages(folder):
            for old in (ROOT / FOLDER).glob(f"{name}_*.png"):
                old.unlink()
            (ROOT / FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
            for file, content in pictures.items():
                (ROOT / FOLDER / Path(file).name).write_bytes(content)
            print(f"wrote {FOLDER / name}.md")


if __name__ == "__main__":
    main()
