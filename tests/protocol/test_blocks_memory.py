"""What a block's arrays held is there for the next block's."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# The arrays hold 18 MiB together. With 3 MiB the first count depended on what the imports had left in the heap: it fell below
# 1,000 where they had freed 2 MiB at once, because glibc then returns no block smaller than twice that.
MEASURED = """
import resource
from dpcore.protocol.records.blocks import keep_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        block = [b"x" * (3 << 20) for _ in range(6)]
        del block
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults()
keep_memory()
faults()
print(before, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries do as they did")
def test_memory_is_not_asked_for_again_page_by_page() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURED], stdout=subprocess.PIPE, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before > 10_000, (before, after)  # a MiB is 256 pages
    assert after < before / 20, (before, after)
