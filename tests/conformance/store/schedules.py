"""Cases for crons, heartbeats and imported skills."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.credentials import Credential
from arvis.domain.schedules import MadeBy, Missed, Schedule, ScheduleKind
from arvis.ports.automation import StoredSkill
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import AGENT, NOW, add_agent
from tests.conformance.store.transactions import TransactionCases

DAILY = Schedule(
    id="s1",
    kind=ScheduleKind.CRON,
    agent_id=AGENT.id,
    name="report",
    schedule="0 8 * * *",
    timezone="Europe/Berlin",
    prompt="Say what is new. ü 🚀",
    platform="telegram",
    connector="",
    channel="1234567890123456789",
    script=None,
    missed=Missed.ONCE,
    enabled=True,
    principal_id="ann",
    last_run=None,
    next_run=NOW + 1000,
    created_at=NOW,
    updated_at=NOW,
)
BEAT = replace(
    DAILY,
    id="s2",
    kind=ScheduleKind.HEARTBEAT,
    timezone=None,
    script={"type": "script", "url": "https://example.com", "condition": {"path": "a", "op": ">", "value": 1.5}},
    enabled=False,
    principal_id=None,
    next_run=None,
)
SKILL = StoredSkill(
    "knots",
    "---\nname: Knots ü\n---\nTie them.",
    "https://example.com/knots.md",
    "ann",
    NOW,
    NOW,
    None,
    {"a/ü.md": (3, "f0")},
)


def add_both(tx: Transaction) -> None:
    add_agent(tx)
    for schedule in (DAILY, BEAT):
        tx.schedules.add(schedule)


def get_schedule(tx: Transaction, schedule_id: str) -> Schedule | None:
    return tx.schedules.get(schedule_id)


class ScheduleCases(TransactionCases):
    async def test_a_schedule_comes_back_as_it_went_in(self, store: Store) -> None:
        await store.write(add_both)
        for schedule in (DAILY, BEAT):
            assert await store.read(get_schedule, schedule.id) == schedule
        assert await store.read(lambda tx: tx.schedules.get("s3")) is None

    async def test_schedules_of_an_agent_by_kind_in_order(self, store: Store) -> None:
        await store.write(add_both)
        assert await store.read(lambda tx: tx.schedules.of_agent(AGENT.id)) == [DAILY, BEAT]
        assert await store.read(lambda tx: tx.schedules.of_agent(AGENT.id, ScheduleKind.HEARTBEAT)) == [BEAT]
        assert await store.read(lambda tx: tx.schedules.of_agent("nobody")) == []
        assert await store.read(lambda tx: tx.schedules.all(ScheduleKind.CRON, 10)) == [DAILY]

    async def test_reminders_count_among_a_persons_own(self, store: Store) -> None:
        reminder = replace(DAILY, id="s3", created_by=MadeBy.TOOL, memo={"taint": "tools"})
        over = replace(reminder, id="s4", next_run=None, last_run=NOW)
        others = replace(reminder, id="s5", principal_id="bob")
        off = replace(over, id="s6", enabled=False)
        await store.write(add_both)
        for each in (reminder, over, others, off):
            await store.write(lambda tx, each: tx.schedules.add(each), each)
        assert await store.read(lambda tx: tx.schedules.of_person("ann", 10)) == [reminder]
        assert await store.read(lambda tx: tx.schedules.count(AGENT.id, ScheduleKind.CRON)) == 1
        assert await store.read(lambda tx: tx.schedules.named(AGENT.id, ScheduleKind.CRON, "report")) == DAILY
        assert await store.read(lambda tx: tx.schedules.named(AGENT.id, ScheduleKind.CRON, "other")) is None
        for before, forgotten in ((NOW, 0), (NOW + 1, 1)):
            assert (
                await store.write(lambda tx, before: tx.schedules.forget_reminders("ann", before), before) == forgotten
            )
        left = await store.read(lambda tx: tx.schedules.of_agent(AGENT.id, ScheduleKind.CRON))
        assert left == [DAILY, reminder, others, off]

    async def test_what_a_script_found_is_remembered_and_nothing_else_touched(self, store: Store) -> None:
        await store.write(add_both)
        await store.write(lambda tx: tx.schedules.remember("s2", {"text": "ü", "said": NOW}))
        assert await store.read(lambda tx: tx.schedules.get("s2")) == replace(BEAT, memo={"text": "ü", "said": NOW})

    async def test_a_schedule_is_changed_and_removed(self, store: Store) -> None:
        await store.write(add_both)
        changed = replace(DAILY, schedule="@hourly", script={"a": None}, enabled=False, last_run=NOW, next_run=None)
        await store.write(lambda tx: tx.schedules.update(changed, NOW + 5))
        assert await store.read(lambda tx: tx.schedules.get("s1")) == replace(changed, updated_at=NOW + 5)
        assert [await store.write(lambda tx: tx.schedules.remove("s1")) for _ in range(2)] == [True, False]
        assert await store.read(lambda tx: tx.schedules.of_agent(AGENT.id)) == [BEAT]

    async def test_a_skill_is_kept_replaced_and_removed(self, store: Store) -> None:
        await store.write(lambda tx: tx.skills.put(SKILL, b"\x00\xffzip"))
        assert await store.read(lambda tx: tx.skills.get("knots")) == SKILL
        assert await store.read(lambda tx: tx.skills.bundle("knots")) == b"\x00\xffzip"
        await store.write(lambda tx: tx.skills.trust("knots", "f1", NOW + 1))
        assert await store.read(lambda tx: tx.skills.get("knots")) == replace(SKILL, trusted="f1", updated_at=NOW + 1)
        newer = replace(SKILL, text="other", by_id="bob", created_at=NOW + 9, updated_at=NOW + 9)
        await store.write(lambda tx: tx.skills.put(newer))
        await store.write(lambda tx: tx.skills.put(replace(SKILL, slug="bows")))
        assert await store.read(lambda tx: tx.skills.stamps()) == {"bows": NOW, "knots": NOW + 9}
        assert [skill.slug for skill in await store.read(lambda tx: tx.skills.all())] == ["bows", "knots"]
        assert await store.read(lambda tx: tx.skills.get("knots")) == replace(newer, created_at=NOW)
        assert await store.read(lambda tx: tx.skills.bundle("knots")) is None
        assert [await store.write(lambda tx: tx.skills.remove("knots")) for _ in range(2)] == [True, False]

    async def test_a_credential_is_kept_changed_and_removed(self, store: Store) -> None:
        credential = Credential(
            "shop", "shop.token", ("api.example.com", "*.example.org"), "X-Key", "{value}", NOW, NOW
        )
        await store.write(lambda tx: tx.credentials.put(credential, NOW))
        assert await store.read(lambda tx: tx.credentials.get("shop")) == credential
        await store.write(lambda tx: tx.credentials.put(replace(credential, header="Authorization"), NOW + 5))
        changed = replace(credential, header="Authorization", updated_at=NOW + 5)
        assert await store.read(lambda tx: tx.credentials.all()) == [changed]
        assert [await store.write(lambda tx: tx.credentials.remove("shop")) for _ in range(2)] == [True, False]
