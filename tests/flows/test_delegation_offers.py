"""An agent is offered, as targets of tasks, all agents that the person may use, even those with more tools than
itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arvis.domain.agents import Agent
from arvis.domain.effects import EffectKind, EffectResult
from arvis.domain.messages import PrincipalRole
from arvis.domain.taint import CLEAN, Taint
from arvis.ports.store import Store, Transaction
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, agent_with, open_app
from tests.flows.effects_kit import CODER, NOW, TAINTED, applied, furnish, person, wish
from tests.flows.effects_kit import HELPER as PLAIN
from tests.flows.scripted import PLATFORM

WORKER = agent_with(id="agent-worker", slug="worker", name="Worker", tools=("srv.dig",))
CLOSED = replace(WORKER, allow_users=("bob",))
LISTED = replace(WORKER, allow_users=("ann",))


@pytest.mark.parametrize(
    ("user", "worker", "paired", "offered"),
    [
        ("owner", CLOSED, False, True),
        ("ann", WORKER, True, True),
        ("ann", LISTED, False, True),
        ("ann", WORKER, False, False),
        ("ann", CLOSED, True, False),
    ],
)
async def test_an_abler_agent_is_offered_to_whom_may_use_it(
    database: Database, user: str, worker: Agent, paired: bool, offered: bool
) -> None:
    async with open_app(database, agents=[HELPER, worker]) as app:
        await app.ask("Hello", user=user)
        if paired:
            await app.store.write(_pair, user, app.clock.now())
        await app.ask("Dig", user=user)
        assert ("worker" in app.provider.asked[-1].system) is offered


@pytest.mark.parametrize(
    ("paired", "taint", "reason"), [(True, CLEAN, None), (False, CLEAN, "not_allowed"), (True, TAINTED, "not_allowed")]
)
async def test_a_paired_member_reaches_an_abler_agent_by_words_of_their_own(
    store: Store, paired: bool, taint: Taint, reason: str | None
) -> None:
    """Other people's words do not give access to an agent with tools that the front agent lacks."""

    def script(tx: Transaction) -> EffectResult:
        furnish(tx)
        member = person(tx, PrincipalRole.MEMBER)
        assert member is not None
        if paired:
            tx.principals.pair(member.id, NOW)
        [result] = applied(
            tx,
            [wish(EffectKind.DELEGATE, subject=CODER.slug, text="Go.")],
            agent=PLAIN,
            role=PrincipalRole.MEMBER,
            taint=taint,
            standing={"paired": paired},
        )
        return result

    assert (await store.write(script)).reason == reason


def _pair(tx: Transaction, user: str, now: int) -> None:
    person = tx.principals.find(PLATFORM, user)
    assert person is not None
    tx.principals.pair(person.id, now)
