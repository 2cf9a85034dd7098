"""Crons and heartbeats by tag: their limits, and the texts to people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arvis.actions.context import ActionContext
from arvis.actions.schedules import apply_schedule
from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation
from arvis.domain.effects import EffectKind, EffectResult, Outcome, Proposal
from arvis.domain.errors import Conflict, NotFound, Unprocessable, UsageError
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.schedules import MadeBy, Missed, Schedule, ScheduleKind
from arvis.domain.taint import CLEAN
from arvis.ports.store import Store, Transaction
from arvis.services import schedules
from arvis.services.schedules import Rules, checked_script

#: Sunday 22 November 2026, 08:00 UTC.
NOW = 1_795_334_400_000
MINUTE = 60_000
HERE = Address("telegram", "main", "-100")
BOSS = Agent(id="c", slug="conductor", name="Conductor", role="conductor")
HELPER = Agent(id="a", slug="helper", name="Helper", timezone="Europe/Berlin")
OWNER = Principal("ann", "telegram", "1", "Ann", PrincipalRole.OWNER)
SCRIPT = {"type": "script", "url": "https://example.com/price", "template": "{{a.usd}}"}


def situation() -> ActionContext:
    conversation = Conversation("k", "c", HERE, created_at=NOW)
    execution = Execution(
        "e", "agent", "1", {}, ExecutionStatus.RUNNING, None, "lane", 1, "ann", None, 0, None, NOW, NOW
    )
    return ActionContext(BOSS, OWNER, CLEAN, HERE, conversation, execution, "m")


@pytest.fixture
async def app(store: Store) -> Store:
    def begin(tx: Transaction) -> None:
        for agent in (BOSS, HELPER, replace(HELPER, id="b", slug="other", timezone=None)):
            tx.agents.add(agent, NOW)

    await store.write(begin)
    return store


async def apply(store: Store, kind: EffectKind, subject: str = "", **fields: Any) -> EffectResult:
    return await store.write(
        lambda tx: apply_schedule(tx, Proposal(1, kind, subject, fields), situation(), NOW, zone="America/New_York")
    )


async def cron(store: Store, **fields: Any) -> EffectResult:
    return await apply(
        store, EffectKind.CREATE_CRON, **{"agent": "helper", "schedule": "@daily", "prompt": "Report.", **fields}
    )


async def kept(store: Store) -> list[Schedule]:
    return await store.read(lambda tx: [*tx.schedules.of_agent("a"), *tx.schedules.of_agent("b")])


async def test_a_heartbeat_of_a_chat_has_what_the_page_can_give_it(app: Store) -> None:
    beat = {"agent": "helper", "prompt": "Look.", "schedule": "every 5m"}
    await apply(app, EffectKind.CREATE_HEARTBEAT, name="plain", **beat)
    await apply(app, EffectKind.CREATE_HEARTBEAT, name="long", **beat, max_cycles=5, grace=60_000, graph="planning")
    plain, long = sorted(await kept(app), key=lambda each: each.max_cycles)
    assert (plain.max_cycles, plain.grace, plain.graph) == (1, None, None)
    assert (long.max_cycles, long.grace, long.graph) == (5, 60_000, "planning")
    with pytest.raises(Unprocessable, match="from 1 to 10"):
        await apply(app, EffectKind.CREATE_HEARTBEAT, name="endless", **beat, max_cycles=99)


# -- creating ----------------------------------------------------------------------------------------------


async def test_a_cron_is_made_and_the_next_five_times_are_told(app: Store) -> None:
    done = await cron(app, name="report", schedule="0 8 * * 1-5")
    assert done.outcome is Outcome.DONE
    assert done.report == (
        "created the cron “report” for “helper”; next: Mon 23 Nov 08:00, Tue 24 Nov 08:00, Wed 25 Nov 08:00, "
        "Thu 26 Nov 08:00, Fri 27 Nov 08:00 (Europe/Berlin)"
    )
    (made,) = await kept(app)
    assert (made.kind, made.agent_id, made.principal_id, made.missed) == (ScheduleKind.CRON, "a", "ann", Missed.ONCE)
    assert (made.platform, made.connector, made.channel) == ("telegram", "main", "-100")
    assert made.next_run == NOW + 23 * 60 * MINUTE


async def test_what_a_tag_makes_is_marked_and_answers_in_the_thread_of_the_talk(app: Store) -> None:
    here = replace(situation(), address=replace(HERE, thread="t1"))
    for fields in ({}, {"channel": "-100"}, {"channel": "5"}):
        proposal = Proposal(
            1, EffectKind.CREATE_CRON, "", {"agent": "helper", "schedule": "@daily", "prompt": "x", **fields}
        )
        await app.write(apply_schedule, proposal, here, NOW)
    assert [made.thread for made in await kept(app)] == ["t1", "t1", ""]
    assert {made.created_by for made in await kept(app)} == {MadeBy.TAG}


async def test_the_zone_is_its_own_else_the_agents_else_the_daemons(app: Store) -> None:
    assert (await cron(app, timezone="Asia/Tokyo")).report.endswith("(Asia/Tokyo)")
    assert (await cron(app)).report.endswith("(Europe/Berlin)")
    assert (await cron(app, agent="other")).report.endswith("(America/New_York)")


async def test_heartbeats_may_come_often_only_with_a_script(app: Store) -> None:
    beat = {"agent": "helper", "prompt": "Look.", "schedule": "every 10s"}
    with pytest.raises(Unprocessable, match="more often than every 30 seconds"):
        await apply(app, EffectKind.CREATE_HEARTBEAT, **beat)
    for often in ("*/20 * * * * *", "0,10,20,30 * * * * *"):
        with pytest.raises(Unprocessable, match="more often"):
            await cron(app, schedule=often)
    assert await kept(app) == []
    await apply(app, EffectKind.CREATE_HEARTBEAT, **beat, script=SCRIPT)
    with pytest.raises(Unprocessable, match="more often than every 5 seconds"):
        await apply(app, EffectKind.CREATE_HEARTBEAT, agent="helper", schedule="every 4s", script=SCRIPT)
    assert [made.script for made in await kept(app)] == [SCRIPT]


async def test_a_channel_keeps_all_its_digits(app: Store) -> None:
    await cron(app, channel="1234567890123456789", platform="discord")
    await cron(app, channel=42)
    first, second = await kept(app)
    assert (first.platform, first.connector, first.channel) == ("discord", "", "1234567890123456789")
    assert (second.platform, second.connector, second.channel) == ("telegram", "main", "42")
    with pytest.raises(Unprocessable, match="channel"):
        await cron(app, platform="discord")


async def test_a_heartbeat_says_little(app: Store) -> None:
    report = (await apply(app, EffectKind.CREATE_HEARTBEAT, agent="helper", prompt="Look.")).report
    assert report.startswith("created the heartbeat “heartbeat 1” for “helper”; next: Sun 22 Nov 09:01, ")
    text = '{"type": "script", "url": "http://example.com", "template": "x"}'
    await apply(app, EffectKind.CREATE_HEARTBEAT, agent="helper", script=text)
    assert [made.name for made in await kept(app)] == ["heartbeat 1", "heartbeat 2"]


UNUSABLE: list[tuple[dict[str, Any], str]] = [
    ({"agent": ""}, "`agent` is missing"),
    ({"agent": "nobody"}, "no agent"),
    ({"schedule": ""}, "cannot be read"),
    ({"schedule": "soon"}, "cannot be read"),
    ({"schedule": "at 2020-01-01 08:00"}, "would never run"),
    ({"prompt": ""}, "`prompt` is missing"),
    ({"prompt": "ü" * 5000}, "at most 8192 bytes"),
    ({"prompt": "a\0b"}, "`prompt`"),
    ({"timezone": "Mars/Olympus"}, "time zone"),
    ({"missed": "sometimes"}, "`missed`"),
    ({"name": "a\nb"}, "`name`"),
    ({"name": "x" * 101}, "`name`"),
    ({"channel": "a\x1bb"}, "`channelId`"),
    ({"script": SCRIPT}, "Only a heartbeat"),
    ({"script": "{"}, "is not JSON"),
    ({"enabled": "perhaps"}, "`enabled`"),
]


async def test_what_is_wrong_is_refused_and_nothing_is_kept(app: Store) -> None:
    for fields, problem in UNUSABLE:
        with pytest.raises(UsageError, match=problem):
            await cron(app, **fields)
    assert await kept(app) == []


async def test_an_agent_has_ten_of_each_kind(app: Store) -> None:
    for _ in range(10):
        await cron(app)
    with pytest.raises(Conflict, match="10 crons"):
        await cron(app)
    await cron(app, agent="other")
    await apply(app, EffectKind.CREATE_HEARTBEAT, agent="helper", prompt="Look.")
    assert len(await kept(app)) == 12


async def test_a_name_is_taken_once_by_kind_and_agent(app: Store) -> None:
    await cron(app, name="report")
    with pytest.raises(Conflict, match="named 'report'"):
        await cron(app, name="report")
    await cron(app, name="report", agent="other")


# -- changing and removing ---------------------------------------------------------------------------------


async def test_what_is_named_is_changed_and_the_rest_stays(app: Store) -> None:
    await cron(app, name="report", schedule="0 8 * * *")
    before = (await kept(app))[0]
    done = await apply(app, EffectKind.UPDATE_CRON, "Report", prompt="Say less.")
    assert done.report.startswith("changed the cron “report”; next: Mon 23 Nov 08:00")
    assert await kept(app) == [replace(before, prompt="Say less.", updated_at=NOW)]
    await apply(app, EffectKind.UPDATE_CRON, before.id, schedule="0 9 * * *", channel="5")
    (after,) = await kept(app)
    assert (after.next_run, after.channel) == (NOW + 24 * 60 * MINUTE, "5")
    assert (await apply(app, EffectKind.UPDATE_CRON, "report", enabled="false")).report.endswith("it is paused")
    assert (await kept(app))[0].next_run is None
    with pytest.raises(Unprocessable, match="contains no field to change"):
        await apply(app, EffectKind.UPDATE_CRON, "report")


async def test_it_acts_for_whoever_changed_it_last(app: Store) -> None:
    await cron(app, name="report")
    (made,) = await kept(app)
    await app.write(schedules.change_schedule, made.id, {"prompt": "Mine."}, Rules(), NOW, by="bob")
    assert (await kept(app))[0].principal_id == "bob"
    with pytest.raises(Unprocessable, match="principal_id"):
        await app.write(schedules.change_schedule, made.id, {"principal_id": "eve"}, Rules(), NOW, by="bob")


async def test_one_that_is_over_can_still_be_changed(app: Store) -> None:
    await cron(app, name="once", schedule="at 2026-11-22 10:00")
    later = NOW + 86_400_000
    (made,) = await kept(app)
    await app.write(schedules.change_schedule, made.id, {"prompt": "x"}, Rules(), later, by=None)
    with pytest.raises(Unprocessable, match="would never run"):
        await app.write(schedules.change_schedule, made.id, {"timezone": "UTC"}, Rules(), later, by=None)


async def test_a_script_that_goes_takes_its_haste_along(app: Store) -> None:
    await apply(app, EffectKind.CREATE_HEARTBEAT, name="b", agent="helper", schedule="every 10s", script=SCRIPT)
    (made,) = await kept(app)
    with pytest.raises(Unprocessable, match="more often"):
        await app.write(schedules.change_schedule, made.id, {"script": None, "prompt": "x"}, Rules(), NOW, by=None)


async def test_names_lead_to_one_or_to_a_question(app: Store) -> None:
    await cron(app, name="report")
    await cron(app, name="report", agent="other")
    with pytest.raises(Conflict, match="have this name"):
        await apply(app, EffectKind.DELETE_CRON, "report")
    with pytest.raises(NotFound):
        await apply(app, EffectKind.DELETE_HEARTBEAT, "report")
    assert (await apply(app, EffectKind.DELETE_CRON, "report", agent="other")).report == "deleted the cron “report”"
    assert [made.agent_id for made in await kept(app)] == ["a"]


async def test_what_there_is_is_listed(app: Store) -> None:
    assert (await apply(app, EffectKind.LIST_CRONS)).report == "There are no crons."
    await cron(app, name="report")
    listed = (await apply(app, EffectKind.LIST_CRONS)).report
    assert listed == (
        "Crons:\n- “report” of “helper”: “@daily”, next Mon 23 Nov 00:00 (Europe/Berlin), to telegram “-100”"
    )


# -- scripts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"headers": {"Accept": "application/json"}, "notify": "on_change", "cooldown": 60},
        {"condition": {"path": "a.usd", "op": ">=", "value": 1.5, "triggerPrompt": "Look!"}},
        {"condition": {"path": "state", "op": "!=", "value": "ok"}},
    ],
)
def test_a_script_is_kept_as_it_is(more: dict[str, Any]) -> None:
    assert checked_script({**SCRIPT, **more}) == {**SCRIPT, **more}


@pytest.mark.parametrize(
    "change",
    [
        {"type": "shell"}, {"url": "ftp://example.com"}, {"url": "http://"}, {"url": "http://[::1"}, {"url": 5},
        {"url": "https://example.com/ a"}, {"template": ""}, {"template": "x" * 5000}, {"headers": ["a"]},
        {"headers": {"A": "b\r\nC: d"}}, {"headers": {"a b": "c"}}, {"headers": {"A": 5}}, {"notify": "never"},
        {"cooldown": -1}, {"cooldown": True}, {"run": "rm"}, {"condition": "x"},
        {"condition": {"path": "a", "op": "~", "value": 1}}, {"condition": {"path": "a", "op": ">", "value": None}},
        {"condition": {"op": ">", "value": 1}}, {"condition": {"path": "a", "op": ">", "value": float("nan")}},
        {"template": "a\0b"},
    ],
)  # fmt: skip
def test_a_script_that_is_none(change: dict[str, Any]) -> None:
    with pytest.raises(Unprocessable) as refused:
        checked_script({**SCRIPT, **change})
    assert refused.value.fix
