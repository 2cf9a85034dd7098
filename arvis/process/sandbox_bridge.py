"""Lines between a program in the sandbox and this process: it asks, and is answered, one line at a time.

The program inherits one end of a pair of sockets; nothing is bound to a name, so nobody else can find it and nothing is
left behind. What comes over it is as hostile as the program: lines have a bound, and descriptors that are sent along are
dropped by the kernel, since nobody here takes them.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from arvis.ports.sandbox import Answerer, Finished

#: Bytes of one line from the program.
MOST_ASKED = 262_144


async def bridged(answer: Answerer, run: Callable[[int], Coroutine[Any, Any, Finished]]) -> Finished:
    """What comes of `run`, which is given the far end of the bridge to hand on."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        program = asyncio.create_task(run(theirs.fileno()))
        talk = asyncio.create_task(_talk(ours, answer))
        try:
            await asyncio.wait({program, talk}, return_when=asyncio.FIRST_COMPLETED)
            if talk.done() and not program.done():
                talk.result()
            return await program
        finally:
            program.cancel()
            talk.cancel()
            await asyncio.gather(program, talk, return_exceptions=True)


async def _talk(ours: socket.socket, answer: Answerer) -> None:
    """Until one of both has enough; then the program reads the end of the stream."""
    reader, writer = await asyncio.open_unix_connection(sock=ours, limit=MOST_ASKED)
    try:
        while (line := await _line(reader)) is not None and (told := await answer(line)) is not None:
            with suppress(ConnectionError):  # it need not wait for an answer
                writer.write(told + b"\n")
                await writer.drain()
    finally:
        writer.transport.abort()  # whoever has not read its answer by now does not want it
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """None at the end, and for what is no line within bounds."""
    try:
        line = await reader.readline()
    except (ValueError, ConnectionError):
        return None
    return line[:-1] if line.endswith(b"\n") else None
