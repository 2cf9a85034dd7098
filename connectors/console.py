"""The terminal of the daemon as a chat: each typed line is a message of the owner, and replies are printed.

With the settings `input` and `output`, the console reads and writes files or named pipes instead. A terminal has no
history that the connector could search, so after an interruption a reply may be printed twice. A person chooses an
option by its number; these numbers are lost when the process ends.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import chain, repeat

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unavailable
from arvis.domain.messages import Address, Button, Delivery, IncomingMessage, PrincipalRole, Sender
from arvis.domain.platforms import Click, Part, Piece
from arvis.domain.regex import regex
from arvis.ports.clock import Clock
from arvis.ports.connector import BotSettings, BotUp, Capabilities, ConnectorServices, Guarantee, Receipt, SendError
from arvis.ports.inbox import Inbox
from connectors.formatting.planning import pieces
from connectors.settings import BotConfig, read_settings

PLATFORM = "console"
OWNER = Sender("console", "console", role=PrincipalRole.OWNER, paired=True)

_STANDARD_INPUT, _STANDARD_OUTPUT = 0, 1
_CHUNK = 65_536
#: The maximum number of bytes of a line. A longer line is divided into several messages.
_LONGEST = 1_048_576
_PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0)
#: Control characters. They are removed, because a terminal obeys them and a reply must not control the terminal.
_CONTROLS = regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class ConsoleConfig(BotConfig):
    """The settings of the console. `input` and `output` are paths (None: standard input and output)."""

    input: str | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """A typed line, with an id that distinguishes it from every other line."""

    text: str
    event_id: str


class Console:
    """A bot of the platform `console`: one chat, with the owner."""

    platform = PLATFORM
    capabilities = Capabilities(Guarantee.AT_LEAST_ONCE)

    def __init__(
        self,
        *,
        name: str,
        config: ConsoleConfig,
        services: ConnectorServices,
        terminal: tuple[int, int] = (_STANDARD_INPUT, _STANDARD_OUTPUT),
    ) -> None:
        self._name = name
        self._config = config
        self._clock = services.clock
        self._max_parts = services.max_parts
        self._terminal = terminal
        self._address = Address(PLATFORM, name, "console")
        self._options: tuple[Button, ...] = ()
        self._options_ref: str | None = None

    @property
    def name(self) -> str:
        return self._name

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        async with _opened(self._config.input, self._terminal[0]) as lines:
            up(BotUp("arvis", self._config.agent or "Arvis"))
            async for line in lines.read(self._clock):
                await self._bring(inbox, line)
            # At the end of the input the daemon continues to run, and replies are still printed.
            await asyncio.Event().wait()

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        return pieces(delivery, lambda text: [text], self._max_parts)

    async def send(self, part: Part) -> Receipt:
        """Print the part, with numbered options. A person chooses an option by typing its number."""
        await self._print(_printed(part))
        if part.piece.buttons:
            self._options, self._options_ref = part.piece.buttons, part.key
        return Receipt(part.key)

    async def close(self) -> None:
        """Do nothing: the console has no open resources while it is not running."""

    async def _print(self, text: str) -> None:
        try:
            await asyncio.to_thread(_write, self._config.output, self._terminal[1], text.encode())
        except OSError as error:
            raise SendError(f"The reply cannot be printed: {error.strerror}") from error

    async def _bring(self, inbox: Inbox, line: _Line) -> None:
        """Pass a line to the inbox, and retry until the inbox has stored it."""
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                await (self._choose(inbox, line) if self._is_choice(line.text) else self._say(inbox, line))
            except Unavailable:
                await self._clock.sleep(pause)
            else:
                return

    async def _say(self, inbox: Inbox, line: _Line) -> None:
        message = IncomingMessage(
            address=self._address,
            event_id=line.event_id,
            sender=OWNER,
            content=line.text,
            is_direct=True,
            assigned_agent=self._config.agent,
            respond=self._config.respond,
            platform_ref=line.event_id,
            sent_at=self._clock.now(),
        )
        await inbox.receive(message)

    def _is_choice(self, text: str) -> bool:
        return text in map(str, range(1, len(self._options) + 1))

    async def _choose(self, inbox: Inbox, line: _Line) -> None:
        button = self._options[int(line.text) - 1]
        clicked = await inbox.click(Click(self._address, line.event_id, OWNER, button.id, self._options_ref))
        if clicked.done:
            self._options = ()
        # The choice is stored even if the confirmation cannot be printed.
        with suppress(SendError):
            await self._print(f"({_clean(clicked.text)})\n")


class _Lines:
    """Reads lines from a file descriptor. It reads in threads, because a read may wait without limit."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._stopped, self._stop = os.pipe()
        self._thread: threading.Thread | None = None

    async def read(self, clock: Clock) -> AsyncIterator[_Line]:
        """Yield lines until the end of the input."""
        place, begun = _identity(self._source), clock.now()
        rest, read = b"", 0
        while chunk := await self._chunk():
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LONGEST:
                lines, rest = [*lines, rest], b""
            for line in lines:
                read += len(line) + 1
                if text := _decoded(line):
                    yield _Line(text, f"{place or begun}.{read}")
        if text := _decoded(rest):
            yield _Line(text, f"{place or begun}.{read + len(rest)}")

    def stop(self) -> None:
        os.write(self._stop, b".")
        if self._thread is not None:
            self._thread.join()
        os.close(self._stopped)
        os.close(self._stop)

    async def _chunk(self) -> bytes:
        """Return the next chunk that can be read; empty at the end of the input."""
        loop = asyncio.get_running_loop()
        chunk_read: asyncio.Future[bytes] = loop.create_future()

        def settle(chunk: bytes) -> None:
            if not chunk_read.done():
                chunk_read.set_result(chunk)

        def wait() -> None:
            ready, _, _ = select.select([self._source, self._stopped], [], [])
            chunk = os.read(self._source, _CHUNK) if self._stopped not in ready else b""
            # The event loop may have closed in the meantime.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, chunk)

        self._thread = threading.Thread(target=wait, name="console", daemon=True)
        self._thread.start()
        return await chunk_read


@asynccontextmanager
async def _opened(path: str | None, terminal: int) -> AsyncIterator[_Lines]:
    """Open the input, and close it afterwards unless it is the terminal. Raise `OSError`."""
    source = terminal if path is None else _open_input(path)
    lines = _Lines(source)
    try:
        yield lines
    finally:
        lines.stop()
        if path is not None:
            os.close(source)


def _open_input(path: str) -> int:
    """Open a file or a named pipe for reading. A pipe is also opened for writing, so that the input does not end when
    the program that writes to the pipe closes it."""
    is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116  (beside os.open)
    return os.open(path, os.O_RDWR if is_pipe else os.O_RDONLY)


def _identity(source: int) -> str:
    """Return device and inode of a regular file, so that its lines get the same ids if it is read again. Return an
    empty text for input that cannot be read twice."""
    found = os.fstat(source)
    return f"{found.st_dev:x}-{found.st_ino:x}" if stat.S_ISREG(found.st_mode) else ""


def _decoded(line: bytes) -> str:
    return line.decode(errors="replace").replace("\x00", "").strip()


def _printed(part: Part) -> str:
    """Return a part as it is printed: the speaker, the text, the names of files, and numbered options."""
    lines = [_clean(part.piece.content)] if part.piece.content else []
    lines += [f"[file {_clean(file.filename)}, {file.size} bytes]" for file in part.piece.files]
    lines += [f"  {number}. {_clean(button.label)}" for number, button in enumerate(part.piece.buttons, 1)]
    return f"{_clean(part.delivery.agent or 'Arvis')}: " + "\n".join(lines) + "\n"


def _clean(text: str) -> str:
    return _CONTROLS.sub("", text)


def _write(path: str | None, terminal: int, text: bytes) -> None:
    """Write the whole text to the file at `path` or to the terminal. Raise `OSError` if a pipe has no reader."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
    target = terminal if path is None else os.open(path, flags, 0o600)
    try:
        while text:
            text = text[os.write(target, text) :]
    finally:
        if path is not None:
            os.close(target)


def create(settings: BotSettings, services: ConnectorServices) -> Console:
    return Console(name=settings.name, config=read_settings(ConsoleConfig, settings), services=services)
