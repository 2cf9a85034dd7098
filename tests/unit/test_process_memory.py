"""All threads of a process share one arena of the C library's allocator."""

from __future__ import annotations

import subprocess
import sys

#: Starts a thread that allocates memory, and prints the number of arenas that glibc has reserved for threads (64 MiB
#: each, of which most cannot be accessed yet).
COUNT_ARENAS = """
import sys, threading
from pathlib import Path
from arvis.process.memory import use_one_arena

if "one" in sys.argv:
    use_one_arena()
memory = []
thread = threading.Thread(target=lambda: memory.extend(bytearray(100_000) for _ in range(100)))
thread.start()
thread.join()
regions = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
sizes = {}
for first, second in zip(regions, regions[1:]):
    begin, middle = first[0].split("-")
    after, end = second[0].split("-")
    if middle == after and (first[1], second[1]) == ("rw-p", "---p"):
        sizes[begin] = int(end, 16) - int(begin, 16)
print(sum(size == 64 << 20 for size in sizes.values()))
"""


def arenas(*options: str) -> int:
    done = subprocess.run([sys.executable, "-c", COUNT_ARENAS, *options], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_threads_share_one_arena() -> None:
    assert arenas() == 1
    assert arenas("one") == 0
