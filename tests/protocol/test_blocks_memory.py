"""What a block's arrays held is there for the next block's."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

MEASURED = """
import resource
import numpy as np
from dpcore.protocol.blocks import BLOCK, keep_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        block = [np.ones(BLOCK) for _ in range(6)]
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
    assert before > 10_000  # half a MiB is 128 pages
    assert after < before / 20
