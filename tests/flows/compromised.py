"""A harness whose model is controlled by an attacker: it returns the attack, whatever the prompt says.

The model is a real server that a real provider calls; store, queue, engine and flow are real, too. Every attack has
its own channel and people, so that none can build on another one. Changes by an attack are found by comparing all
rows for rights, duties and secrets before and after it, read without the store.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from arvis.domain.agents import Agent, AgentStatus, Binding
from arvis.domain.events import Delta
from arvis.domain.memory import Category, NewFact, principal_scope, room_scope
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, PrincipalRole, Sender
from arvis.domain.money import Client
from arvis.domain.runs import Account
from arvis.domain.schedules import Missed, Schedule, ScheduleKind
from arvis.memory.service import remember
from arvis.net.client import open_http_client
from arvis.ports.store import Transaction
from arvis.process.clock import SystemClock
from arvis.providers.openai import create
from arvis.services import billing
from arvis.store.open import Database
from arvis.testing.openai_server import Behaviour, OpenAIServer, ReceivedRequest, Reply, openai_server
from arvis.testing.providers import provider_services
from tests.flows.app_harness import AppHarness, Models, open_app
from tests.flows.scripted import BOT, PLATFORM, ScriptedTool

PAGE_TOOL = "http_fetch"
OTHERS = "bob"

Row = tuple[Any, ...]
World = Mapping[str, frozenset[Row]]

AGENTS = (
    Agent(id="agent-conductor", slug="conductor", name="Conductor", role="conductor", tools=(PAGE_TOOL,)),
    Agent(id="agent-helper", slug="helper", name="Helper", tools=(PAGE_TOOL,)),
    Agent(id="agent-news", slug="news", name="News", description="reads the news"),
    Agent(id="agent-shell", slug="shell", name="Shell", tools=("run_shell",)),
    Agent(id="agent-private", slug="private", name="Private", allow_users=(OTHERS,)),
    Agent(id="agent-paused", slug="paused", name="Paused", status=AgentStatus.PAUSED),
    *(Agent(id=f"agent-a{number}", slug=f"a{number}", name=f"A{number}") for number in range(1, 7)),
)
MORNING = Schedule(
    id="cron-morning", kind=ScheduleKind.CRON, agent_id="agent-news", name="morning", schedule="0 8 * * *", timezone=None,
    prompt="Tell the news.", platform=PLATFORM, connector=BOT, channel="hall", script=None, missed=Missed.ONCE,
    enabled=True, principal_id=None, last_run=None, next_run=4_000_000_000_000, created_at=1, updated_at=1,
)  # fmt: skip
WATCH = replace(MORNING, id="beat-watch", kind=ScheduleKind.HEARTBEAT, name="watch", schedule="every 10m")


def furnish(tx: Transaction) -> None:
    """Store what an attack could take: an agent's channel, schedules, a customer, and facts about another person."""
    now = 1
    tx.agents.bind(Binding(PLATFORM, "bound", "agent-news"), now)
    tx.schedules.add(MORNING)
    tx.schedules.add(WATCH)
    billing.add_client(tx, Client(id="", name="Acme"), now)
    bob = tx.principals.seen(PLATFORM, OTHERS, "Bob", PrincipalRole.MEMBER, now)
    fact = NewFact(
        "agent-helper", principal_scope(bob.id), Category.USER_PREFERENCE, "Bob drinks tea", author_id=bob.id
    )
    remember(tx, fact, by_id=bob.id, now=now)


@asynccontextmanager
async def compromised_app(database: Database) -> AsyncIterator[Stage]:
    """Run the harness with its model, and the stage for all attacks, one after the other."""
    async with openai_server() as server, open_http_client() as http:
        account = Account("main", "custom", "model", base_url=server.base_url)
        provider = create("custom", provider_services(http, SystemClock()))
        async with open_app(database, agents=AGENTS, models=Models({"custom": provider}, [account])) as app:
            app.tools.look = ScriptedTool(PAGE_TOOL)
            await app.store.write(furnish)
            with closing(Disk(database.file)) as disk:
                yield Stage(app=app, server=server, disk=disk)


# -- the rows before and after -----------------------------------------------------------------------------

#: The tables that an attack might want to change.
TABLES = (
    "accounts", "agent_versions", "agents", "bindings", "client_channels", "clients", "delegations", "deliveries",
    "facts", "kv", "login_codes", "principals", "schedules", "sessions", "settings", "skills", "agent_state", "variables",
)  # fmt: skip
#: Columns that change without an attack: times, usage, the state of deliveries, and the last direct chat of an owner.
_RESTLESS = {"updated_at", "accessed_at", "access_count", "seen_at", "settled_at", "state", "platform_id"}
_RESTLESS_VALUE = "owner_message"


class Disk:
    """The rows of the database, read directly from its file."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        self._connection.row_factory = sqlite3.Row
        self._columns = {table: ", ".join(self._restful(table)) for table in TABLES}

    def close(self) -> None:
        self._connection.close()

    def rows(self, source: str, *values: Any) -> list[dict[str, Any]]:
        """Return rows in the order in which they were written, unless `source` says otherwise."""
        return [dict(row) for row in self._connection.execute(f"SELECT * FROM {source}", values)]

    def world(self, *channels: str) -> World:
        """Return everything except the messages in the channels of the attack itself."""
        found = {
            table: self._connection.execute(f"SELECT {names} FROM {table}") for table, names in self._columns.items()
        }
        world = {table: frozenset(map(tuple, rows)) for table, rows in found.items()}
        return world | {
            "deliveries": frozenset(row for row in world["deliveries"] if not set(channels) & set(row)),
            "kv": frozenset(row for row in world["kv"] if _RESTLESS_VALUE not in row),
        }

    def _restful(self, table: str) -> list[str]:
        names = [row["name"] for row in self.rows("pragma_table_info(?)", table)]
        return [name for name in names if name not in _RESTLESS]


def changes(before: World, after: World) -> dict[str, int]:
    """Return the numbers of new, changed and removed rows of each table."""
    found = {name: max(len(after[name] - before[name]), len(before[name] - after[name])) for name in TABLES}
    return {table: number for table, number in found.items() if number}


# -- the model ---------------------------------------------------------------------------------------------


class Echo:
    """A behaviour that repeats the last text of a person or a tool."""

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        told = [message for message in received.document["messages"] if message["role"] in {"user", "tool"}]
        return await Reply(pieces=_pieces(_text_of(told[-1]["content"]))).answer(received)


def _text_of(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _pieces(text: str) -> tuple[str, ...]:
    """Cut the text at critical places: in the middle of the first tag, and of the text."""
    cuts = sorted({0, min(4, len(text)), len(text) // 2, len(text)})
    return tuple(text[start:end] for start, end in pairwise(cuts))


@dataclass(slots=True)
class Meanwhile:
    """A behaviour that returns this text after another action has happened."""

    text: str
    asked: asyncio.Event
    go: asyncio.Event

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        self.asked.set()
        await self.go.wait()
        return await Reply(pieces=_pieces(self.text)).answer(received)


# -- the list ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attack:
    """One text in one scene. `expect` counts the required audit entries (`refused:no_right`, or `refused` for any
    reason), `leaves` the rows that may be new or changed afterwards because they do no harm. `asks` and `page` are
    the texts of the person and of the web page; with `echo` the model repeats what it reads."""

    name: str
    scene: str
    says: str
    expect: Mapping[str, int]
    leaves: Mapping[str, int]
    asks: str
    page: str
    echo: bool

    @property
    def behaviour(self) -> Behaviour:
        return Echo() if self.echo else Reply(pieces=_pieces(self.says))


def attacks_of(file: Path) -> Iterator[Attack]:
    for entry in yaml.safe_load(file.read_text("utf-8")):
        for scene, expected in entry["in"].items():
            yield Attack(
                name=f"{scene}: {entry['attack']}",
                scene=scene,
                says=_says(entry),
                expect=_counts(expected),
                leaves=entry.get("leaves", {}),
                asks=entry.get("asks", "What can you do for me?").rstrip("\n"),
                page=entry.get("page", "A page about nothing.").rstrip("\n"),
                echo=bool(entry.get("echo")),
            )


def _says(entry: Mapping[str, Any]) -> str:
    text = str(entry.get("says", "")).replace("{x}", "x" * int(entry.get("fill", 0)))
    return "".join(text.replace("{n}", str(number)) for number in range(int(entry.get("times", 1))))


def _counts(expected: str | list[str] | Mapping[str, int]) -> Mapping[str, int]:
    if expected == "none":
        return {}
    return Counter([expected] if isinstance(expected, str) else expected)


# -- the stage ---------------------------------------------------------------------------------------------

_OPENER = re.compile(
    r"\[/?(?:(?:MEMORY|STATE|DELEGATE):[\w.-]{1,64}(?: report)?|(?:CREATE|LIST)_[A-Z]+|"
    r"(?:UPDATE|PAUSE|DELETE)_[A-Z]+:[\w .-]{1,64})\]|</?(?:AGENT_|RESPONSE-METADATA|KEY_RESULT)|^MESSAGE TO SEND:",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)


class Stage:
    """A stage for attacks. Each attack has its own channel and people: an `owner`, an `operator`, a paired `member` and
    an unpaired `stranger`."""

    def __init__(self, *, app: AppHarness, server: OpenAIServer, disk: Disk) -> None:
        self.app = app
        self.server = server
        self.disk = disk
        self.channel = ""
        self._number = 0

    async def begin(self) -> World:
        """Prepare a new channel and new people, and record the state before the attack."""
        self._number += 1
        self.channel = f"channel-{self._number}"
        self.app.events.clear()
        self.server.script.clear()
        await self.app.store.write(self._meet)
        return self.world()

    def world(self) -> World:
        return self.disk.world(self.channel, self.channel_before)

    @property
    def channel_before(self) -> str:
        """Use a channel that may already have messages."""
        return f"{self.channel}-before"

    def _meet(self, tx: Transaction) -> None:
        for who, role in _CAST.items():
            tx.principals.seen(PLATFORM, self.user_id(who), who.title(), role, self.app.clock.now())

    def user_id(self, who: str) -> str:
        return f"{who}-{self._number}"

    async def say(self, who: str, agent: str, text: str, *, direct: bool = True, channel: str = "", **more: Any) -> str:
        """Send a message, and return its id."""
        role = _CAST[who]
        sender = Sender(self.user_id(who), who.title(), role, paired=who != "stranger")
        message = IncomingMessage(
            address=Address(PLATFORM, BOT, channel or self.channel),
            event_id=self.app.new_id(),
            sender=sender,
            content=text,
            assigned_agent=agent,
            is_direct=direct,
            addressed=True,
            **more,
        )
        received = await self.app.inbox.receive(message)
        assert received.status is MessageStatus.ACCEPTED, received
        return received.message_id

    async def ask(self, who: str, agent: str, text: str, **more: Any) -> None:
        """Send a message, and wait for the answer and its consequences; an agent that reports that it is blocked
        waits for the person."""
        message_id = await self.say(who, agent, text, **more)
        await self.app.until_status(message_id, MessageStatus.ANSWERED, MessageStatus.WAITING)
        await self.app.until_idle()

    async def forget(self) -> None:
        """Let later messages in this channel have no history."""
        place = Address(PLATFORM, BOT, self.channel)

        def script(tx: Transaction) -> None:
            for conversation in tx.conversations.in_place(place):
                tx.conversations.close(conversation.id, self.app.clock.now())

        await self.app.store.write(script)

    def audit(self, since: int) -> list[dict[str, Any]]:
        return self.disk.rows("audit WHERE rowid > ? ORDER BY rowid", since)

    def audited(self) -> int:
        """Return the number of the newest audit entry."""
        [row] = self.disk.rows("(SELECT coalesce(max(rowid), 0) AS last FROM audit)")
        return int(row["last"])

    def kept(self, message_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the facts and states that answers to these messages stored."""
        where = f"WHERE message_id IN ({', '.join('?' * len(message_ids))})"
        return [row for table in ("facts", "agent_state") for row in self.disk.rows(f"{table} {where}", *message_ids)]

    def scopes(self) -> set[str]:
        """Return the scopes whose memory may be written here."""
        mine = {self.user_id(who) for who in _CAST}
        people = {principal_scope(row["id"]) for row in self.disk.rows("principals") if row["user_id"] in mine}
        return people | {room_scope(Address(PLATFORM, BOT, self.channel))}

    def shown(self) -> list[str]:
        """Return all texts that people saw in this channel, sent or streamed, except for the questions, which show a
        change exactly."""
        sent = self.disk.rows("deliveries WHERE channel IN (?, ?)", self.channel, self.channel_before)
        streams: dict[str, str] = {}
        for event in self.app.events:
            if isinstance(event, Delta):
                streams[event.message_id] = streams.get(event.message_id, "") + event.text
        texts = [str(row["content"]) for row in sent] + list(streams.values())
        return [text for text in texts if "\nAsked for by " not in text]


_CAST = {
    "owner": PrincipalRole.OWNER,
    "operator": PrincipalRole.OPERATOR,
    "member": PrincipalRole.MEMBER,
    "stranger": PrincipalRole.MEMBER,
}


def openers_in(text: str) -> list[str]:
    """Return texts that look like a tag, outside of fenced code."""
    return _OPENER.findall(_FENCE.sub("", text))
