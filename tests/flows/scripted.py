"""A model and a chat platform that a test controls; everything around them is real."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arvis.domain.errors import ProviderError, ToolError
from arvis.domain.messages import Delivery, OutgoingFile
from arvis.domain.platforms import Part, Piece
from arvis.domain.runs import Account, PictureRef, RunRequest, RunResult
from arvis.domain.tools import Risk, Source, ToolCall, ToolSpec
from arvis.ports.connector import BotUp, Capabilities, Guarantee, Receipt, SendError
from arvis.ports.inbox import Inbox
from arvis.ports.tool import Caller, Tool

PLATFORM, BOT = "chat", "main"
#: Timeout in seconds; only a broken part reaches it.
PATIENCE_SECONDS = 15

#: The parts of a prompt's message that differ in every run: the day, and in conversations with several people the mark
#: of each message.
_DAY = re.compile(r"^\[\d{4}-\d\d-\d\d\]\n", re.MULTILINE)
_MARK = re.compile(r"^(\S+) #[0-9a-z]{5}: ", re.MULTILINE)


def as_said(text: str) -> str:
    """Return a turn of a prompt without days and marks; the names stay."""
    return _MARK.sub(r"\1: ", _DAY.sub("", text))


@dataclass(slots=True)
class Held:
    """An answer that waits for the test after it has `shown` a text. `cancelled` is set when the call is cancelled."""

    text: str = "held answer"
    shown: str = ""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def until_begun(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.begun.wait()

    async def until_cancelled(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.cancelled.wait()

    async def wait(self) -> None:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


Answer = str | RunResult | ProviderError | Held | Callable[[RunRequest], RunResult]


class ScriptedProvider:
    """A `StreamingProvider`: each call takes the next entry of `script`, which may be made from the request; after the last one it repeats the newest
    message. `asked` contains every request."""

    name = "scripted"

    def __init__(self) -> None:
        self.script: deque[Answer] = deque()
        self.asked: list[RunRequest] = []

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self.stream(request, account, lambda _: None)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        self.asked.append(request)
        answer = self.script.popleft() if self.script else f"Re: {as_said(request.turns[-1].content)}"
        match answer:
            case ProviderError():
                raise answer
            case RunResult():
                return answer
            case _ if callable(answer):
                return answer(request)
            case Held(text=text, shown=shown) as held:
                on_text(shown)
                await held.wait()
            case text:
                pass
        middle = len(text) // 2
        for piece in (text[:middle], text[middle:]):
            on_text(piece)
        return said(text)

    @property
    def prompts(self) -> list[list[str]]:
        """Return the prompts of all calls, one line for each turn: `user: Hello`; without days and marks."""
        return [[f"{turn.role}: {as_said(turn.content)}" for turn in request.turns] for request in self.asked]


def said(text: str, *, truncated: bool = False) -> RunResult:
    return RunResult(text, "model", "scripted", "main", input_tokens=10, output_tokens=5, truncated=truncated)


def asking(*calls: ToolCall, text: str = "") -> RunResult:
    """Return a reply with tool calls."""
    return RunResult(text, "model", "scripted", "main", input_tokens=10, output_tokens=5, calls=calls)


def call(number: int, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call_{number}", name, arguments)


class ScriptedTool:
    """A tool that returns its arguments, or follows `script`. `calls` contains the arguments of all calls; `given` is
    a file that it attaches, `cited` a page that it names as its source, and `shown` a picture that it shows."""

    def __init__(self, name: str, *, risk: Risk = Risk.READ, repeatable: bool = True, sensitive: bool = False) -> None:
        self.spec = ToolSpec(name, f"Says its {name}.", {"type": "object", "properties": {"words": {"type": "string"}}})
        self.risk = risk
        self.repeatable = repeatable
        self.sensitive = sensitive
        self.script: deque[str | Held | Exception] = deque()
        self.calls: list[Mapping[str, Any]] = []
        self.callers: list[Caller] = []
        self.given: OutgoingFile | None = None
        self.cited: Source | None = None
        self.shown: PictureRef | None = None

    def check(self, arguments: Mapping[str, Any]) -> None:
        if set(arguments) - {"words"}:
            raise ToolError("The arguments are not valid. words: is all there is.")

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str:
        self.calls.append(arguments)
        self.callers.append(caller)
        if self.given is not None:
            caller.attach(self.given)
        if self.cited is not None:
            caller.cite(self.cited)
        if self.shown is not None:
            caller.show(self.shown)
        match self.script.popleft() if self.script else f"{self.spec.name} of {arguments.get('words', 'nothing')}":
            case Exception() as error:
                raise error
            case Held(text=text) as held:
                await held.wait()
                return text
            case text:
                return text


class ScriptedTools:
    """A `ToolSource`: `look` reads, `dig` may be repeated, `pay` may not, `rm` needs a person's approval, `vault`
    returns secrets. `gone` names tools that are unavailable, `more` adds tools of a test."""

    def __init__(self) -> None:
        self.look = ScriptedTool("look")
        self.dig = ScriptedTool("srv.dig", risk=Risk.EGRESS)
        self.pay = ScriptedTool("pay", repeatable=False)
        self.rm = ScriptedTool("rm", risk=Risk.EXEC, repeatable=False)
        self.vault = ScriptedTool("vault", sensitive=True)
        self.gone: set[str] = set()
        self.more: list[Tool] = []

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        return [tool for tool in await self.all() if tool.spec.name in names and tool.spec.name not in self.gone]

    async def all(self) -> Sequence[Tool]:
        return [self.look, self.dig, self.pay, self.rm, self.vault, *self.more]


class PlainBox:
    """A `SecretBox` whose result is readable but different from the text."""

    def seal(self, text: str) -> str:
        return f"sealed:{text[::-1]}"

    def open(self, sealed: str) -> str:
        return sealed.removeprefix("sealed:")[::-1]

    def unheard(self) -> PlainBox:
        return self


class RecordingConnector:
    """A platform whose sends succeed unless `script` says otherwise. `sent` contains the parts that arrived, `tried`
    all tries."""

    platform = PLATFORM
    name = BOT

    def __init__(self, *, safe_resend: bool) -> None:
        self.capabilities = Capabilities(whole=True) if safe_resend else Capabilities(Guarantee.AT_MOST_ONCE)
        self.script: deque[SendError | Held] = deque()
        self.tried: list[Delivery] = []
        self.sent: list[Delivery] = []

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        up(BotUp("bot", BOT))
        await asyncio.Event().wait()

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        return [Piece(delivery.content, delivery.buttons, delivery.files)]

    async def close(self) -> None:
        pass

    async def send(self, part: Part) -> Receipt:
        delivery = part.delivery
        self.tried.append(delivery)
        match self.script.popleft() if self.script else None:
            case SendError() as error:
                raise error
            case Held() as held:
                await held.wait()
        self.sent.append(delivery)
        return Receipt(f"platform-{len(self.sent)}")

    @property
    def texts(self) -> list[str]:
        return [delivery.content for delivery in self.sent]
