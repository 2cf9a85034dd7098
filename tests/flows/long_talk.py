"""A long conversation in four languages with a model that has a small window and its own token count. An observer
checks each request to the model and each row of the summaries."""

from __future__ import annotations

import base64
import json
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median

from arvis.domain.agents import Agent
from arvis.domain.conversations import Compaction
from arvis.domain.messages import MessageStatus, StoredMessage, Upload
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.graphs.agent.prompt import PromptBuilder, PromptInputs
from arvis.graphs.compaction.scripts import COMPACTION, restore_messages
from arvis.graphs.context import load_turn_context
from arvis.net.client import open_http_client
from arvis.ports.provider import StreamingProvider
from arvis.ports.store import Transaction
from arvis.process.clock import SystemClock
from arvis.providers.openai import create
from arvis.store.open import Database
from arvis.testing.providers import provider_services
from tests.flows.app_harness import HELPER, AppHarness, Models, agent_with, open_app
from tests.flows.counting_server import Counted, Document, count_prompt, count_text, counting_server
from tests.flows.media_kit import png
from tests.flows.vendor_pairs import incomplete
from tests.unit.vendor_counters import KINDS, said

WINDOW = 8_192
#: The source of the window's size: the configuration, the agent, or neither, so that a refusal has to give it.
VARIANTS: Mapping[str, tuple[Agent, Mapping[str, int]]] = {
    "config": (HELPER, {"custom/small": WINDOW}),
    "agent": (agent_with(context_tokens=WINDOW), {}),
    "nobody": (HELPER, {}),
    "tools": (agent_with(tools=("look",), allow_users=("ann",)), {"custom/small": WINDOW}),
    "files": (agent_with(tools=("look",), allow_users=("ann",)), {"custom/small": WINDOW}),
}
#: An agent with tools calls one in every turn with such a number, and gets a table.
_TOOL_TURN = 5
#: With the variant `files`, each turn with such a number brings a text file or a picture.
_FILE_TURN, _PICTURE_TURN = 7, 11
_TABLE = "\n".join(f"berth {number} | {number * 13} t | free" for number in range(60))

#: Calls after which a model counts as calibrated.
CALIBRATED = 20
_ALL = 1_000_000
#: A turn and the next question may be too large for one prompt from this many tokens on: half of the usable tokens.
LARGE = 3_072
#: Every 80th message is very long.
_RARE = 80
_MARK = re.compile(r"\b([QA]\d+);")
_FACTS = ("The crane of berth %d is out of order.", "Причал %d закрыт до весны.", "%d 号泊位的吊车已经修好了。")


@dataclass
class Speaker:
    """Both sides of the conversation. Each message begins with its own mark: `Q7;` for a question, `A7;` for its
    answer."""

    chance: random.Random = field(default_factory=lambda: random.Random(5))
    facts: int = 0
    #: The texts of both sides, by mark.
    words: dict[str, str] = field(default_factory=dict)
    sends_files: bool = False
    #: The numbers of the questions for which the model called a tool.
    called: set[int] = field(default_factory=set)

    def uploads(self, number: int) -> tuple[Upload, ...]:
        """Return the files of a question."""
        if not self.sends_files:
            return ()
        text = "\n".join(f"Line {line} of the notes {number}." for line in range(1, 40))
        files = [
            (_FILE_TURN, Upload(f"notes{number}.txt", "text/plain", text.encode())),
            (_PICTURE_TURN, Upload(f"plan{number}.png", "image/png", png(2 + number % 50, 2))),
        ]
        return tuple(file for every, file in files if number % every == every - 1)

    def question(self, number: int) -> str:
        most = 600 if number % _RARE == _RARE - 1 else 160
        return self._note(f"Q{number}", self._some(number, self.chance.randrange(1, most)))

    def answer(self, document: Document) -> str:
        """Return the model's reply to a request."""
        task = str(document["messages"][0]["content"])
        if task.startswith("You keep the memory"):
            self.facts += 1
            fact = self.chance.choice(_FACTS) % self.facts
            return f"[MEMORY:project_context] {fact}" if self.facts % 3 else "nothing"
        if task.startswith("Your summary replaces the oldest part"):
            return self._some(self.chance.randrange(100), self.chance.randrange(20, 150))
        number = int(marks_of(document)[-1][1:])
        return self._note(f"A{number}", self._some(number, self.chance.randrange(1, 250)))

    def calls(self, document: Document) -> list[tuple[str, str]]:
        """Return the tool calls with which the model answers a request."""
        newest = document["messages"][-1]
        if "tools" not in document or newest["role"] != "user" or not is_turn(document):
            return []
        number = int(marks_of(document)[-1][1:])
        if number % _TOOL_TURN:
            return []
        self.called.add(number)
        return [("look", json.dumps({"words": f"berths of {number}"}))]

    def _some(self, number: int, words: int) -> str:
        """Return words in one language for ten messages, then in all languages for ten."""
        kind = KINDS[number // 10 % len(KINDS)] if number % 20 < 10 else self.chance.choice(KINDS)
        return said(self.chance, kind, words).strip()

    def _note(self, mark: str, text: str) -> str:
        self.words[mark] = f"{mark};\n{text}"
        return self.words[mark]


def marks_of(document: Document) -> list[str]:
    """Return the marks of a request's messages in order, without its system text."""
    turns = [message for message in document["messages"] if message["role"] != "system"]
    contents = [turn["content"] or "" for turn in turns]
    parts = [[{"text": each}] if isinstance(each, str) else each for each in contents]
    return _MARK.findall("\n".join(part.get("text", "") for each in parts for part in each))


def is_turn(document: Document) -> bool:
    return str(document["messages"][0]["content"]).startswith("You are Helper")


class RecordingProvider:
    """A provider whose requests are recorded."""

    def __init__(self, provider: StreamingProvider, requests: list[RunRequest]) -> None:
        self._provider = provider
        self._requests = requests
        self.name = provider.name

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        self._requests.append(request)
        return await self._provider.complete(request, account)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        self._requests.append(request)
        return await self._provider.stream(request, account, on_text)


@dataclass(frozen=True)
class Build:
    """The time (ms) to read the data of a turn again and to compose its prompt, the number of messages and summaries in
    the prompt, and True if the memory had enough facts to be searched."""

    ms: float
    size: int
    searched: bool


@dataclass
class Figures:
    """The results of a conversation. `errors` holds, for each prompt, the estimate divided by the true size, minus one.
    `inline` and `planned` count summaries. `failures` counts turns in which a summary was needed and not written."""

    turns: int = 0
    answers: int = 0
    others: int = 0
    refusals: int = 0
    inline: int = 0
    planned: int = 0
    failures: int = 0
    largest: int = 0
    fill: float = 0.0
    errors: list[float] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)

    @property
    def growth(self) -> tuple[float, float]:
        """The medians of the times and sizes of the last tenth of the builds, divided by those of the first tenth. If
        the memory was searched for the last prompt, only builds with a search are compared."""
        alike = [each for each in self.builds if each.searched == self.builds[-1].searched]
        tenth = max(1, len(alike) // 10)
        first, last = alike[:tenth], alike[-tenth:]
        grown = median(each.ms for each in last) / median(each.ms for each in first)
        return grown, median(each.size for each in last) / median(each.size for each in first)

    def usual_build(self, *, searched: bool) -> float:
        """The median time (ms) to build a prompt with or without a search of the memory."""
        return median([each.ms for each in self.builds if each.searched == searched] or [0.0])

    @property
    def usual_error(self) -> float:
        """The 95th percentile of the error after calibration."""
        late = sorted(map(abs, self.errors[CALIBRATED:]))
        return late[len(late) * 95 // 100] if late else 0.0

    def __str__(self) -> str:
        calls, messages = self.answers + self.others, 2 * self.turns
        return (
            f"{messages} messages: {calls} calls ({calls / messages:.2f} a message), {self.refusals} refused, "
            f"{self.inline} summaries inside turns and {self.planned} between them, {self.failures} failed; prompts of "
            f"{self.fill:.0f} tokens, {self.largest} at most with the reply; p95 of the error {self.usual_error:.1%}, "
            f"{min(self.errors):+.1%} to {max(self.errors):+.1%}, "
            f"after {CALIBRATED} calls from {min(self.errors[CALIBRATED:] or [0]):+.1%}; a prompt is built in "
            f"{self.usual_build(searched=False):.2f} ms, with a search of the memory in "
            f"{self.usual_build(searched=True):.2f} ms, in the last tenth in {self.growth[0]:.2f} of the time of the first one"
        )


class Observer:
    """The checks after every turn."""

    def __init__(self, app: AppHarness, server: Counted, speaker: Speaker, requests: list[RunRequest]) -> None:
        self._app = app
        self._requests = requests
        self._builder = PromptBuilder(runner=app.runner, zone="UTC")
        self._server = server
        self._speaker = speaker
        self._seen = 0
        self._before: Sequence[Compaction] = []
        self._turn_of: dict[str, int] = {}
        self.conversation = ""
        self.figures = Figures()

    async def turn(self, number: int) -> None:
        """Ask one question, and check everything after its answer."""
        uploads = self._speaker.uploads(number)
        timeline = await self._app.ask(self._speaker.question(number), uploads=uploads)
        await self._app.until_idle()
        asked = timeline.message
        self.conversation = asked.conversation_id or ""
        document = self._look_at_calls(number)
        failed = any(step.step == "compaction_failed" for step in timeline.steps)
        self.figures.failures += failed
        summaries = await self._app.store.read(self._summaries)
        covered = [one for one in summaries if one in self._before or one.execution_id == asked.execution_id]
        self._before = summaries
        if not failed:
            self._look_at_prompt(number, marks_of(document), covered)
        self._turn_of |= await self._app.store.read(_turns, asked, number)
        _look_at_roles(document)
        _look_at_files(document, uploads)
        for request in self._requests:
            assert incomplete(request) == {}, f"turn {number}"
        self._requests.clear()
        await self._measure(asked.execution_id or "")
        estimate = await self._app.store.read(_estimated, asked.execution_id or "")
        if '"image_url"' not in json.dumps(
            document["messages"]
        ):  # Arvis expects the most tokens of any vendor for a picture
            self.figures.errors.append(estimate / count_prompt(document) - 1)
        self.figures.turns += 1

    async def _measure(self, execution_id: str) -> None:
        """Read the data of the turn and compose its prompt again. The shortest of three times is kept."""
        execution = await self._app.store.read(lambda tx: tx.executions.get(execution_id))
        assert execution is not None
        now, builds = self._app.clock.now(), list[Build]()
        for _ in range(3):
            begun = time.process_time()
            turn = await self._app.store.read(load_turn_context, execution, now)
            inputs = PromptInputs(skills=(), tools=(), rounds=(), shrunk=False, now=now)
            self._builder.prompt(turn, inputs, self._builder.limits(turn))
            ms = (time.process_time() - begun) * 1_000
            builds.append(Build(ms, len(turn.history) + len(turn.summaries), turn.recall.searched))
        self.figures.builds.append(min(builds, key=lambda each: each.ms))

    def _look_at_calls(self, number: int) -> Document:
        """Return the answered request. The server may only refuse the first one that is too long for an unknown
        window."""
        asked = self._server.documents[self._seen :]
        self._seen = len(self._server.documents)
        turns = [document for document in asked if is_turn(document)]
        figures = self.figures
        figures.answers += len(turns)
        figures.others += len(asked) - len(turns)
        figures.refusals = self._server.refusals
        # This model ignores the limit of the reply, which is low beside a large picture.
        limit = turns[-1].get("max_tokens") or turns[-1]["max_completion_tokens"]
        prompt, reply = count_prompt(turns[-1]), min(count_text(self._speaker.words[f"A{number}"]), limit)
        assert prompt + reply <= WINDOW, f"{prompt} tokens and a reply of {reply} in turn {number}"
        figures.largest = max(figures.largest, round(prompt + reply))
        figures.fill += (prompt - figures.fill) / (figures.turns + 1)
        return turns[-1]

    def _look_at_prompt(self, number: int, marks: Sequence[str], covered: Sequence[Compaction]) -> None:
        """Check that every message missing from the prompt is in exactly one summary that existed before the model
        call, that all others are in order, and that the last turn is present unless it and this one are large."""
        standing = Counter(turn for one in covered for turn in range(one.first_turn, one.last_turn + 1))
        assert all(count == 1 for count in standing.values()), f"turn {number}: a turn is in two summaries"
        earlier = [f"{side}{turn}" for turn in range(number) for side in "QA"]
        shown = [mark for mark in earlier if self._turn_of[mark] not in standing]
        assert list(marks) == [*shown, f"Q{number}"], f"turn {number}: {_difference(marks, shown)}"
        newest = [mark for mark in (f"Q{number - 1}", f"A{number - 1}", f"Q{number}") if mark in self._speaker.words]
        files = any(self._speaker.uploads(each) for each in (number - 1, number))
        # The output of this turn's tool call is in the prompt, too.
        texts = [self._speaker.words[mark] for mark in newest] + [_TABLE] * len(self._speaker.called & {number})
        large = files or sum(map(count_text, texts)) > LARGE
        assert large or set(newest) <= set(marks), f"turn {number} without the one before it"

    def _summaries(self, tx: Transaction) -> Sequence[Compaction]:
        return tx.compactions.summaries(self.conversation, _ALL)

    async def end(self) -> Figures:
        """Count the summaries, restore their messages, and check that the history equals the sent texts."""
        found = await self._app.store.read(self._summaries)
        graphs = Counter(await self._app.store.read(_graphs, found))
        self.figures.planned = graphs.pop(COMPACTION, 0)
        self.figures.inline = graphs.total()
        for one in found:
            await self._app.store.write(restore_messages, one.id, self._app.clock.now())
        history = await self._app.store.read(lambda tx: tx.messages.history(self.conversation, _ALL))
        words = self._speaker.words
        messagesin_order = [words[f"{side}{turn}"] for turn in range(self.figures.turns) for side in "QA"]
        assert [message.content for message in history] == messagesin_order
        return self.figures


@asynccontextmanager
async def long_talk(database: Database, variant: str) -> AsyncIterator[Observer]:
    """Run an app with a model of this variant."""
    agent, windows = VARIANTS[variant]
    speaker, requests = Speaker(sends_files=variant == "files"), list[RunRequest]()
    counting = counting_server(window=WINDOW, reply=speaker.answer, asks=speaker.calls)
    async with counting as server, open_http_client() as http:
        account = Account("main", "custom", "small", base_url=server.url)
        provider = RecordingProvider(create("custom", provider_services(http, SystemClock())), requests)
        models = Models({"custom": provider}, [account], windows)
        async with open_app(database, agents=[agent], models=models) as app:
            app.tools.look.script += [_TABLE] * (_ALL // 1_000)
            yield Observer(app, server, speaker, requests)


async def talk(database: Database, variant: str, messages: int) -> Figures:
    """Send this many messages of both sides, with checks after each turn."""
    async with long_talk(database, variant) as observer:
        for number in range(messages // 2):
            await observer.turn(number)
        return await observer.end()


def _turns(tx: Transaction, asked: StoredMessage, number: int) -> dict[str, int]:
    kept = tx.messages.get(asked.id)
    assert kept is not None
    assert kept.status is MessageStatus.ANSWERED
    assert kept.turn is not None
    return {f"Q{number}": kept.turn, f"A{number}": kept.turn}


def _estimated(tx: Transaction, execution_id: str) -> int:
    execution = tx.executions.get(execution_id)
    assert execution is not None
    return sum(execution.state["prompt"]["tokens"].values())


def _graphs(tx: Transaction, summaries: Sequence[Compaction]) -> list[str]:
    """Return the graphs of the executions that wrote the summaries."""
    found = [tx.executions.get(one.execution_id) for one in summaries]
    return [one.graph for one in found if one is not None]


def _look_at_roles(document: Document) -> None:
    """Expect one system text, then alternating roles that begin and end with the person."""
    messages = [each for each in document["messages"] if each["role"] != "tool" and not each.get("tool_calls")]
    system, *roles = [message["role"] for message in messages]
    assert system == "system"
    assert roles == [("user", "assistant")[place % 2] for place in range(len(roles))]
    assert roles[-1] == "user"


def _look_at_files(document: Document, uploads: Sequence[Upload]) -> None:
    """Expect the text of each file, and the bytes of each picture, in the request of their turn."""
    contents = json.dumps(document["messages"], ensure_ascii=False)
    for each in uploads:
        data = base64.b64encode(each.data).decode() if each.content_type == "image/png" else each.data.decode()
        assert all(line in contents for line in data.splitlines()), each.filename


def _difference(marks: Sequence[str], wanted: Sequence[str]) -> str:
    return f"missing {sorted(set(wanted) - set(marks))}, besides {sorted(set(marks) - set(wanted))}"
