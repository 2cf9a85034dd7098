"""Agents that follow a message word by word, so that a turn can meet any events in any order.

`effect` and `pay` make external calls (a payment must not happen twice), `ask` asks the person, `approve` an owner,
`rest` waits for a time, `call` and `fail` run another graph, `split` continues in two branches, `throw`, `busy`,
`refused` and `timeout` fail. After the last word the turn's reply repeats all of its messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.executions import WaitKind
from arvis.domain.messages import StoredMessage
from arvis.domain.runs import RunResult
from arvis.engine.graph import Call, Decision, End, Goto, Graph, Next, NodeContext, Pause
from arvis.llm.attempts import RunFailed
from arvis.ports.store import Transaction
from tests.conformance.machine.backends import Fate
from tests.conformance.machine.process import Process

WORDS = ("effect", "pay", "ask", "approve", "rest", "call", "fail", "split", "throw", "busy", "refused", "timeout")

#: The provider errors by word; each word of a message fails once.
_ERRORS = {
    "busy": ProviderErrorKind.RATE_LIMIT,
    "refused": ProviderErrorKind.AUTH,
    "timeout": ProviderErrorKind.TIMEOUT,
}


def content_of(number: int, words: list[str]) -> str:
    """Return the text of a message that differs from all others."""
    return " ".join([f"#{number}", *words])


def scripted_graphs(first_time: Callable[[str], bool]) -> Callable[[Process], Mapping[str, Graph]]:
    """Return a function that makes the graphs `agent` and `child` for a process.

    `first_time` returns whether its argument is new to all processes.
    """

    def make(process: Process) -> Mapping[str, Graph]:
        nodes = _Nodes(process, first_time)
        names = {name: getattr(nodes, name) for name in ("begin", "act", "left", "right")}
        edges = {"begin": "act", "act": ("left", "right")}
        return {name: Graph(name, "begin", names, edges) for name in ("agent", "child")}

    return make


class _Nodes:
    def __init__(self, process: Process, first_time: Callable[[str], bool]) -> None:
        self._process = process
        self._first_time = first_time

    async def begin(self, context: NodeContext) -> Decision:
        words = context.state.get("words")
        if words is None:
            words = (await self._messages(context))[0].content.split()[1:]
        return Next(words)

    async def act(self, context: NodeContext) -> Decision:
        word, *rest = context.value or [""]
        place = f"{context.execution.id} {len(rest)}"
        match word:
            case "":
                return await self._end(context)
            case "effect":
                await context.once("effect", self._outside_call(f"effect {place}"))
            case "pay":
                await context.once(f"pay {place}", self._outside_call(f"pay {place}"), repeatable=False)
            case "ask" | "approve" | "rest" | "call" | "fail" if context.answer is None:
                return self._wait(word, rest, context.execution.created_at)
            case "split":
                return Next(rest)
            case "throw" if self._first_time(f"throw {place}"):
                raise ValueError("no")
            case "busy" | "refused" | "timeout" if self._first_time(f"{word} {place}"):
                raise RunFailed(ProviderError(_ERRORS[word], "no"), ())
        return Goto("act", rest)

    async def left(self, context: NodeContext) -> Decision:
        """Ask in one branch, and end the execution with the answer."""
        return Pause(WaitKind.APPROVAL, "well?") if context.answer is None else Goto("act", [])

    async def right(self, context: NodeContext) -> Decision:
        """Pay immediately in the other branch, and continue."""
        payment = f"pay {context.execution.id} {len(context.value)} branch"
        await context.once(payment, self._outside_call(payment), repeatable=False)
        return Goto("act", context.value)

    def _wait(self, word: str, rest: list[str], created_at: int) -> Decision:
        match word:
            case "ask":
                return Pause(WaitKind.USER, "which?")
            case "approve":
                return Pause(WaitKind.APPROVAL, "go?", until=created_at + 3_600_000)
            case "rest":
                return Pause(WaitKind.TIMER, "rests", until=created_at + 25_000)
            case "call":
                return Call("child", {"words": rest[:1]})
        return Call("child", {"words": ["refused"]})

    async def _end(self, context: NodeContext) -> Decision:
        if "words" in context.state:
            return End("child")
        messages = await self._messages(context)
        await context.once("model", self._outside_call("model"))
        contents = " | ".join(message.content for message in messages)
        return End(RunResult(contents, "m", "p", "a").to_json(), read=[message.id for message in messages])

    async def _messages(self, context: NodeContext) -> list[StoredMessage]:
        def read(tx: Transaction) -> list[StoredMessage]:
            return list(tx.messages.of_turn(context.execution.id))

        return await self._process.store.read(read)

    def _outside_call(self, what: str) -> Callable[[], Any]:
        async def go() -> str:
            await self._process.outside(what, _model_error)
            return "done"

        return go


def _model_error(_fate: Fate) -> Exception:
    return RunFailed(ProviderError(ProviderErrorKind.TIMEOUT, "no"), ())
