"""`/stop`, `/agents` and `/usage`, and the replies of `/why` and `/help` by channel, through the whole flow."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from arvis.domain.agents import Agent, AgentStatus
from arvis.domain.messages import MessageStatus
from arvis.domain.money import MICROS
from arvis.llm.prices import Price, Prices
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, open_app
from tests.flows.scripted import Held

NEWS = Agent(id="agent-news", slug="news", name="News", description="reads the news")
CODER = Agent(id="agent-coder", slug="coder", name="Coder", tools=("run_shell",))
ASLEEP = Agent(id="agent-asleep", slug="asleep", name="Asleep", status=AgentStatus.PAUSED)
CONDUCTOR = Agent(id="agent-conductor", slug="conductor", name="Conductor", role="conductor")
PRICES = Prices(own={"scripted/model": Price(input=1.0, output=2.0)})


@pytest.fixture
async def crowd(either_database: Database) -> AsyncIterator[AppHarness]:
    agents = (HELPER, NEWS, CODER, ASLEEP, CONDUCTOR)
    async with open_app(either_database, agents=agents, prices=PRICES) as app:
        yield app


async def reply_to(app: AppHarness, text: str, **more: object) -> list[str]:
    reply = (await app.ask(text, **more)).reply
    assert reply is not None
    return reply.splitlines()


async def test_stop_ends_what_is_at_work_for_the_asker(either_app: AppHarness) -> None:
    app = either_app
    held = Held()
    app.provider.script.append(held)
    asked = await app.say("take your time")
    await held.until_begun()
    assert await reply_to(app, "/stop", user="bob", is_direct=False) == ["Nothing is running for you here."]
    assert await reply_to(app, "/stop") == ["Your request was cancelled."]
    await app.until_status(asked.message_id, MessageStatus.CANCELLED)
    await held.until_cancelled()
    assert await reply_to(app, "/stop") == ["Nothing is running for you here."]


async def test_owners_stop_everybody(app: AppHarness) -> None:
    held = Held()
    app.provider.script.append(held)
    asked = await app.say("take your time", is_direct=False)
    await held.until_begun()
    assert await reply_to(app, "/stop", user="owner", is_direct=False) == ["Your request was cancelled."]
    await app.until_status(asked.message_id, MessageStatus.CANCELLED)


async def test_a_bot_of_one_agent_names_nobody_else(crowd: AppHarness) -> None:
    assert await reply_to(crowd, "/agents", user="owner") == ["The agent here is Helper"]


async def test_agents_names_those_that_the_asker_may_ask(crowd: AppHarness) -> None:
    owner = {"user": "owner", "assigned_agent": None}
    assert await reply_to(crowd, "/agents", **owner) == [
        "The agent here is Conductor",
        "You can also address these agents here by mentioning them:",
        "@coder: Coder",
        "@helper: Helper",
        "@news: News, reads the news",
    ]

    def pair(tx: Transaction) -> None:
        tx.principals.pair(tx.principals.seen("chat", "ann", "Ann", None, 1).id, 1)

    await crowd.store.write(pair)
    ann = await reply_to(crowd, "/agents", assigned_agent=None)
    assert ann[0] == "The agent here is Conductor"
    assert "@coder: Coder" in ann


async def test_usage_of_a_person_and_of_all(crowd: AppHarness) -> None:
    for user in ("ann", "ann", "bob"):
        await crowd.ask("Hello", user=user, channel=f"dm-{user}")
    cost = (10 * 1.0 + 5 * 2.0) / MICROS
    ann = await reply_to(crowd, "/usage", channel="dm-ann")
    assert ann == [
        f"You {when}: 2 questions, 20 tokens in, 10 out, ${2 * cost:.5f}." for when in ("today", "this month")
    ]
    owner = await reply_to(crowd, "/usage", user="owner", channel="dm-owner")
    assert owner[0] == "You today: 0 questions, 0 tokens in, 0 out, $0.00."
    assert owner[2:] == [f"The whole system {when}: 3 questions, ${3 * cost:.5f}." for when in ("today", "this month")]
    assert len(await reply_to(crowd, "/usage", user="owner", channel="room", is_direct=False)) == 2


async def test_usage_counts_the_questions_of_an_owner_that_cost_nothing(either_app: AppHarness) -> None:
    for text in ("One", "Two"):
        await either_app.ask(text, user="owner")
    person, _, app, _ = await reply_to(either_app, "/usage", user="owner")
    assert person == "You today: 2 questions, 20 tokens in, 10 out, $0.00."
    assert app == "The whole system today: 2 questions, $0.00."


async def test_why_a_direct_message_was_dropped(either_app: AppHarness) -> None:
    app = either_app
    dropped = await app.say("is anybody there?", assigned_agent=None)
    assert dropped.status is MessageStatus.DROPPED
    first, *_ = await reply_to(app, "/why")
    assert first.startswith("Your message “is anybody there?”: not answered (dropped): there is no active conductor")
    await app.ask("and now?")
    assert (await reply_to(app, "/why"))[0].startswith("Your message “and now?”: answered")


async def test_why_tells_nobody_of_others(app: AppHarness) -> None:
    await app.say("a secret", user="bob", assigned_agent=None, is_direct=False)
    assert await reply_to(app, "/why", is_direct=False) == ["You have sent no message in this conversation yet."]


async def test_help_says_how_to_speak_to_the_bot(app: AppHarness) -> None:
    group = {"is_direct": False, "channel": "group"}
    expected = "Here Helper answers people who mention it, reply to its messages, or send a command."
    assert (await reply_to(app, "/help", **group))[-1] == expected

    def name(tx: Transaction) -> None:
        tx.bots.put_identity("chat", "main", user_id="7", user_name="arvis_bot", now=1)

    await app.store.write(name)
    assert (await reply_to(app, "/help", **group))[-1] == expected.replace("mention it", "mention @arvis_bot")
