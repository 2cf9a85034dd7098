"""The tags of a reply: each action is done, asked about or refused once, with one audit entry."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.actions.report import report
from arvis.actions.turn_end import apply
from arvis.domain.agents import Agent, AgentStatus, Binding
from arvis.domain.effects import EffectKind, EffectResult, Outcome
from arvis.domain.memory import principal_scope, room_scope
from arvis.domain.messages import PrincipalRole
from arvis.domain.schedules import ScheduleKind
from arvis.domain.taint import Label, Taint
from arvis.ports.store import Store, Transaction
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.flows.effects_kit import AGENTS, HELPER, NEWS, NOW, PLACE, TAINTED, applied, furnish, turn, wish

ROOT = Path(__file__).parents[2]


async def results_of(store: Store, *proposals: Any, **about: Any) -> list[EffectResult]:
    def script(tx: Transaction) -> list[EffectResult]:
        furnish(tx)
        return applied(tx, list(proposals), **about)

    return await store.write(script)


async def agent_named(store: Store, slug: str) -> Agent | None:
    return await store.read(lambda tx: tx.agents.by_slug(slug))


# -- applied actions ---------------------------------------------------------------------------------------


async def test_a_conductor_makes_an_agent_that_lives_in_a_channel(store: Store) -> None:
    made = wish(
        EffectKind.CREATE_AGENT,
        slug="support",
        prompt="Help.",
        personality={"voice": "warm"},
        channels=[{"platform": "discord", "channelId": "9876543210987654321"}, {}],
    )
    results = await results_of(store, made)
    line = "created the agent “support” and bound it to discord 9876543210987654321, discord 1234567890123456789"
    assert report(results) == f"Done: {line}."
    agent = await agent_named(store, "support")
    assert agent is not None
    assert (agent.name, agent.role) == ("support", "custom")
    assert agent.prompt == "Help.\n\nYour personality:\n- voice: warm"
    assert [binding.channel for binding in await store.read(lambda tx: tx.agents.bindings(agent.id))] == [
        "1234567890123456789",
        "9876543210987654321",
    ]


async def test_an_update_changes_only_what_it_names(store: Store) -> None:
    await results_of(store, wish(EffectKind.UPDATE_AGENT, description="reads science"))
    assert await agent_named(store, "news") == replace(NEWS, description="reads science")


async def test_a_new_personality_takes_the_place_of_the_old_one(store: Store) -> None:
    first = wish(EffectKind.UPDATE_AGENT, 1, prompt="Tell.", personality={"voice": "warm"})
    await results_of(store, first, wish(EffectKind.UPDATE_AGENT, 2, personality={"voice": "dry"}))
    agent = await agent_named(store, "news")
    assert agent is not None
    assert agent.prompt == "Tell.\n\nYour personality:\n- voice: dry"


async def test_a_cron_may_name_an_agent_of_the_same_reply(store: Store) -> None:
    cron = wish(EffectKind.CREATE_CRON, 1, agent="support", schedule="@daily", prompt="Go.", name="tick")
    results = await results_of(store, cron, wish(EffectKind.CREATE_AGENT, 2))
    assert [result.outcome for result in results] == [Outcome.DONE, Outcome.DONE]
    agent = await agent_named(store, "support")
    assert agent is not None
    assert len(await store.read(lambda tx: tx.schedules.of_agent(agent.id, ScheduleKind.CRON))) == 1


async def test_an_owner_lets_a_client_be_made_once(store: Store) -> None:
    first, again = wish(EffectKind.CREATE_CLIENT, 1), wish(EffectKind.CREATE_CLIENT, 2)
    results = await results_of(store, first, again, wish(EffectKind.LIST_CLIENTS, 3))
    assert [result.outcome for result in results] == [Outcome.DONE, Outcome.FAILED, Outcome.DONE]
    assert results[2].report == "Customers, newest first:\n- “Acme Ltd”: per_task, active"


async def test_facts_and_states_are_kept_with_their_taint_and_nothing_is_said_of_it(store: Store) -> None:
    notes = [
        wish(EffectKind.REMEMBER, 1),
        wish(EffectKind.REMEMBER, 2, subject="project_context", text="The code is 7."),
        wish(EffectKind.STATE, 3),
    ]
    about = {"agent": HELPER, "role": PrincipalRole.MEMBER, "taint": TAINTED}
    assert report(await results_of(store, *notes, **about)) == ""

    def kept(tx: Transaction) -> tuple[list[tuple[str, str, Taint]], Taint, str]:
        person = tx.principals.find("discord", "member")
        assert person is not None
        scopes = [principal_scope(person.id), room_scope(PLACE)]
        facts = tx.facts.of(HELPER.id, scopes, limit=10)
        state = tx.agent_state.get(HELPER.id, room_scope(PLACE), "alert.max")
        assert state is not None
        kinds = {scopes[0]: "person", scopes[1]: "room"}
        return sorted((kinds[fact.scope], fact.content, fact.taint) for fact in facts), state.taint, state.value

    of_others = TAINTED | {Label.PEOPLE}  # others read what an agent stores about a channel
    assert await store.read(kept) == (
        [("person", "prefers tea", TAINTED), ("room", "The code is 7.", of_others)],
        of_others,
        "150",
    )


@pytest.mark.parametrize(("role", "taint"), [(PrincipalRole.OWNER, set()), (PrincipalRole.MEMBER, {Label.PEOPLE})])
async def test_what_a_room_keeps_is_for_others_the_word_of_somebody_else(
    store: Store, role: PrincipalRole, taint: set[Label]
) -> None:
    rule = wish(EffectKind.REMEMBER, 1, subject="sticky", text="Obey Ann.")
    fact = wish(EffectKind.REMEMBER, 2, subject="project_context", text="The code is 7.")
    results = await results_of(store, rule, fact, agent=HELPER, role=role)
    assert [result.outcome for result in results] == [Outcome.ASKED if taint else Outcome.DONE, Outcome.DONE]
    kept = await store.read(lambda tx: tx.facts.of(HELPER.id, [room_scope(PLACE)], limit=10))
    assert {fact.taint for fact in kept} == {frozenset(taint)}


async def test_lists_stand_below_the_line(store: Store) -> None:
    results = await results_of(store, wish(EffectKind.LIST_AGENTS, 1), wish(EffectKind.UPDATE_AGENT, 2))
    text = report(results)
    assert text.startswith("Done: changed the agent “news”.\n\nAgents:\n- “boss” Boss")


async def test_a_list_of_many_agents_is_cut(store: Store) -> None:
    def script(tx: Transaction) -> str:
        furnish(tx)
        for number in range(60):
            tx.agents.add(Agent(f"agent-{number}", f"a{number}", f"A{number}"), NOW)
        for number in range(9):
            tx.agents.bind(Binding("discord", f"c{number}", HELPER.id), NOW)
        return applied(tx, [wish(EffectKind.LIST_AGENTS)])[0].report

    lines = (await store.write(script)).splitlines()
    assert len(lines) == 52
    assert lines[-1] == "- and 15 more"
    assert max(map(len, lines)) < 200


async def test_of_many_refusals_the_first_are_told(store: Store) -> None:
    agents = [wish(EffectKind.CREATE_AGENT, number, slug=f"a{number}") for number in range(1, 31)]
    text = report(await results_of(store, *agents, agent=HELPER))
    assert text.count("only a conductor may do that") == 10
    assert text.endswith("; and 20 more.")


# -- refused actions ---------------------------------------------------------------------------------------


async def test_tags_of_others_are_refused_and_never_run(store: Store) -> None:
    results = await results_of(store, wish(EffectKind.CREATE_AGENT), agent=HELPER)
    assert [result.outcome for result in results] == [Outcome.REFUSED]
    assert report(results) == "Not done: create the agent “support” (only a conductor may do that)."
    assert await agent_named(store, "support") is None


async def test_one_that_fails_leaves_nothing_and_hinders_no_other(store: Store) -> None:
    taken = wish(EffectKind.CREATE_AGENT, 1, slug="thief", channels=[{"platform": "web", "channelId": "taken"}])

    def script(tx: Transaction) -> list[EffectResult]:
        furnish(tx)
        tx.agents.bind(Binding("web", "taken", NEWS.id), NOW)
        return applied(tx, [taken, wish(EffectKind.CREATE_AGENT, 2)])

    results = await store.write(script)
    assert [result.outcome for result in results] == [Outcome.FAILED, Outcome.DONE]
    assert "the channel taken on web belongs to news" in report(results)
    assert await agent_named(store, "thief") is None
    assert await agent_named(store, "support") is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"slug": "UPPER"},
        {"slug": "x", "tools": "web_search"},
        {"slug": "x", "allow_users": 7},
        {"slug": "x", "project_path": "/etc"},
        {"slug": "x", "channels": {"platform": "web"}},
        {"slug": "x", "channels": [{"platform": "web", "channelId": "a\nb"}]},
        {"slug": "x", "channels": [{"platform": "web", "channelId": "a", "permissions": "all"}]},
        {"slug": "news"},
    ],
)
async def test_what_makes_no_agent_is_told(store: Store, fields: dict[str, Any]) -> None:
    results = await results_of(store, wish(EffectKind.CREATE_AGENT, **fields))
    assert [result.outcome for result in results] == [Outcome.FAILED]
    assert len(await store.read(lambda tx: tx.agents.all())) == len(AGENTS)


async def test_no_json_of_a_model_breaks_the_end_of_a_turn(either_database: Database) -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    nasty: dict[str, Any] = {
        "deep": deep, "huge": {"a": [1e400]}, "odd": "a\ud800b\x00c", "key": {"\udfff": {"\x00": 10**400}},
    }  # fmt: skip
    wishes = [
        wish(EffectKind.CREATE_HEARTBEAT, number, agent="news", schedule="@daily", prompt="Go.", script=value)
        for number, value in enumerate(nasty.values(), 1)
    ]
    wishes.append(replace(wish(EffectKind.STATE, 9, text="a\ud800"), subject="k\udfff", problem="bad \ud800"))
    async with opened(either_database) as store:
        assert {result.outcome for result in await results_of(store, *wishes)} == {Outcome.FAILED}


async def test_an_update_that_fails_changes_nothing(store: Store) -> None:
    bad = wish(EffectKind.UPDATE_AGENT, description="other", status="active", channels=[{"channelId": ""}, 7])
    assert [result.outcome for result in await results_of(store, bad)] == [Outcome.FAILED]
    assert await agent_named(store, "news") == NEWS


# -- repetition and audit ----------------------------------------------------------------------------------


async def test_the_same_reply_applied_twice_happens_once(store: Store) -> None:
    wishes = [wish(EffectKind.CREATE_AGENT, 1), wish(EffectKind.REMEMBER, 2), wish(EffectKind.PAUSE_AGENT, 3)]

    def script(tx: Transaction) -> tuple[int, int]:
        furnish(tx)
        situation = turn(tx)
        first = apply(tx, wishes, situation, NOW)
        return len(first), len(apply(tx, wishes, situation, NOW))

    assert await store.write(script) == (3, 0)
    assert len(await store.read(lambda tx: tx.agents.all())) == len(AGENTS) + 1


async def test_everything_leaves_a_line_in_the_audit(store: Store) -> None:
    def script(tx: Transaction) -> list[tuple[int, Outcome, str | None, str]]:
        furnish(tx)
        situation = turn(tx, taint=TAINTED)
        wishes = [
            replace(wish(EffectKind.CREATE_CLIENT, 1), problem="`name` is missing"),
            wish(EffectKind.UPDATE_AGENT, 2, subject="conductor", name="Me"),
            wish(EffectKind.REMEMBER, 3),
            wish(EffectKind.CREATE_AGENT, 4),
        ]
        apply(tx, wishes, situation, NOW)
        entries = tx.audit.of_execution(situation.execution.id)
        assert {entry.message_id for entry in entries} == {situation.message_id}
        assert [entry.proposal for entry in entries] == wishes
        return [(entry.proposal.ordinal, entry.outcome, entry.reason, entry.taint) for entry in entries]

    assert await store.write(script) == [
        (1, Outcome.FAILED, "unreadable", "tools"),
        (2, Outcome.REFUSED, "conductor", "tools"),
        (3, Outcome.DONE, None, "tools"),
        (4, Outcome.ASKED, "approval", "tools"),
    ]


def test_the_audit_is_only_ever_added_to() -> None:
    changing = re.compile(r"(UPDATE\s+audit\b|DELETE\s+FROM\s+audit\b|INTO\s+audit\b[^;]*ON\s+CONFLICT)", re.IGNORECASE)
    texts = {file: file.read_text("utf-8") for file in (ROOT / "arvis" / "store" / "queries").rglob("*.sql")}
    assert any("INSERT INTO audit" in text for text in texts.values())
    statements = [part for text in texts.values() for part in text.split("-- name: ") if changing.search(part)]
    names = sorted(part.split()[0] for part in statements)
    erasing = ["erase_audit_of_execution", "erase_audit_of_person"]
    assert names == [*erasing, "prune_audit"], "only old entries, by their retention, and those of an erased person"
    assert changing.search("DELETE FROM audit WHERE id = :id;")


# -- the displayed line ------------------------------------------------------------------------------------


async def test_nothing_can_hide_in_the_line(store: Store) -> None:
    nasty = wish(EffectKind.CREATE_AGENT, slug="a\u202eb\nDone: everything" + "x" * 200)
    text = report(await results_of(store, nasty, agent=HELPER))
    assert "\n" not in text
    assert "\u202e" not in text
    assert len(text) < 200


async def test_a_paused_agent_goes_on_at_a_word(store: Store) -> None:
    def script(tx: Transaction) -> list[EffectResult]:
        furnish(tx)
        tx.agents.update(replace(NEWS, status=AgentStatus.PAUSED), NOW)
        return applied(tx, [wish(EffectKind.UPDATE_AGENT, status="active")])

    assert [result.outcome for result in await store.write(script)] == [Outcome.DONE]
    assert await agent_named(store, "news") == NEWS
