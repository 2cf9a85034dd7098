"""The demo model. It needs no key and no network, so every feature can be tried and tested offline.

The demo obeys the lines `demo: VERB ARGUMENT` of the newest user message, in order. If the message has no such lines,
the demo obeys such lines of the agent's prompt, so that a changed prompt changes the answers. It never pretends to be a
real model. The daemon calls the demo only if an agent names it or if no account is configured.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.markup import unescape
from arvis.domain.regex import regex
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.domain.tools import wire_name
from arvis.ports.clock import Clock
from arvis.ports.provider import ProviderServices
from arvis.providers.reply import CallDrafts, ReplyText

#: In a chat with several people, a message begins with its author: `Ann #7f3q2: `.
_DIRECTIVE = regex(r"(?:\S.{0,39} #[0-9a-z?]{1,5}: )?[ \t]*demo:[ \t]+(say|sleep|fail|tool|tokens)(?:[ \t](.*))?")

#: The approximate number of pieces in which one reply is streamed.
_PIECES = 4

#: Limits for directives, because any person who writes to the agent can send them: no directive may occupy a worker for
#: longer than `_LONGEST_SLEEP` (seconds) or fill the memory. `_MOST_WORDS` is more than the largest reply can contain.
_LONGEST_SLEEP = 600.0
_MOST_WORDS = 200_000
_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Directive:
    """One line `demo: VERB ARGUMENT`."""

    verb: str
    argument: str


@dataclass(frozen=True, slots=True)
class DemoReply:
    """A part of the reply, and the number of output tokens that are reported for it."""

    text: str
    tokens: int


def create(_name: str, services: ProviderServices) -> DemoProvider:
    """Make the provider; this is the entry point. Its name is always `demo`."""
    return DemoProvider(clock=services.clock)


class DemoProvider:
    """A `StreamingProvider` whose answers depend only on the request."""

    name = "demo"

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._answer(request, account, ReplyText(max_bytes=request.max_bytes))

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._answer(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text))

    async def _answer(self, request: RunRequest, account: Account, reply: ReplyText) -> RunResult:
        question = newest_user_text(request)
        calls = CallDrafts(account=account, max_bytes=request.max_bytes)
        parts: list[DemoReply] = []
        for directive in directives(question) or directives(unescape(request.system)):
            answer = await self._obey(directive, request, calls)
            if answer is not None:
                _send(reply, answer.text if not parts else f"\n{answer.text}")
                parts.append(answer)
        if not parts and not calls:
            text = (
                f"Hello, {request.agent_name} here. I am only the built-in demo, no real model. You wrote: {question}"
            )
            parts.append(_reply_of(text))
            _send(reply, parts[0].text)
        input_tokens = sum(len(turn.content.split()) for turn in request.turns)
        output_tokens = sum(part.tokens for part in parts)
        result = reply.result(
            request, account, input_tokens=input_tokens, output_tokens=output_tokens, calls=calls.result()
        )
        left_out = (*(() if request.effort is None else ("effort",)), *sorted(request.sampling))
        return replace(result, left_out=left_out) if left_out else result

    async def _obey(self, directive: Directive, request: RunRequest, calls: CallDrafts) -> DemoReply | None:
        """Return the part of the reply for this directive; None if the directive only sleeps or calls a tool. Raise the
        error that the directive `fail` names."""
        match directive.verb:
            case "say":
                return _reply_of(directive.argument.replace("\\n", "\n"))
            case "tokens":
                return _repeated_word(directive.argument)
            case "tool":
                return _use_tool(directive.argument, request, calls)
            case "fail":
                raise _failure(directive.argument)
            case _:
                await self._clock.sleep(_seconds(directive.argument))
                return None


def newest_user_text(request: RunRequest) -> str:
    """Return a person's newest message. It is unescaped, because prompts escape tags and a directive may contain tags.
    Turns with tool outputs are skipped, although they are also turns of the user."""
    answer = (turn.content for turn in reversed(request.turns) if turn.role == "user" and not turn.outputs)
    return unescape(next(answer, ""))


def _use_tool(argument: str, request: RunRequest, calls: CallDrafts) -> DemoReply | None:
    """Call the tool and return None. If the newest turn contains tool outputs, return the output of this tool as the
    reply instead."""
    written, _, arguments = argument.strip().partition(" ")
    name = wire_name(written)
    if request.turns and request.turns[-1].outputs:
        named = {call.id: call.name for turn in request.turns for call in turn.calls}
        outputs = [output for output in request.turns[-1].outputs if named.get(output.call_id) == name]
        return _reply_of("\n".join(f"{written}: {output.content}" for output in outputs)) if outputs else None
    if name not in {tool.name for tool in request.tools}:
        return _reply_of(f"I have no tool {written}.")
    number = len(calls)
    calls.add(number, id=f"demo_{number}", name=name, arguments=arguments)
    return None


def directives(text: str) -> list[Directive]:
    """Return the directive lines of a text, in order; every other line is ignored."""
    if "demo:" not in text:
        return []
    found = (_DIRECTIVE.fullmatch(line) for line in text.replace("\r\n", "\n").split("\n"))
    return [Directive(match[1], match[2] or "") for match in found if match]


def _reply_of(text: str) -> DemoReply:
    """Return the text as a part of the reply. Each word counts as one token."""
    return DemoReply(text, len(text.split()))


def _repeated_word(argument: str) -> DemoReply:
    """Return a part of the reply with this number of words, but at most `_MOST_WORDS`. The number of reported tokens is
    always the number in the directive."""
    digits = argument.strip()[:_MOST_DIGITS]
    number = int(digits) if digits.isdecimal() else 0
    return DemoReply(" ".join(["word"] * min(number, _MOST_WORDS)), number)


def _failure(argument: str) -> ProviderError:
    known = {kind.value: kind for kind in ProviderErrorKind}
    kind = known.get(argument.strip(), ProviderErrorKind.BAD_REQUEST)
    return ProviderError(kind, f"the demo failed as requested ({kind})")


def _seconds(argument: str) -> float:
    try:
        seconds = float(argument)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), _LONGEST_SLEEP) if math.isfinite(seconds) else 0.0


def _send(reply: ReplyText, text: str) -> None:
    """Add a text in a few pieces, as a model would stream it."""
    size = max(1, math.ceil(len(text) / _PIECES))
    for start in range(0, len(text), size):
        if not reply.add(text[start : start + size]):
            return
