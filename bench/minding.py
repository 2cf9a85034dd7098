"""The benchmark row about the cost of a turn before the model call: reading its data, and composing the prompt."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from arvis.domain.agents import Agent
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Sender
from arvis.graphs.agent.prompt import PromptBuilder, PromptInputs
from arvis.graphs.context import load_turn_context
from arvis.llm.model_limits import ModelLimits
from arvis.llm.runner import Runner
from arvis.llm.tokens import estimate_tokens
from arvis.ports.store import Store, Transaction
from arvis.process.clock import IdMaker, SystemClock
from arvis.store.open import Database, bring_up_to_date, open_store
from arvis.store.sqlite.checkpoint import kept_log, sums_file
from arvis.testing.providers import GivenProviders
from arvis.turns.turns import begin_turn
from bench.report import Figure, Target
from bench.rounds import Round, Setting, in_turn

SHORT, LONG = 100, 100_000
#: The number of messages without a summary, and the number of summaries of all other messages, in both conversations.
RECENT, SUMMARIES = 60, 4
TEXT = "What we agreed on: the crane comes to the harbour on Monday, and somebody has to be there at seven."
SUMMARY = f"- {TEXT}\n" * 10

_ADDRESS = Address("web", "web", "bench")
_FLAT = Target(1.2, 1.05, of_ratio=True, lower=True)

_MESSAGES = """
WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT {count})
INSERT INTO messages (
    id, conversation_id, role, content, tokens, status, platform, connector, channel, thread, principal_id, user_name,
    agent_id, position, turn, superseded, created_at, compaction_id
)
SELECT printf('%026d', n), '{conversation}', CASE n % 2 WHEN 1 THEN 'user' ELSE 'assistant' END, '{text}', {tokens},
    'answered', 'web', 'web', 'bench', '', CASE n % 2 WHEN 1 THEN '{principal}' END, 'Ann', '{agent}', 2 - n % 2,
    (n + 1) / 2, 0, {now} + n, CASE WHEN n <= {count} - {recent} THEN printf('%026d', (n - 1) / {each}) END
FROM counted
"""
_COMPACTIONS = """
WITH RECURSIVE counted (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted LIMIT {count} / {each} + 1)
INSERT INTO compactions (
    id, conversation_id, execution_id, first_turn, last_turn, summary, tokens, taint, messages_before, messages_after,
    tokens_saved, status, created_at
)
SELECT printf('%026d', n), '{conversation}', 'none', n * {each} / 2, (n + 1) * {each} / 2, '{summary}', {summary_tokens},
    '', 0, 0, 0, 'active', {now}
FROM counted WHERE (n + 1) * {each} / 2 <= ({count} - {recent}) / 2
"""


async def prompt_cost(setting: Setting) -> list[Figure]:
    """Compare a conversation of 100,000 messages with one of 100: compacted messages must cost nothing."""
    prompts = max(50, setting.scale.work // 10)
    async with (
        _conversation(setting.folder / "long", LONG) as long,
        _conversation(setting.folder / "short", SHORT) as short,
    ):
        paired = await in_turn(prompts, short, long)
    against = "the same with 100 messages"
    return [Figure("prompt of 100,000 messages", paired.value, "ms", paired.control, against, paired.ratio, _FLAT)]


@asynccontextmanager
async def _conversation(folder: Path, messages: int) -> AsyncIterator[Round]:
    """Yield a round that builds one prompt of a conversation with this number of messages, and returns the
    milliseconds."""
    clock = SystemClock()
    database = _fresh(folder, clock.now())
    new_id = IdMaker(clock=clock, random_bits=secrets.randbits)
    async with open_store(database, boot="bench", new_id=new_id) as (store, _):
        execution = await store.write(_begin, clock.now())
    _fill(database, execution, messages, clock.now())
    bring_up_to_date(database, clock.now())
    async with open_store(database, boot="bench", new_id=new_id) as (store, _):
        prompt_builder = _prompt_builder(clock, new_id)
        yield lambda: _one(store, prompt_builder, execution, clock.now())


async def _one(store: Store, prompt_builder: PromptBuilder, execution: Execution, now: int) -> float:
    begun = time.perf_counter()
    turn = await store.read(load_turn_context, execution, now)
    prompt = prompt_builder.prompt(
        turn, PromptInputs(skills=(), tools=(), rounds=(), shrunk=False, now=now), prompt_builder.limits(turn)
    )
    took = (time.perf_counter() - begun) * 1000
    if prompt.left_out or len(turn.history) < RECENT or not turn.summaries:
        held = f"{len(turn.history)} messages, {len(turn.summaries)} summaries, {prompt.left_out} left out"
        raise RuntimeError(f"the prompt is not what it should be: {held}")
    return took


def _fresh(folder: Path, now: int) -> Database:
    folder.mkdir()
    database = Database(folder / "arvis.db", None, folder, 1)
    bring_up_to_date(database, now)
    return database


def _begin(tx: Transaction, now: int) -> Execution:
    agent = Agent(tx.new_id(), "helper", "Helper")
    tx.agents.add(agent, now)
    principal = tx.principals.seen("web", "ann", "Ann", PrincipalRole.MEMBER, now)
    incoming = IncomingMessage(_ADDRESS, "event", Sender("ann", "Ann"), TEXT, is_direct=True)
    message = begin_turn(tx, incoming, agent=agent, route="bench", principal=principal, attachments=(), now=now)
    execution = tx.executions.get(message.execution_id or "")
    if execution is None:
        raise RuntimeError("the turn has no execution")
    return execution


def _fill(database: Database, execution: Execution, count: int, now: int) -> None:
    """Fill the database with plain statements, because the store's scripts would take minutes for the same rows."""
    values = {
        "count": count,
        "conversation": execution.state["conversation"],
        "agent": execution.state["agent"],
        "principal": execution.principal_id,
        "text": TEXT,
        "tokens": estimate_tokens(TEXT),
        "summary": SUMMARY,
        "summary_tokens": estimate_tokens(SUMMARY),
        "recent": RECENT,
        "each": (count - RECENT) // SUMMARIES,
        "now": now,
    }
    with closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute(_MESSAGES.format(**values))
        connection.execute(_COMPACTIONS.format(**values))
    # Without these files the next start computes the checksums of the pages again.
    sums_file(database.file).unlink(missing_ok=True)
    kept_log(database.file).unlink(missing_ok=True)


def _prompt_builder(clock: SystemClock, new_id: IdMaker) -> PromptBuilder:
    runner = Runner(
        providers=GivenProviders({}),
        accounts=list,
        clock=clock,
        new_id=new_id,
        random=lambda: 0.0,
        limits=ModelLimits(windows={}),
    )
    return PromptBuilder(runner=runner, zone="UTC")
