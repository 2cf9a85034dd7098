"""Calls of webhooks: each is accepted once, counted, and forgotten after a week."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from arvis.domain.agents import Agent
from arvis.domain.errors import Conflict, NotFound, Unavailable
from arvis.domain.messages import Address, PrincipalRole
from arvis.domain.webhooks import KNOWN_CALLS_MS, Preset, Webhook
from arvis.ports.store import Store, Transaction
from arvis.services.webhooks import HookCall, TakenCall, add_webhook, change_webhook, remove_webhook, take_call

NOW = 1_800_000_000_000


async def hook_in(store: Store) -> Webhook:
    def make(tx: Transaction) -> Webhook:
        agent = Agent(id=tx.new_id(), slug=tx.new_id().lower(), name="Helper")
        tx.agents.add(agent, NOW)
        wanted = Webhook(
            id="", path=f"/h/{tx.new_id()}", name="", agent_id=agent.slug, preset=Preset.PLAIN, template="{{payload}}",
            platform="chat", connector="main", channel="room", thread="", secret="sealed", secret_end="aled",
            enabled=True, principal_id=None, last_triggered=None, trigger_count=0, created_at=0, updated_at=0,
        )  # fmt: skip
        return add_webhook(tx, wanted, NOW)

    return await store.write(make)


async def take(store: Store, hook: Webhook, call_id: str | None, now: int = NOW) -> TakenCall:
    return await store.write(take_call, HookCall(hook, call_id, "Look."), now)


async def test_a_call_is_taken_once_however_many_bring_it(either_store: Store) -> None:
    hook = await hook_in(either_store)
    found = await asyncio.gather(*(take(either_store, hook, "id:1") for _ in range(20)))
    assert len({taken.execution_id for taken in found}) == 1
    assert sorted(taken.repeated for taken in found) == [False] + [True] * 19
    execution = await either_store.read(lambda tx: tx.executions.get(found[0].execution_id))
    assert execution is not None
    assert execution.state["address"] == Address("chat", "main", "room").to_json()
    kept = await either_store.read(lambda tx: tx.webhooks.get(hook.id))
    assert kept is not None
    assert (kept.trigger_count, kept.last_triggered) == (1, NOW)


async def test_calls_without_an_id_are_all_taken_and_stand_in_one_lane(either_store: Store) -> None:
    hook = await hook_in(either_store)
    found = [await take(either_store, hook, None) for _ in range(3)]
    jobs = [await either_store.write(lambda tx, id_: tx.jobs.live_of_execution(id_), one.execution_id) for one in found]
    assert [(job.lane, job.position) for (job,) in jobs] == [(hook.source, number) for number in (1, 2, 3)]


async def test_a_call_is_forgotten_after_a_week(store: Store) -> None:
    hook = await hook_in(store)
    first = await take(store, hook, "id:1")

    async def forget(now: int) -> None:
        await store.write(lambda tx: tx.webhooks.prune_calls(now - KNOWN_CALLS_MS, 500))

    await forget(NOW + KNOWN_CALLS_MS)
    assert await take(store, hook, "id:1") == TakenCall(first.execution_id, repeated=True)
    await forget(NOW + KNOWN_CALLS_MS + 1)
    assert not (await take(store, hook, "id:1")).repeated


async def test_a_hook_that_changed_in_between_takes_nothing(store: Store) -> None:
    hook = await hook_in(store)
    for changes in ({"enabled": False}, {"enabled": True, "secret": "another"}):
        await store.write(change_webhook, hook.id, changes, NOW, by=None)
        with pytest.raises(NotFound):
            await take(store, hook, "id:1")
    now_hook = replace(hook, secret="another")
    assert not (await take(store, now_hook, "id:1")).repeated
    await store.write(remove_webhook, hook.id)
    with pytest.raises(NotFound):
        await take(store, now_hook, "id:1")


async def test_a_path_is_taken_once(store: Store) -> None:
    hook, other = await hook_in(store), await hook_in(store)
    with pytest.raises(Conflict):
        await store.write(change_webhook, other.id, {"path": hook.path[1:]}, NOW, by=None)


async def test_who_may_not_or_cannot_takes_nothing(store: Store) -> None:
    hook = await hook_in(store)

    def block(tx: Transaction) -> None:
        person = tx.principals.seen("chat", tx.new_id(), "Eve", PrincipalRole.OPERATOR, NOW)
        tx.webhooks.update(replace(hook, principal_id=person.id))
        tx.principals.set_role(person.id, PrincipalRole.BLOCKED, NOW)

    await store.write(change_webhook, hook.id, {"connector": ""}, NOW, by=None)
    with pytest.raises(Unavailable, match="No bot can post"):
        await take(store, hook, "id:1")
    await store.write(block)
    with pytest.raises(NotFound):
        await take(store, hook, "id:1")
    await store.write(lambda tx: tx.webhooks.update(hook))
    assert not (await take(store, hook, "id:1")).repeated
