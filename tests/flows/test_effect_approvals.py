"""Actions that need an approval: the question with the exact change, the people who may answer, and the effect of the
answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from arvis.actions import change_approvals
from arvis.actions.context import Limits
from arvis.approvals import approvers_of
from arvis.bus import EventBus
from arvis.domain.agents import AgentStatus
from arvis.domain.effects import EffectKind, Outcome, Proposal
from arvis.domain.errors import Conflict, Forbidden
from arvis.domain.executions import Execution, ExecutionStatus, Wait
from arvis.domain.jobs import JobKind
from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.taint import CLEAN, Taint
from arvis.engine import lifecycle
from arvis.engine.engine import Engine
from arvis.operations import StoreOperations
from arvis.ports.insights import Insights
from arvis.ports.operations import WaitAnswer
from arvis.ports.store import Store, Transaction
from arvis.store.open import Database, open_store
from arvis.store.sqlite.errors import ALONE
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import id_maker, migrated
from tests.flows.effects_kit import CONDUCTOR, HELPER, NEWS, NOW, PLACE, TAINTED, applied, furnish, person, wish
from tests.flows.engine_kit import PLENTY

DAY_SECONDS = 86_400
OWNER, OPERATOR, MEMBER = PrincipalRole.OWNER, PrincipalRole.OPERATOR, PrincipalRole.MEMBER


class Room:
    """A channel in which actions are proposed, with an engine that executes the jobs."""

    def __init__(self, store: Store, insights: Insights, *, on_expiry: str, approvers: str) -> None:
        self.store = store
        self.insights = insights
        self.clock = SteppedClock(now=NOW)
        graph = change_approvals.proposal_graph(deadline_ms=DAY_SECONDS * 1000, on_expiry=on_expiry)
        self._engine = Engine(
            store=store, graphs={graph.name: graph}, clock=self.clock, bus=EventBus(), new_id=id_maker()
        )
        self._operations = StoreOperations(
            store=store, bus=EventBus(), clock=self.clock, approvers=approvers_of(approvers)
        )

    async def ask(
        self, *proposals: Proposal, role: PrincipalRole = OWNER, taint: Taint = TAINTED, helper: bool = False
    ) -> list[Outcome]:
        """Propose these actions in a turn, store the questions, and return the outcomes."""
        agent = HELPER if helper else CONDUCTOR

        def script(tx: Transaction) -> list[Outcome]:
            return [result.outcome for result in applied(tx, list(proposals), agent=agent, role=role, taint=taint)]

        found = await self.store.write(script)
        await self.work()
        return found

    async def work(self) -> None:
        """Do the due jobs, except deliveries."""
        now = self.clock.now()
        await self.store.write(lifecycle.expire, now)
        for job in await self.store.write(lambda tx: tx.jobs.claim(PLENTY, "boot", "node", now, now + 30_000)):
            if job.kind is JobKind.ADVANCE:
                await self._engine.advance(job, completion=_completion)

    async def waits(self) -> list[Wait]:
        page = await self.insights.waits(open_only=True, limit=50, cursor=None)
        return list(page.items)

    async def answer(self, decision: str, by: PrincipalRole = OWNER) -> None:
        [wait] = await self.waits()
        who = await self.store.write(_person, by)
        await self._operations.answer_wait(wait.id, WaitAnswer(decision), who)
        await self.work()

    async def said(self) -> list[str]:
        """Return the texts in the channel, in order."""
        return [delivery.content for delivery in await self.insights.deliveries_after(PLACE, 0, 100)]

    async def audit(self) -> list[tuple[Outcome, str | None]]:
        page = await self.insights.audit(agent="conductor", kind=None, outcome=None, limit=50, cursor=None)
        return [(entry.outcome, entry.reason) for entry in reversed(page.items)]


def _completion(execution: Execution) -> Callable[[Transaction, int], None]:
    """Complete an execution of this graph as the message flow does."""

    def closing(tx: Transaction, now: int) -> None:
        if execution.status is ExecutionStatus.DONE:
            change_approvals.conclude(tx, execution, now, limits=Limits())
        else:
            change_approvals.post_question(tx, execution, now)

    return closing


def _person(tx: Transaction, role: PrincipalRole) -> Principal:
    found = person(tx, role)
    assert found is not None
    return found


@asynccontextmanager
async def opened_room(
    database: Database, *, on_expiry: str = "reject", approvers: str = "owners"
) -> AsyncIterator[Room]:
    migrated(database, NOW)
    async with open_store(database, boot="boot", new_id=id_maker(), emergency=ALONE) as (store, insights):
        await store.write(furnish)
        yield Room(store, insights, on_expiry=on_expiry, approvers=approvers)


@pytest.fixture
async def room(database: Database) -> AsyncIterator[Room]:
    async with opened_room(database) as room:
        yield room


@pytest.fixture
async def either_room(either_database: Database) -> AsyncIterator[Room]:
    async with opened_room(either_database) as room:
        yield room


async def test_a_tainted_turn_asks_with_the_exact_change_and_a_yes_makes_it(either_room: Room) -> None:
    room = either_room
    update = wish(EffectKind.UPDATE_AGENT, description="reads\nscience", prompt="Tell.\u202e")
    assert await room.ask(update) == [Outcome.ASKED]
    [question] = await room.said()
    assert question.startswith(
        "Conductor wants to change the agent “news”.\n"
        "```\n"
        '  description: "reads the news" → "reads\\nscience"\n'
        '  prompt: "" → "Tell.\\u202e"\n'
        "```\n"
        "Asked for by Owner ("
    )
    assert "The agent has also read data from: tools." in question
    assert (
        "An owner can answer “approve” or “reject”: press a button, write it here or run `arvis questions answer"
        in question
    )
    await room.answer("approve")
    assert (await room.said())[1:] == ["Done: changed the agent “news” (Owner approved it)."]
    found = await room.store.read(lambda tx: tx.agents.by_slug("news"))
    assert found is not None
    assert (found.description, found.prompt) == ("reads\nscience", "Tell.\u202e")
    assert await room.audit() == [(Outcome.ASKED, "approval"), (Outcome.DONE, None)]


async def test_a_no_changes_nothing(room: Room) -> None:
    assert await room.ask(wish(EffectKind.DELETE_AGENT), taint=CLEAN) == [Outcome.ASKED]
    await room.answer("reject")
    assert (await room.said())[1:] == ["Not done: delete the agent “news” (Owner rejected it)."]
    assert await room.store.read(lambda tx: tx.agents.by_slug("news")) == NEWS
    assert await room.audit() == [(Outcome.ASKED, "approval"), (Outcome.REFUSED, "rejected")]


async def test_no_answer_in_time_is_a_no(room: Room) -> None:
    await room.ask(wish(EffectKind.PAUSE_AGENT))
    await room.clock.sleep(DAY_SECONDS + 1)
    await room.work()
    assert (await room.said())[1:] == ["Not done: pause the agent “news” (no answer arrived in time)."]
    assert await room.audit() == [(Outcome.ASKED, "approval"), (Outcome.REFUSED, "expired")]


@pytest.mark.parametrize("role", [OPERATOR, MEMBER])
async def test_only_who_approves_tools_answers(room: Room, role: PrincipalRole) -> None:
    await room.ask(wish(EffectKind.CREATE_AGENT))
    with pytest.raises(Forbidden):
        await room.answer("approve", by=role)
    assert await room.store.read(lambda tx: tx.agents.by_slug("support")) is None


async def test_the_yes_counts_only_for_what_was_shown(room: Room) -> None:
    await room.ask(wish(EffectKind.UPDATE_AGENT, name="Science"))
    changed = replace(NEWS, name="Sports")
    await room.store.write(lambda tx: tx.agents.update(changed, NOW))
    await room.answer("approve")
    assert "the data has changed since the question was asked" in (await room.said())[-1]
    assert await room.store.read(lambda tx: tx.agents.by_slug("news")) == changed
    assert (await room.audit())[-1] == (Outcome.FAILED, "changed")


async def test_rights_count_as_they_are_when_the_answer_comes(room: Room) -> None:
    await room.ask(wish(EffectKind.PAUSE_AGENT), role=OPERATOR)
    asker = await room.store.write(_person, OPERATOR)
    await room.store.write(lambda tx: tx.principals.set_role(asker.id, MEMBER, NOW))
    await room.answer("approve")
    assert (await room.audit())[-1] == (Outcome.REFUSED, "no_right")
    assert await room.store.read(lambda tx: tx.agents.by_slug("news")) == NEWS


async def test_a_conductor_that_was_paused_meanwhile_does_nothing(room: Room) -> None:
    await room.ask(wish(EffectKind.CREATE_AGENT))
    await room.store.write(lambda tx: tx.agents.update(replace(CONDUCTOR, status=AgentStatus.PAUSED), NOW))
    await room.answer("approve")
    assert (await room.audit())[-1] == (Outcome.REFUSED, "paused")


async def test_what_a_person_confirmed_is_remembered_as_their_word(room: Room) -> None:
    sticky = wish(EffectKind.REMEMBER, subject="sticky", text="Answer in French.")
    assert await room.ask(sticky, role=MEMBER, helper=True) == [Outcome.ASKED]
    await room.answer("approve")

    def kept(tx: Transaction) -> list[tuple[str, Taint]]:
        facts = tx.facts.of(HELPER.id, ["room:discord:main:1234567890123456789:"], limit=5)
        return [(fact.content, fact.taint) for fact in facts]

    assert await room.store.read(kept) == [("Answer in French.", CLEAN)]
    assert (await room.said())[-1] == "Done: remembered it (Owner approved it)."


async def test_an_answer_counts_once(room: Room) -> None:
    await room.ask(wish(EffectKind.CREATE_CLIENT))
    [wait] = await room.waits()
    await room.answer("approve")
    who = await room.store.write(_person, OWNER)
    operations = StoreOperations(store=room.store, bus=EventBus(), clock=room.clock)
    with pytest.raises(Conflict):
        await operations.answer_wait(wait.id, WaitAnswer("approve"), who)
    await room.work()
    assert len(await room.store.read(lambda tx: tx.clients.newest(5))) == 1


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        (wish(EffectKind.UPDATE_AGENT, prompt="x" * 7000), "too_long"),
        (wish(EffectKind.UPDATE_AGENT, subject="nobody", name="X"), "not_found"),
        (wish(EffectKind.DELETE_CRON, subject="nothing"), "not_found"),
    ],
)
async def test_what_cannot_be_shown_is_not_asked(room: Room, proposal: Proposal, reason: str) -> None:
    await room.ask(proposal)
    assert [found for _, found in await room.audit()] == [reason]
    assert await room.said() == []


async def test_a_schedule_is_shown_before_it_is_changed_or_deleted(room: Room) -> None:
    await room.ask(wish(EffectKind.UPDATE_CRON, schedule="@daily"))
    assert '  schedule: "0 8 * * *" → "@daily"' in (await room.said())[0]
    await room.answer("approve")
    await room.ask(wish(EffectKind.DELETE_CRON))
    assert '  prompt: "Tell the news."' in (await room.said())[-1]
    await room.answer("approve")
    assert await room.store.read(lambda tx: tx.schedules.get("cron-1")) is None


# -- the question shows what will be written ---------------------------------------------------------------


async def test_what_a_tag_leaves_out_is_shown_as_it_will_be(room: Room) -> None:
    await room.ask(wish(EffectKind.CREATE_HEARTBEAT, agent="news", name="pulse", prompt="Look."))
    [question] = await room.said()
    assert '  schedule: "every 60s"' in question
    assert f'  platform: "discord"\n  channel: "{PLACE.channel}"' in question
    await room.answer("approve")
    assert (await room.audit())[-1] == (Outcome.DONE, None)


async def test_a_channel_that_an_agent_gets_is_named_as_one_more(room: Room) -> None:
    await room.ask(wish(EffectKind.UPDATE_AGENT, channels=[{}]))
    assert f'  additional channel: "discord {PLACE.channel} (full)"' in (await room.said())[0]
    await room.answer("approve")
    found = await room.store.read(lambda tx: tx.agents.binding_at(PLACE.platform, PLACE.channel))
    assert found is not None
    assert found.agent_id == NEWS.id


async def test_a_new_agent_is_shown_with_its_channels(room: Room) -> None:
    await room.ask(wish(EffectKind.CREATE_AGENT, slug="support", channels=[{"permissions": "read_only"}]))
    [question] = await room.said()
    assert '  name: "support"' in question
    assert f'  additional channel: "discord {PLACE.channel} (read_only)"' in question


async def test_a_personality_is_shown_as_the_prompt_that_it_makes(room: Room) -> None:
    await room.ask(wish(EffectKind.UPDATE_AGENT, personality="rude"))
    assert '  prompt: "" → "Your personality:\\n- character: rude"' in (await room.said())[0]


async def test_a_client_is_shown_with_its_plan(room: Room) -> None:
    await room.ask(wish(EffectKind.CREATE_CLIENT))
    assert '  plan: "per_task"' in (await room.said())[0]


@pytest.mark.parametrize("kind", [EffectKind.PAUSE_AGENT, EffectKind.DELETE_AGENT])
async def test_an_agent_with_a_long_prompt_can_be_stopped(room: Room, kind: EffectKind) -> None:
    await room.store.write(lambda tx: tx.agents.update(replace(NEWS, prompt="Be nice. " * 800), NOW))
    assert await room.ask(wish(kind), taint=CLEAN) == [Outcome.ASKED]
    [question] = await room.said()
    assert '  slug: "news"' in question
    assert "the first 300 of 7200 characters" in question
    await room.answer("approve")
    found = await room.store.read(lambda tx: tx.agents.by_slug("news"))
    assert found is not None
    assert not found.active


# -- lists, rights, silence and repeated proposals ---------------------------------------------------------


async def test_a_list_in_a_tainted_turn_needs_a_yes(room: Room) -> None:
    assert await room.ask(wish(EffectKind.LIST_CLIENTS)) == [Outcome.ASKED]
    assert f'  shown in: "discord {PLACE.channel}"' in (await room.said())[0]
    await room.answer("approve")
    assert (await room.said())[1:] == ["There are no customers."]


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        (wish(EffectKind.CREATE_CLIENT), "no_right"),
        (wish(EffectKind.CREATE_AGENT, slug="support", tools=["run_shell"]), "no_right"),
    ],
)
async def test_a_yes_gives_no_more_than_who_says_it_may_give(
    database: Database, proposal: Proposal, reason: str
) -> None:
    async with opened_room(database, approvers="operators") as room:
        await room.ask(proposal)
        await room.answer("approve", by=OPERATOR)
        assert (await room.audit())[-1] == (Outcome.REFUSED, reason)
        await room.ask(wish(EffectKind.PAUSE_AGENT))
        await room.answer("approve", by=OPERATOR)
        assert (await room.audit())[-1] == (Outcome.DONE, None)


@pytest.mark.parametrize(("taint", "outcome"), [(TAINTED, Outcome.REFUSED), (CLEAN, Outcome.DONE)])
async def test_silence_is_no_yes_to_what_strangers_may_have_written(
    database: Database, taint: Taint, outcome: Outcome
) -> None:
    async with opened_room(database, on_expiry="approve") as room:
        await room.ask(wish(EffectKind.PAUSE_AGENT), taint=taint)
        await room.clock.sleep(DAY_SECONDS + 1)
        await room.work()
        assert (await room.audit())[-1][0] is outcome


async def test_the_same_wish_again_asks_no_second_time(room: Room) -> None:
    assert await room.ask(wish(EffectKind.DELETE_AGENT)) == [Outcome.ASKED]
    assert await room.ask(wish(EffectKind.DELETE_AGENT)) == [Outcome.ASKED]
    assert len(await room.waits()) == 1
    assert (await room.audit())[-1] == (Outcome.ASKED, "asked_before")
    await room.answer("reject")
    assert await room.ask(wish(EffectKind.DELETE_AGENT)) == [Outcome.ASKED]
    assert len(await room.waits()) == 1


async def test_a_conversation_has_only_so_many_open_questions(room: Room) -> None:
    for number in range(12):
        await room.ask(wish(EffectKind.CREATE_AGENT, slug=f"a{number}"))
    assert len(await room.waits()) == 10
    assert (await room.audit())[-1] == (Outcome.REFUSED, "too_many_questions")


async def test_a_question_about_what_is_other_by_now_is_no_answer_to_a_new_wish(room: Room) -> None:
    await room.ask(wish(EffectKind.DELETE_AGENT))
    await room.store.write(lambda tx: tx.agents.update(replace(NEWS, description="other"), NOW))
    await room.ask(wish(EffectKind.DELETE_AGENT))
    assert len(await room.waits()) == 2


async def test_an_agent_and_its_cron_are_asked_about_together(room: Room) -> None:
    cron = wish(EffectKind.CREATE_CRON, 2, agent="support", name="c", schedule="@daily", prompt="Go.")
    assert await room.ask(wish(EffectKind.CREATE_AGENT), cron) == [Outcome.ASKED, Outcome.ASKED]
    assert '  agent: "support"' in (await room.said())[1]
