"""Build the npm package of the browser's client: `make npm` writes build/npm/ldpflow-client-VERSION.tgz.

The code is the client that a collector serves, as one module.  Terser shortens it, if `make npm` could fetch it; otherwise
comments and indentation are removed.  The same files make the same bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

import dpcore
from dpcore.collector.browser_client import joined

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "data/npm"
TERSER = ROOT / "build/npm-tools/node_modules/.bin/terser"
_COMMENTS = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)


def shortened(code: str) -> str:
    """Return the module without comments; by terser also with short local names."""
    if not TERSER.exists():
        return re.sub(r"\n\s*", "\n", _COMMENTS.sub("", code)).lstrip()
    command = [TERSER, "--module", "--compress", "passes=2", "--mangle"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout


def files() -> dict[str, bytes]:
    """Return the files of the package, name -> content."""
    manifest = json.loads((SOURCES / "package.json").read_text("utf-8")) | {"version": dpcore.__version__}
    contents = {name: (SOURCES / name).read_bytes() for name in ("README.md", "index.d.ts", "node.mjs")}
    contents["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    contents["index.mjs"] = shortened(joined(ROOT / "dpcore/collector/static")).encode()
    contents["package.json"] = (json.dumps(manifest, indent=2) + "\n").encode()
    return dict(sorted(contents.items()))


def build(folder: Path) -> Path:
    """Write the tarball into a folder and return its path."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files().items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"ldpflow-client-{dpcore.__version__}.tgz"
    target.write_bytes(gzip.compress(archive.getvalue(), 9, mtime=0))
    return target


def main() -> None:
    target = build(ROOT / "build/npm")
    code = len(gzip.compress(files()["index.mjs"], 9, mtime=0))
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes; code {code:,} bytes with gzip")
    if not TERSER.exists():
        print("terser is not installed, so that comments and indentation alone were removed")


if __name__ == "__main__":
    main()
