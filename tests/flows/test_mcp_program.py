"""A program that serves tools ends with all its child processes, however the daemon ends."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest

from arvis.tools.mcp.transports import environment_of, program
from tests.flows.test_mcp_client import alive, until, until_gone

#: A small daemon that starts a program and is killed.
DAEMON = """
import asyncio, os, sys
from arvis.tools.mcp.transports import environment_of, program
async def main():
    async with program(sys.argv[1:], environment_of({}, os.environ), print):
        await asyncio.sleep(60)
asyncio.run(main())
"""
#: A program that ignores polite signals, with a child that does, too, in its own session. It writes both process ids to
#: a file.
STUBBORN = """
trap '' HUP TERM PIPE
setsid sh -c 'echo $$ > child; exec sleep 61' &
while ! [ -s child ]; do sleep 0.01; done
echo $$ $(cat child) > both.new; mv both.new both
sleep 61
"""


@pytest.mark.parametrize("end", ["killed daemon", "close"])
async def test_a_program_that_hears_nothing_ends_with_its_children(tmp_path: Path, end: str) -> None:
    script = f"cd {shlex.quote(str(tmp_path))}; {STUBBORN}"
    if end == "close":
        async with program(["sh", "-c", script], environment_of({}, os.environ), print):
            pids = await until_written(tmp_path / "both")
    else:
        daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", DAEMON, "sh", "-c", script)
        pids = await until_written(tmp_path / "both")
        assert all(alive(pid) for pid in pids)
        daemon.kill()
        await daemon.wait()
    for pid in pids:
        await until_gone(pid)


async def until_written(file: Path) -> list[int]:
    async def written() -> list[int]:
        return numbers_in(file)

    await until(written)
    return numbers_in(file)


def numbers_in(file: Path) -> list[int]:
    return [int(number) for number in file.read_text().split()] if file.exists() else []


async def test_a_program_is_asked_before_it_is_ended(tmp_path: Path) -> None:
    folder = shlex.quote(str(tmp_path))
    script = f"cd {folder}; trap 'echo 1 > asked; exit' TERM; echo $$ > begun; while :; do sleep 0.05; done"
    async with program(["sh", "-c", script], environment_of({}, os.environ), print):
        (pid,) = await until_written(tmp_path / "begun")
    assert not alive(pid)
    assert numbers_in(tmp_path / "asked") == [1]
