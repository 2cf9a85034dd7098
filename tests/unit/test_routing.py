"""Routing: which agent answers a message, and who may ask it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.config.sections import Routing
from arvis.domain.agents import Agent, AgentStatus, Binding, Permission
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Sender
from arvis.ports.store import Store
from arvis.process.clock import IdMaker, SystemClock
from arvis.routing import Place, Refused, Routed, Router, mentioned, permit
from arvis.store.open import Database, open_store
from tests.conformance.databases import migrated

MEMBER = PrincipalRole.MEMBER
CONDUCTOR = Agent(id="id-conductor", slug="conductor", name="Conductor", role="conductor")
HELPER = Agent(id="id-helper", slug="helper", name="Helper")
RESEARCHER = Agent(id="id-researcher", slug="researcher", name="Researcher")
WRITER = Agent(id="id-writer", slug="writer", name="Writer", tools=("run_shell",))
AGENTS = (CONDUCTOR, HELPER, RESEARCHER, WRITER)
PAIRED = Sender("ann", "Ann", paired=True)


def message(
    content: str = "Hello", channel: str = "room", *, platform: str = "chat", **changes: Any
) -> IncomingMessage:
    changes.setdefault("sender", Sender("ann", "Ann"))
    return IncomingMessage(address=Address(platform, "main", channel), event_id="e", content=content, **changes)


def bound(agent: Agent, permission: Permission = Permission.FULL) -> Binding:
    return Binding("chat", "room", agent.id, permission)


def paused(agent: Agent) -> Agent:
    return replace(agent, status=AgentStatus.PAUSED)


def choose(
    incoming: IncomingMessage,
    *agents: Agent,
    binding: Binding | None = None,
    fallback: str = "drop",
    conductor_channel: str | None = None,
    role: PrincipalRole = MEMBER,
) -> tuple[str | None, str]:
    """Return the slug of the agent that answers, and the rule."""
    router = Router(rules=lambda: Routing(fallback=fallback, conductor_channel=conductor_channel), owners={})
    agent, reason = router.choose(incoming, Place(agents or AGENTS, binding), role)
    return (agent.slug if agent else None), reason


# -- the rules in their order ------------------------------------------------------------------------------


def test_a_bots_own_agent_comes_before_everything() -> None:
    incoming = message("@Writer please", assigned_agent="helper", is_direct=True)
    assert choose(incoming, binding=bound(RESEARCHER), conductor_channel="room") == ("helper", "bot_assignment")


def test_a_bots_agent_may_be_named_by_id() -> None:
    assert choose(message(assigned_agent=HELPER.id)) == ("helper", "bot_assignment")


def test_a_channels_own_agent_comes_before_a_mention() -> None:
    assert choose(message("@Writer please"), binding=bound(RESEARCHER)) == ("researcher", "channel_binding")


def test_a_mention_comes_before_the_conductors_channel() -> None:
    assert choose(message("@Writer please"), conductor_channel="room") == ("writer", "mention")


def test_the_conductors_channel_comes_before_a_direct_message() -> None:
    assert choose(message(is_direct=True), conductor_channel="room") == ("conductor", "conductor_channel")
    assert choose(message(), HELPER, conductor_channel="room") == (None, "no_conductor")


@pytest.mark.parametrize("incoming", [message(is_direct=True), message(channel="dm-7")])
def test_a_direct_message_is_the_conductors(incoming: IncomingMessage) -> None:
    assert choose(incoming) == ("conductor", "dm")
    assert choose(incoming, HELPER) == (None, "no_conductor")
    assert choose(incoming, paused(CONDUCTOR), fallback="helper") == (None, "no_conductor")


def test_the_rest_is_dropped_unless_a_fallback_is_set() -> None:
    assert choose(message()) == (None, "none")
    assert choose(message(), fallback="conductor") == ("conductor", "fallback")
    assert choose(message(), fallback="helper") == ("helper", "fallback")
    assert choose(message(), paused(HELPER), fallback="helper") == (None, "none")


def test_a_paused_agent_of_a_channel_lets_the_later_rules_decide() -> None:
    agents = (CONDUCTOR, HELPER, paused(RESEARCHER))
    binding = bound(RESEARCHER)
    assert choose(message(), *agents, binding=binding) == (None, "none")
    assert choose(message(), *agents, binding=binding, fallback="helper") == ("helper", "fallback")
    assert choose(message("@helper"), *agents, binding=binding) == ("helper", "mention")


def test_a_paused_agent_of_a_bot_does_not_let_another_answer_in_its_name() -> None:
    agents = (CONDUCTOR, paused(HELPER), RESEARCHER)
    assert choose(message(assigned_agent="helper"), *agents, fallback="conductor") == (None, "paused")
    assert choose(message("@researcher", assigned_agent="helper"), *agents) == ("researcher", "mention")


def test_talk_that_addresses_nobody_is_nobodys_but_a_mentions() -> None:
    talk = message(addressed=False, assigned_agent="helper")
    assert choose(talk, binding=bound(HELPER), conductor_channel="room", fallback="helper") == (None, "not_addressed")
    assert choose(message("ask @researcher", addressed=False)) == ("researcher", "mention")


def test_a_direct_message_always_addresses_the_bot() -> None:
    assert choose(message(addressed=False, is_direct=True, assigned_agent="helper")) == ("helper", "bot_assignment")


# -- mentions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    ["@researcher", "@Researcher!", "hi @RESEARCHER, look", "(@researcher)", "see @researcher.", "“@researcher”"],
)
def test_a_mention(content: str) -> None:
    assert mentioned(content, AGENTS) == RESEARCHER


@pytest.mark.parametrize(
    "content",
    [
        "mail me at bob@researcher.example",
        "b.ob.@researcher",
        "@researchers",
        "@researcher2",
        "@research",
        "researcher",
        "@ researcher",
        "@",
        "",
    ],
)
def test_no_mention(content: str) -> None:
    assert mentioned(content, AGENTS) is None


def test_a_name_with_signs_is_taken_as_it_stands() -> None:
    odd = replace(HELPER, slug="odd", name="C++ (new)")
    assert mentioned("@C++ (new) help", [odd]) == odd
    assert mentioned("@CCC (new)", [odd]) is None


def test_a_name_is_known_in_any_case_of_any_script() -> None:
    street = replace(HELPER, slug="s", name="Straße")
    assert mentioned("@STRASSE", [street]) == street
    assert mentioned("@straße", [street]) == street


def test_nobody_calls_a_paused_agent_or_one_without_a_name() -> None:
    assert mentioned("@helper", [paused(HELPER)]) is None
    assert mentioned("@", [replace(HELPER, name="")]) is None


def test_of_two_with_one_name_the_older_is_meant() -> None:
    younger = replace(RESEARCHER, name="Helper")
    assert mentioned("@helper", [HELPER, younger]) == HELPER
    assert mentioned("@helper", [replace(HELPER, status=AgentStatus.PAUSED), younger]) == younger


names = st.text(st.sampled_from("abAB01"), min_size=1, max_size=6)


@given(names, st.text(st.sampled_from("abcxyz019_.é漢"), min_size=1, max_size=8), st.text(max_size=8))
def test_an_at_inside_a_word_calls_nobody(name: str, word: str, rest: str) -> None:
    agent = replace(HELPER, slug=name, name=name)
    assert mentioned(f"{word}@{name} {rest.replace('@', '')}", [agent]) is None


@given(names, st.sampled_from("abcxyz019_é漢"))
def test_a_longer_word_is_another_name(name: str, more: str) -> None:
    agent = replace(HELPER, slug=name, name=name)
    assert mentioned(f"@{name}{more}", [agent]) is None


@given(names, names, st.sampled_from(["{}", "hi {}", "{} hi", "({})", "{}, hi"]))
def test_the_longest_name_wins(short: str, more: str, text: str) -> None:
    """`@ann b` calls Ann B, not Ann, even if Ann is older."""
    one = replace(HELPER, id="one", slug="one-slug", name=short)
    two = replace(HELPER, id="two", slug="two-slug", name=f"{short} {more}")
    called = text.format(f"@{short} {more}")
    assert mentioned(called, [one, two]) == two
    assert mentioned(called, [two, one]) == two


# -- the web platform --------------------------------------------------------------------------------------


def over_web(content: str = "Hello", channel: str = "web-ann", **changes: Any) -> IncomingMessage:
    return message(content, channel, platform="web", **changes)


def test_a_dashboard_channel_reaches_its_agent_and_not_the_conductor() -> None:
    assert choose(over_web(channel="dashboard-agent-helper", is_direct=True)) == ("helper", "dashboard_direct")
    assert choose(over_web(channel=f"dashboard-agent-{HELPER.id}")) == ("helper", "dashboard_direct")


def test_a_dashboard_channel_of_nobody_says_so() -> None:
    assert choose(over_web(channel="dashboard-agent-nobody"), fallback="helper") == (None, "unknown_agent")
    assert choose(over_web(channel="dashboard-agent-helper"), paused(HELPER)) == (None, "unknown_agent")


def test_a_dashboard_channel_means_nothing_on_a_platform() -> None:
    assert choose(message(channel="dashboard-agent-helper")) == (None, "none")


def test_nothing_over_our_own_port_is_dropped_for_lack_of_a_route() -> None:
    assert choose(over_web(), fallback="researcher") == ("researcher", "fallback")
    assert choose(over_web(sender=PAIRED)) == ("conductor", "web_default")
    assert choose(over_web(), role=PrincipalRole.OWNER) == ("conductor", "web_default")
    assert choose(over_web(sender=PAIRED), fallback="conductor") == ("conductor", "fallback")
    assert choose(over_web(sender=PAIRED), HELPER, CONDUCTOR) == ("conductor", "web_default")
    assert choose(over_web(sender=PAIRED), paused(CONDUCTOR), HELPER, RESEARCHER) == ("helper", "web_default")
    assert choose(over_web(), paused(HELPER), RESEARCHER, fallback="helper") == ("researcher", "web_default")
    assert choose(over_web(), HELPER, conductor_channel="web-ann") == ("helper", "web_default")
    assert choose(over_web(), HELPER, fallback="conductor") == ("helper", "web_default")
    assert choose(over_web(), paused(HELPER)) == (None, "no_agent")


def test_nobody_is_refused_over_our_own_port_because_the_conductor_is_not_for_them() -> None:
    assert choose(over_web()) == ("helper", "web_default")
    assert choose(over_web(), fallback="conductor") == ("helper", "web_default")
    assert choose(over_web(), CONDUCTOR, WRITER, RESEARCHER) == ("researcher", "web_default")
    key = over_web(sender=Sender("key", "Key", paired=True, agents=("writer",)))
    assert choose(key) == ("writer", "web_default")
    listed = replace(CONDUCTOR, allow_users=("ann",))
    assert choose(over_web(), HELPER, listed) == ("conductor", "web_default")


def test_whoever_may_ask_nobody_learns_why() -> None:
    assert choose(over_web(), CONDUCTOR, WRITER) == ("conductor", "web_default")
    assert choose(over_web(), WRITER) == ("writer", "web_default")


def test_a_bound_web_channel_and_a_mention_reach_their_agents() -> None:
    assert choose(over_web(), binding=bound(RESEARCHER)) == ("researcher", "channel_binding")
    assert choose(over_web("@writer"), fallback="helper") == ("writer", "mention")


# -- access ------------------------------------------------------------------------------------------------


def refusal(
    agent: Agent, incoming: IncomingMessage, reason: str = "mention", *, role: PrincipalRole = MEMBER,
    binding: Binding | None = None,
) -> str | None:  # fmt: skip
    return permit(incoming, agent, reason, role, binding)


def test_an_owner_may_ask_everybody_everywhere() -> None:
    closed = replace(WRITER, allow_users=("zoe",))
    binding = bound(closed, Permission.READ_ONLY)
    assert refusal(closed, message(), role=PrincipalRole.OWNER, binding=binding) is None


def test_a_list_of_people_is_the_whole_list() -> None:
    listed, other = replace(WRITER, allow_users=("ann",)), replace(HELPER, allow_users=("zoe",))
    assert refusal(listed, message()) is None
    assert refusal(listed, message(), binding=bound(listed, Permission.READ_ONLY)) is None
    assert refusal(other, message(sender=PAIRED), "bot_assignment", binding=bound(other)) == "not_allowed"


def test_it_is_the_id_that_is_listed_and_never_the_name() -> None:
    listed = replace(HELPER, allow_users=("Ann",))
    assert refusal(listed, message(sender=Sender("mallory", "Ann"))) == "not_allowed"


@pytest.mark.parametrize("permission", [Permission.READ_ONLY, Permission.NOTIFY_ONLY])
def test_a_channel_that_only_listens_asks_nothing(permission: Permission) -> None:
    assert refusal(HELPER, message(sender=PAIRED), "channel_binding", binding=bound(HELPER, permission)) == permission
    assert refusal(HELPER, message(), "mention", binding=bound(RESEARCHER, permission)) == permission


@pytest.mark.parametrize("agent", [WRITER, CONDUCTOR, replace(HELPER, tools=("get_time", "unheard_of"))])
def test_what_can_do_harm_is_for_people_we_know(agent: Agent) -> None:
    assert refusal(agent, message(), "bot_assignment", binding=bound(agent)) == "not_paired"
    assert refusal(agent, message(sender=PAIRED), "dm") is None
    assert refusal(agent, over_web()) == "not_paired"


def test_an_agent_is_there_for_its_own_channel() -> None:
    assert refusal(HELPER, message(), "channel_binding", binding=bound(HELPER)) is None
    assert refusal(HELPER, message(), "mention", binding=bound(RESEARCHER)) == "not_bound"
    assert refusal(HELPER, message(sender=PAIRED), "fallback") == "not_bound"


def test_a_bots_agent_is_there_for_everybody_without_a_binding() -> None:
    assert refusal(HELPER, message(), "bot_assignment") is None
    assert refusal(WRITER, message(), "bot_assignment") == "not_paired"


def test_an_agent_reached_over_our_own_port_counts_as_bound() -> None:
    assert refusal(HELPER, over_web(), "dashboard_direct") is None
    assert refusal(replace(HELPER, tools=("calculate", "web_search")), over_web(), "fallback") is None


def test_a_chat_key_reaches_the_agents_that_it_names() -> None:
    key = over_web(sender=Sender("key", "Key", agents=("helper",)))
    assert refusal(HELPER, key) is None
    assert refusal(RESEARCHER, key) == "not_allowed"
    assert refusal(replace(RESEARCHER, allow_users=("key",)), key) == "not_allowed"


def test_a_chat_key_that_names_nobody_reaches_all_without_risky_tools() -> None:
    key = over_web(sender=Sender("key", "Key", agents=()))
    assert refusal(HELPER, key) is None
    assert refusal(WRITER, key) == "not_allowed"
    assert refusal(CONDUCTOR, key) == "not_allowed"


# -- identities --------------------------------------------------------------------------------------------


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    database, clock = Database(tmp_path / "arvis.db", None, tmp_path), SystemClock()
    migrated(database, clock.now())
    new_id = IdMaker(clock=clock, random_bits=secrets.randbits)
    async with open_store(database, boot="test", new_id=new_id) as (store, _):
        for agent in AGENTS:
            await store.write(lambda tx, agent: tx.agents.add(agent, 1), agent)
        yield store


async def route(store: Store, incoming: IncomingMessage, *owners: str) -> Routed | Refused:
    return await store.read(Router(rules=Routing, owners={"chat": owners}).route, incoming)


async def remember(store: Store, user_id: str, role: PrincipalRole) -> None:
    await store.write(lambda tx: tx.principals.seen("chat", user_id, user_id, role, 1))


async def test_a_route_tells_the_agent_the_rule_and_the_role(store: Store) -> None:
    incoming = message(assigned_agent="helper")
    assert await route(store, incoming) == Routed(HELPER, "bot_assignment", MEMBER, incoming)
    assert await route(store, message()) == Refused("none", MEMBER)
    assert await route(store, message(assigned_agent="writer")) == Refused("not_paired", MEMBER, WRITER)


async def test_a_binding_is_looked_up_by_platform_and_channel(store: Store) -> None:
    await store.write(lambda tx: tx.agents.bind(bound(RESEARCHER), 1))
    assert await route(store, message()) == Routed(RESEARCHER, "channel_binding", MEMBER, message())
    assert await route(store, message(channel="elsewhere")) == Refused("none", MEMBER)
    assert await route(store, message(platform="other")) == Refused("none", MEMBER)


async def test_owners_are_named_by_platform_and_id(store: Store) -> None:
    incoming = message(assigned_agent="writer")
    assert await route(store, incoming, "ann") == Routed(WRITER, "bot_assignment", PrincipalRole.OWNER, incoming)
    assert await route(store, incoming, "Ann") == Refused("not_paired", MEMBER, WRITER)
    elsewhere = message(assigned_agent="writer", platform="other")
    assert await route(store, elsewhere, "ann") == Refused("not_paired", MEMBER, WRITER)


async def test_an_owner_who_was_struck_off_is_an_owner_no_more(store: Store) -> None:
    await remember(store, "ann", PrincipalRole.OWNER)
    assert await route(store, message(assigned_agent="writer")) == Refused("not_paired", MEMBER, WRITER)


async def test_a_blocked_person_is_refused_first_of_all(store: Store) -> None:
    await remember(store, "ann", MEMBER)
    await store.write(_block, "ann")
    as_operator = Sender("ann", "Ann", role=PrincipalRole.OPERATOR, paired=True)
    for incoming in (message(assigned_agent="helper"), message(sender=as_operator)):
        assert await route(store, incoming, "ann") == Refused("blocked", PrincipalRole.BLOCKED)
    assert (await route(store, message("talk", addressed=False, observe=20), "ann")).reason == "not_addressed"


async def test_a_surface_that_knows_the_role_is_believed_and_else_the_record(store: Store) -> None:
    await remember(store, "olga", PrincipalRole.OPERATOR)
    known = await route(store, message(assigned_agent="helper", sender=Sender("olga", "Olga")))
    assert known.role is PrincipalRole.OPERATOR
    told = await route(store, message(assigned_agent="helper", sender=Sender("olga", "Olga", role=MEMBER)))
    assert told.role is MEMBER


def _block(tx: Any, user_id: str) -> None:
    principal = tx.principals.find("chat", user_id)
    tx.principals.set_role(principal.id, PrincipalRole.BLOCKED, 1)
