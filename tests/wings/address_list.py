"""Reads the list of addresses that must not be dialled, and tries to fetch each one, with recorded or real sockets."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from arvis.domain.errors import FetchRefused, ToolError
from arvis.net.fetcher import GuardedFetcher
from arvis.ports.http import Fetched

LIST = Path(__file__).with_name("addresses.txt")
#: The only address of the list that may be dialled, and the name of the page there from which redirects start.
PUBLIC = "93.184.216.34"
START = "start.example.net"
_REDIRECT = re.compile(r"((?:[0-9]{3} )+)-> (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Probe:
    """One line of the list."""

    line: str
    url: str
    #: Addresses that the name resolves to, one tuple for each lookup; the last one repeats.
    answers: tuple[tuple[str, ...], ...]
    #: Status codes of the redirects that lead from the public page to `url`.
    codes: tuple[int, ...]

    @property
    def reaches_public(self) -> bool:
        return bool(self.codes) or self.answers[0] == (PUBLIC,)


def probes() -> list[Probe]:
    lines = LIST.read_text(encoding="ascii").split("\n")
    return [_probe(line) for line in lines if line.strip() and not line.startswith("#")]


def _probe(line: str) -> Probe:
    address, _, told = line.encode("ascii").decode("unicode_escape").partition(" <- ")
    found = _REDIRECT.fullmatch(address)
    answers = tuple(tuple(answer.split()) for answer in (told or "127.0.0.1").split(" ; "))
    codes = tuple(int(code) for code in found[1].split()) if found else ()
    return Probe(line=line, url=found[2] if found else address, answers=answers, codes=codes)


class Names:
    """A resolver that gives the answers of one probe."""

    def __init__(self, *, probe: Probe) -> None:
        self._probe = probe
        self.asked: Counter[str] = Counter()

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        if host == START:
            return [PUBLIC]
        answer = self._probe.answers[min(self.asked[host], len(self._probe.answers) - 1)]
        self.asked[host] += 1
        return answer


class Signpost:
    """A web server that sends the redirects of one probe, and then answers 200."""

    def __init__(self) -> None:
        self._ways: list[tuple[int, str]] = []

    def point(self, probe: Probe) -> None:
        there = [f"http://{START}/next"] * (len(probe.codes) - 1) + [probe.url]
        self._ways = list(zip(probe.codes, there, strict=False))

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            code, where = self._ways.pop(0) if self._ways else (200, "")
            location = f"Location: {where}\r\n" if where else ""
            head = f"HTTP/1.1 {code} X\r\n{location}Content-Length: 0\r\nConnection: close\r\n\r\n"
            writer.write(head.encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            await writer.wait_closed()


@asynccontextmanager
async def standing(signpost: Signpost, host: str, port: int) -> AsyncIterator[int]:
    """Run the server of the signpost and yield its port."""
    server = await asyncio.start_server(signpost.answer, host, port)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await server.wait_closed()


async def attempt(fetcher: GuardedFetcher, probe: Probe) -> str | None:
    """Fetch the address of the probe and return a complaint, or None if the fetcher behaved correctly.

    The fetcher must refuse an address that is not public. A fetch that starts at the public address may also succeed or
    end with a `ToolError`.
    """
    try:
        answer: Fetched | ToolError = await fetcher.fetch(
            f"http://{START}/" if probe.codes else probe.url, max_bytes=1000, timeout=5
        )
    except ToolError as error:
        answer = error
    if probe.reaches_public or isinstance(answer, FetchRefused):
        return None
    return f"{probe.line}: {answer!r}"
