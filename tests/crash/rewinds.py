"""Kill the daemon repeatedly while users rewind their conversations.

Users write messages, edit earlier ones, let them be answered again, switch between versions and branch conversations. Half
of the kills come while such a request is carried out. A request whose outcome is unknown is settled by the list of
versions. The campaign fails if a version is lost, two versions of a point are active, a reply is in the version of another
message, a prompt contains an inactive exchange, or an effect happens twice.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from aiohttp import web

from arvis.testing.openai_server import ReceivedRequest, Reply
from tests.crash import campaign
from tests.crash.builds import copied
from tests.crash.daemon import HELPER
from tests.crash.disturbances import Instant
from tests.crash.episode import Episode, Plan
from tests.crash.history import Boot, Call, Turn, token_of
from tests.crash.model import Delayed, text_of, words_of
from tests.crash.report import EpisodeResult, Report, by_kind, report_of
from tests.crash.rows import OFFENDERS, Rules, offending
from tests.crash.tool_work import Asks, Step, marked_executions
from tests.crash.triggers import Observation
from tests.crash.users import PAUSE_BETWEEN_TRIES, Refused, answer_questions
from tests.crash.verdict import COMMON_RULES, Found, Kind, judge
from tests.crash.version_tree import Exchange, Tree, offences, rows_of

THINKING = (0.02, 0.15)
OPERATIONS = ("write", "edit", "regenerate", "switch", "branch")
#: Share of the messages for which the model calls a tool that must not be repeated.
STAMPED = 0.5
#: Number of exchanges after which a user rewinds to an early message, so that conversations stay short.
LONG = 10
#: Seconds from ready to the wait for the next rewind, in which other operations are carried out.
BETWEEN = 1.0
#: A sentence of the prompt that follows a rewind with effects.
NOTED = "remain in effect: stamp"
#: The rules of chats. A copy in a branch has no execution and no delivery. An inactive reply still answers its message. Turns
#: that became inactive are still counted.
RULES: Rules = {
    **OFFENDERS,
    "an inbox row has exactly one reply or notice, of its own turn": """
        SELECT m.id, m.status, m.execution_id, m.answered_by FROM messages m
        WHERE m.role = 'user' AND m.execution_id IS NOT NULL AND 1 <> (
            SELECT count(*) FROM messages r WHERE r.role <> 'user' AND r.superseded = m.superseded
            AND r.execution_id = m.execution_id AND r.id = m.answered_by)""",
    "a reply is delivered": """
        SELECT r.id FROM messages r WHERE r.role = 'assistant' AND r.execution_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message_id = r.id)""",
    "a conversation counts its turns": """
        SELECT c.id, c.turns, max(m.turn) FROM conversations c JOIN messages m ON m.conversation_id = c.id
        GROUP BY c.id, c.turns HAVING c.turns < max(coalesce(m.turn, m.version_turn))""",
}
_OVER = frozenset({"answered", "failed", "cancelled", "dropped", "missing"})


@dataclass(frozen=True, slots=True)
class RewindPlan(Plan):
    """The settings of an episode with rewinds. The window is long enough for several operations on a busy machine."""

    window: float = 4.0
    patience: float = 300.0
    chats: int = 6


@dataclass(frozen=True, slots=True)
class Asked:
    """A model call: the exchanges in its prompt, the message that it answers, and whether it names earlier effects."""

    exchanges: Sequence[tuple[str, str]]
    token: str
    noted: bool


@dataclass(frozen=True, slots=True)
class History:
    """The facts of an episode."""

    boots: Sequence[Boot]
    #: Kind of operation -> how many were carried out.
    operations: Mapping[str, int]
    #: Operations whose request was interrupted, and whose outcome the user had to look up.
    looked_up: int
    calls: Sequence[Asked]
    #: Message -> the exchanges that a prompt with this message must contain.
    prefixes: Mapping[str, Sequence[tuple[str, str]]]
    #: Messages of new versions that removed exchanges with effects.
    after_effects: frozenset[str]
    #: Message and execution of each call of the tool, once for each time that it was made.
    marks: Sequence[tuple[str, str]]
    #: Differences between a conversation as the API lists it and as its user knows it.
    differences: Sequence[str] = ()
    problems: Sequence[str] = ()
    rows: Mapping[str, Sequence[str]] = field(default_factory=dict)


def a_prompt_contains_the_active_exchanges(history: History) -> Found:
    for number, call in enumerate(history.calls):
        expected = history.prefixes.get(call.token)
        if expected is not None and list(call.exchanges) != list(expected):
            yield Kind.OUT_OF_ORDER, f"call {number} to {call.token} has {call.exchanges}, not {expected}"


def a_prompt_names_the_effects_that_remain(history: History) -> Found:
    noted = {call.token for call in history.calls if call.noted}
    for token in sorted(history.after_effects - noted):
        yield Kind.MISSING, f"no call to {token} names the effects of the removed turns"


def an_effect_happens_once(history: History) -> Found:
    for (token, execution), count in Counter(history.marks).items():
        if count > 1:
            yield Kind.STORED_TWICE, f"the call for {token} of {execution} was made {count} times"


def pages_show_the_active_version(history: History) -> Found:
    for difference in history.differences:
        yield Kind.LOST, difference


JUDGED = (
    a_prompt_contains_the_active_exchanges,
    a_prompt_names_the_effects_that_remain,
    an_effect_happens_once,
    pages_show_the_active_version,
    *COMMON_RULES,
)


class RewindModel:
    """A model that names the message that it answers. For some messages, it first calls a tool."""

    def __init__(self, *, rng: Random) -> None:
        self._rng = rng
        self.calls: list[Asked] = []

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        messages = received.document["messages"]
        said = [
            Turn(each["role"], text_of(each["content"]))
            for each in messages
            if each["role"] in {"user", "assistant"} and "tool_calls" not in each
        ]
        call = Call(0, 0, 0.0, None, tuple(said), "")
        [token] = call.asked
        delay = self._rng.uniform(*THINKING)
        exchanges = [(asked[0], reply) for asked, reply in call.exchanges()]
        self.calls.append(Asked(exchanges, token, NOTED in json.dumps(messages)))
        newest = max(at for at, each in enumerate(messages) if token in json.dumps(each))
        used = any(each["role"] == "tool" for each in messages[newest:])
        if is_stamped(token) and not used:
            # The id of a call must be unique in a prompt, and an answer to the same message has another number.
            step = Step("stamp", token, {"key": token})
            return await Delayed(delay, Asks.of([step])).answer(received)
        text = f"Answer {len(self.calls)} to {token}."
        return await Reply(pieces=words_of(text), delay=delay / 2, pause=delay / 8).answer(received)


def is_stamped(token: str) -> bool:
    """Return whether the model calls the tool for this message."""
    return Random(token).random() < STAMPED


class RewindUser:
    """A person with one conversation, who does one thing after the other."""

    def __init__(self, episode: RewindEpisode, channel: str, rng: Random) -> None:
        self._episode = episode
        self._channel = channel
        self._rng = rng
        self._keys = itertools.count(1)
        self._conversation = ""
        self.trees: dict[str, Tree] = {}
        self.tree = Tree()

    async def act(self, over: asyncio.Event) -> None:
        """Do random things until `over` is set. An operation that was begun by then is finished."""
        await self._write()
        while not over.is_set():
            await asyncio.sleep(self._rng.expovariate(8.0))
            choices = ["write"] * 3 + ["edit"] * 3 + ["regenerate"] * 3 + ["branch"]
            choices += ["switch"] * 4 if self.tree.switchable() else []
            match self._rng.choice(choices):
                case "write" if len(self.tree.path) < LONG:
                    await self._write()
                case "switch":
                    await self._switch(self._rng.choice(self.tree.switchable()))
                case "branch":
                    await self._branch(self._rng.choice(self.tree.path))
                case kind:
                    await self._rewind(edits=kind == "edit")
            await self._compare(self._conversation, self.tree)

    async def _write(self, channel: str = "", tree: Tree | None = None) -> None:
        tree = self.tree if tree is None else tree
        token = self._episode.new_token(tree.prefix)
        place = channel or self._channel
        body = {"id": token, "content": _text(token), "userId": self._channel, "userName": self._channel}
        accepted = await self._settled("/api/messages", body | {"channelId": place})
        assert accepted is not None  # a message has its own id, so it is repeated
        await self._answered(tree, accepted["messageId"], token)
        self._episode.done["write"] += 1
        if not self._conversation:
            found = await self._read(f"/api/conversations?channel={self._channel}")
            self._conversation = found["items"][0]["id"]
            self.trees[self._conversation] = self.tree

    async def _rewind(self, *, edits: bool) -> None:
        """Answer a message again until a new version is listed."""
        tree = self.tree
        newest = len(tree.path) - 1
        at = self._rng.randint(0, newest) if newest >= LONG - 1 else max(0, newest - int(self._rng.expovariate(0.7)))
        old = tree.path[at]
        token = self._episode.new_token(tree.prefix[:at]) if edits else old.token
        path = f"/api/messages/{old.message_id}/{'edit' if edits else 'regenerate'}"
        body = {"content": _text(token)} if edits else None
        while True:
            self._episode.triggers.rewound.fire(Observation())
            await self._settled(path, body)
            shown = await self._versions()
            new = [each for each in shown if each["id"] not in tree.versions and each["messageId"] != old.message_id]
            if new:
                break
        if len(new) > 1:
            self._episode.differences.append(f"{path} made {len(new)} versions: {new}")
        if any(is_stamped(each.token) for each in tree.path[at:]):
            self._episode.after_effects.add(token)
        tree.rewind(at, new[-1], shown)
        await self._answered(tree, new[-1]["messageId"], token)
        self._episode.done["edit" if edits else "regenerate"] += 1

    async def _switch(self, version: str) -> None:
        """Activate a version until it is listed as active."""
        path = f"/api/conversations/{self._conversation}/versions/{version}/activate"
        while not any(each["active"] for each in await self._versions() if each["id"] == version):
            self._episode.triggers.rewound.fire(Observation())
            await self._settled(path, None)
        self.tree.switch(version)
        self._episode.done["switch"] += 1

    async def _branch(self, last: Exchange) -> None:
        """Branch at an exchange, and write a message in the new conversation."""
        at = self.tree.place_of(last.message_id)
        assert at is not None
        channel = f"{self._channel}-branch-{next(self._keys)}"
        while not (found := (await self._read(f"/api/conversations?channel={channel}"))["items"]):
            self._episode.triggers.rewound.fire(Observation())
            await self._settled(f"/api/messages/{last.message_id}/branch", {"channelId": channel})
        conversation = found[0]["id"]
        shown = [each for each in await self._listed(conversation) if each["role"] == "user"]
        copies = [
            replace(each, message_id=copy["id"]) for each, copy in zip(self.tree.path[: at + 1], shown, strict=False)
        ]
        branch = self.trees[conversation] = Tree(copies)
        await self._compare(conversation, branch)
        await self._write(channel, branch)
        await self._compare(conversation, branch)
        self._episode.done["branch"] += 1

    async def _answered(self, tree: Tree, message_id: str, token: str) -> None:
        """Wait for the reply to the newest message, and add both to the conversation."""
        while True:
            endpoint = await self._episode.endpoints.one(self._rng)
            try:
                timeline = await endpoint.timeline(message_id, wait=20.0)
            except Refused:
                await asyncio.sleep(PAUSE_BETWEEN_TRIES)
                continue
            if timeline.status in _OVER:
                break
        if timeline.status != "answered":
            self._episode.problems.append(f"{token} ended as {timeline.status}: {timeline.reason}")
        tree.path.append(Exchange(message_id, token, timeline.reply or ""))

    async def _compare(self, conversation: str, tree: Tree) -> None:
        """Compare the conversation as pages show it with the exchanges that this user knows."""
        shown = [each["content"] for each in await self._listed(conversation)]
        known = [text for each in tree.path for text in (_text(each.token), each.reply)]
        if shown != known:
            self._episode.differences.append(f"{conversation} shows {shown}, not {known}")

    async def _listed(self, conversation: str) -> list[Any]:
        found = await self._read(f"/api/conversations/{conversation}/messages?limit=100")
        said = [each for each in found["items"] if each["role"] in {"user", "assistant"} and each["question"] is None]
        return said[::-1]

    async def _versions(self) -> list[Any]:
        found: list[Any] = (await self._read(f"/api/conversations/{self._conversation}/versions"))["items"]
        return found

    async def _read(self, path: str) -> Any:
        while True:
            endpoint = await self._episode.endpoints.one(self._rng)
            try:
                status, document = await endpoint.call("GET", path)
            except (*Refused, json.JSONDecodeError):
                status, document = 503, None
            if status == 200:
                return document
            if status < 500:
                self._episode.problems.append(f"GET {path} was answered {status}: {document}")
                raise RuntimeError(path)
            await asyncio.sleep(PAUSE_BETWEEN_TRIES)

    async def _settled(self, path: str, body: object) -> Any:
        """Repeat a request with the same key until its outcome is final. Return None if the outcome is unknown."""
        key = f"{self._channel}-{next(self._keys)}"
        while True:
            endpoint = await self._episode.endpoints.one(self._rng)
            headers = endpoint.headers | {"Idempotency-Key": key}
            try:
                async with endpoint.session.post(endpoint.url + path, json=body, headers=headers) as answer:
                    status, document = answer.status, await answer.json(content_type=None)
            except (*Refused, json.JSONDecodeError):
                status, document = 503, None
            code = (document or {}).get("error", {}).get("code", "") if status >= 400 else ""
            if status < 300:
                return document
            if code == "outcome_unknown":
                self._episode.looked_up += 1
                return None
            if status < 500 and code != "in_progress":
                self._episode.problems.append(f"POST {path} was answered {status}: {document}")
                raise RuntimeError(path)
            await asyncio.sleep(PAUSE_BETWEEN_TRIES)


def _text(token: str) -> str:
    return f"Please answer {token}."


class RewindEpisode(Episode[RewindPlan, History]):
    def __init__(self, plan: RewindPlan) -> None:
        super().__init__(plan)
        self._model = RewindModel(rng=Random(self.rng.random()))
        self._numbers = itertools.count(1)
        self._users: list[RewindUser] = []
        self._prefixes: dict[str, Sequence[tuple[str, str]]] = {}
        self._marks: list[tuple[str, str]] = []
        self.after_effects: set[str] = set()
        self.differences: list[str] = []
        self.done: Counter[str] = Counter()
        self.looked_up = 0

    def model(self) -> RewindModel:
        return self._model

    async def settings(self, exits: AsyncExitStack) -> Mapping[str, Any]:
        return {**await super().settings(exits), "agents": [HELPER | {"tools": ["stamp"]}]}

    def new_token(self, prefix: Sequence[tuple[str, str]]) -> str:
        """Return the token of a new message, whose prompt must contain these exchanges."""
        token = token_of(next(self._numbers))
        self._prefixes[token] = list(prefix)
        return token

    async def start_load(self) -> None:
        for chat in range(self.plan.chats):
            user = RewindUser(self, f"chat-{chat}", Random(self.rng.random()))
            self._users.append(user)
            self.in_background(user.act(self.over), writes=True)
        self.in_background(answer_questions(self.endpoints, Random(self.rng.random())))

    async def drain(self, end: float) -> None:
        """The users wait for the replies, so at the end of their tasks nothing is left to do."""
        if any(not task.done() for task in self._writers):
            self.problems.append(f"Not over {self.plan.patience:.0f} s after the last kill")

    def inspect(self) -> dict[str, list[str]]:
        self._marks = marked_executions(self.data)
        found = offending(self.data, self.plan.database, rules=RULES)
        trees = {conversation: tree for user in self._users for conversation, tree in user.trees.items()}
        messages, versions = rows_of(self.data, self.plan.database)
        for conversation in {row["conversation_id"] for row in messages}:
            own, its_versions = (
                [row for row in rows if row["conversation_id"] == conversation] for rows in (messages, versions)
            )
            for rule, detail in offences(trees.get(conversation, Tree()), own, its_versions):
                found.setdefault(rule, []).append(f"{conversation}: {detail}")
        return found

    def history(self) -> History:
        return History(
            boots=self.boot_log.boots,
            operations=dict(self.done),
            looked_up=self.looked_up,
            calls=self._model.calls,
            prefixes=self._prefixes,
            after_effects=frozenset(self.after_effects),
            marks=self._marks,
            differences=self.differences,
            problems=tuple(self.problems),
            rows=self.rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(EpisodeResult):
    """The figures of an episode with rewinds."""

    operations: Mapping[str, int]
    looked_up: int
    stamps: int

    @property
    def figures(self) -> Mapping[str, Any]:
        counts = {kind: self.operations.get(kind, 0) for kind in OPERATIONS}
        return {"kills": self.kills, **counts, "interrupted": self.looked_up, "effects": self.stamps}


async def play_one(plan: RewindPlan) -> Result:
    """Play and judge one episode."""
    return await campaign.play(plan, RewindEpisode, result_of)


def result_of(seed: str, history: History, seconds: float) -> Result:
    return Result(
        seed=seed,
        seconds=seconds,
        kills=sum(boot.killed for boot in history.boots),
        operations=history.operations,
        looked_up=history.looked_up,
        stamps=len(history.marks),
        violations=judge(JUDGED, history),
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--episode", type=int, default=25, help="kills per data folder (default 25)")
    parser.add_argument("--database", help="URL of a PostgreSQL server; each episode creates its own database")


def play(options: argparse.Namespace) -> Report:
    with copied() as code:
        plans = [
            RewindPlan(
                case.seed,
                case.disturbances,
                code,
                instant=Instant.REWOUND if number % 2 else Instant.RANDOM,
                wait_before=BETWEEN if number % 2 else 0.0,
                server=options.database,
            )
            for number, case in enumerate(campaign.cases_of(options.seed, options.kills, options.episode))
        ]
        results = asyncio.run(campaign.play_all(map(play_one, plans)))
    figures = {name: sum(result.figures[name] for result in results) for name in results[0].figures}
    return report_of({**figures, **by_kind(results)}, results)
