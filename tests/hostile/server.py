"""`python -m tests.hostile.server SEED`: the model server of the campaign, as a separate process.

A message names its case, its id and how often the case misbehaves (`case:NAME id:TEXT manner:once`). All other requests
get a good answer, and so do requests after the first one with `once`. The server prints its port and ends when its
input ends.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter
from contextlib import suppress
from random import Random

from tests.hostile.cases import CASES
from tests.hostile.formats import format_of
from tests.hostile.wire import Request, Wire, requests

#: The newest message is the last one in every format.
_ASKED = re.compile(rb"case:([a-z0-9-]+) id:([a-z0-9-]+) manner:(once|always)")
#: The answer to the first request to Ollama, for the size of the model's context.
_SHOWN = b'{"model_info": {"hostile.context_length": 2000000}}'


class Server:
    def __init__(self, *, seed: str) -> None:
        self._seed = seed
        self._counts: Counter[bytes] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Create a task for the connection. asyncio logs complaints if the task that it creates itself is cancelled."""
        task = asyncio.get_running_loop().create_task(self.converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            async for request in requests(reader):
                await self._answer(request, reader, writer)
                if writer.is_closing():
                    break
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        format_ = format_of(request.path)
        if format_ is None:
            await _tell(request, writer, self._counts)
            return
        asked = _ASKED.findall(request.body)
        name, id_, manner = asked[-1] if asked else (b"", b"", b"once")
        self._counts[id_] += 1
        number, case = self._counts[id_], name.decode()
        rng = Random(f"{self._seed} {format_.name} {case}")
        wire = Wire(request=request, format_=format_, number=number, rng=rng, reader=reader, writer=writer)
        if case not in CASES or (manner == b"once" and number > 1):
            await wire.good()
        else:
            await CASES[case].manner(wire)


async def _tell(request: Request, writer: asyncio.StreamWriter, counts: Counter[bytes]) -> None:
    """Answer `/asked/ID` with the number of requests about this message.

    Requests to all other addresses, which clients should not use, are counted by path.
    """
    if request.path.startswith("/asked/"):
        document = str(counts[request.path.removeprefix("/asked/").encode()]).encode()
    else:
        counts[request.path.strip("/").encode()] += 1
        document = _SHOWN
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(document)}\r\n\r\n"
    writer.write(head.encode() + document)
    await writer.drain()


async def main(seed: str) -> None:
    server = await asyncio.start_server(Server(seed=seed).begin, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
