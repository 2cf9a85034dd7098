"""Rewind: a message is answered again, with the same or another text, and all versions stay switchable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from arvis.domain.conversations import Compaction, CompactionStatus, ConversationVersion
from arvis.domain.erasures import Phase
from arvis.domain.errors import Conflict, Forbidden, NotFound, ProviderError, ProviderErrorKind
from arvis.domain.events import ConversationRewound
from arvis.domain.messages import Address, MessageStatus, Principal, PrincipalRole, Sender
from arvis.domain.taint import CLEAN, Label
from arvis.domain.tools import Permit
from arvis.erasing import begin_erasure, run_slice
from arvis.housekeeping import forget_versions
from arvis.ports.operations import RewoundConversation
from arvis.ports.store import Transaction
from arvis.process.leases import Holding
from tests.flows.app_harness import AppHarness, agent_with, upload
from tests.flows.scripted import BOT, PLATFORM, Held, asking, call, said
from tests.flows.test_operations import person
from tests.flows.workflow_kit import asks, chain, draw, node

PLACE = Address(PLATFORM, BOT, "room")
DAY_S = 86_400
OLGA = Principal("olga", "web", "olga", "Olga", PrincipalRole.OPERATOR)


async def again(app: AppHarness, message_id: str, by: Principal, text: str | None = None) -> RewoundConversation:
    sender = Sender(by.user_id, by.name)
    rewound = await app.operations.answer_again(message_id, by, sender, content=text)
    await app.until_status(rewound.version.message_id, MessageStatus.ANSWERED, MessageStatus.FAILED)
    return rewound


async def shown(app: AppHarness) -> list[str]:
    """Return the texts of the conversation as pages list them, oldest first."""
    conversation = await app.store.read(lambda tx: tx.conversations.in_place(PLACE)[0].id)
    page = await app.insights.talk_messages(conversation, own=None, limit=100, cursor=None)
    return [each.message.content for each in reversed(page.items)]


async def history(app: AppHarness) -> list[str]:
    """Return the texts of the conversation that prompts contain."""

    def read(tx: Transaction) -> list[str]:
        return [each.content for each in tx.messages.history(tx.conversations.in_place(PLACE)[0].id, 100)]

    return await app.store.read(read)


async def versions(app: AppHarness) -> Sequence[ConversationVersion]:
    return await app.store.read(lambda tx: tx.conversation_versions.of(tx.conversations.in_place(PLACE)[0].id, 100))


async def switched(app: AppHarness, version: ConversationVersion, by: Principal) -> RewoundConversation:
    return await app.operations.switch_version(version.conversation_id, version.id, by)


async def test_all_versions_are_kept_and_only_the_active_one_is_used(either_app: AppHarness) -> None:
    """A tree of versions on both databases: each switch shows exactly the messages of one path."""
    app = either_app
    first = await app.ask("one")
    second = await app.ask("two")
    await app.ask("three")
    ann = await person(app, "ann")
    one = ["one", "Re: one"]
    original = [*one, "two", "Re: two", "three", "Re: three"]
    rewound = await again(app, second.message.id, ann, "zwei")
    assert await shown(app) == await history(app) == [*one, "zwei", "Re: zwei"]
    assert app.provider.prompts[-1] == ["user: one", "assistant: Re: one", "user: zwei"]
    await app.ask("vier")
    edited = [*one, "zwei", "Re: zwei", "vier", "Re: vier"]
    assert await history(app) == edited

    old = next(each for each in await versions(app) if not each.active)
    await switched(app, old, ann)
    assert await shown(app) == await history(app) == original
    await app.ask("five")
    assert app.provider.prompts[-1][-3:] == ["user: three", "assistant: Re: three", "user: five"]
    assert await history(app) == [*original, "five", "Re: five"]
    await switched(app, rewound.version, ann)
    assert await shown(app) == await history(app) == edited

    app.provider.script.append("Again.")
    above = await again(app, first.message.id, ann)
    assert await history(app) == ["one", "Again."]
    with pytest.raises(Conflict, match="not active"):
        await switched(app, old, ann)
    with pytest.raises(Conflict, match="not active"):
        await app.operations.answer_again(second.message.id, ann, Sender("ann", "Ann"))
    outer = next(each for each in await versions(app) if each.message_id == first.message.id)
    await switched(app, outer, ann)
    assert await history(app) == edited
    await switched(app, old, ann)
    assert await history(app) == [*original, "five", "Re: five"]
    assert [each.active for each in await versions(app) if each.point_id == above.version.point_id] == [True, False]


async def test_a_reply_is_regenerated_and_its_point_gets_a_third_version(app: AppHarness) -> None:
    asked = await app.ask("one", uploads=(upload("notes.txt", b"the file"),))
    ann = await person(app, "ann")
    heard: list[ConversationRewound] = []
    app.bus.subscribe(ConversationRewound, heard.append)
    reply = asked.reply_id or ""
    for text in ("Second.", "Third."):
        app.provider.script.append(text)
        rewound = await again(app, reply, ann)
        reply = (await app.timeline(rewound.version.message_id)).reply_id or ""
        assert "the file" in app.provider.asked[-1].turns[-1].content
        assert await history(app) == ["one", text]
    found = await versions(app)
    assert [each.active for each in found] == [False, False, True]
    assert len({each.point_id for each in found}) == 1
    assert [event.address for event in heard] == [PLACE, PLACE]
    await app.restart()
    await switched(app, found[0], ann)
    assert await history(app) == ["one", asked.reply]


async def test_effects_are_listed_and_the_next_prompt_names_them(either_app: AppHarness) -> None:
    app = either_app
    agent = agent_with(tools=("look", "srv.dig"), allow_users=("ann",))
    await app.store.write(lambda tx: tx.agents.update(agent, app.clock.now()))
    app.rules["egress"] = Permit.ALWAYS
    await app.ask("before")
    app.provider.script += [asking(call(1, "look", words="a"), call(2, "srv__dig", words="deep")), "Dug."]
    asked = await app.ask("dig")
    ann = await person(app, "ann")
    effects = await app.operations.earlier_effects(asked.message.id, ann)
    assert (effects.turns, effects.sent) == (1, 1)
    assert [(each.name, each.failed) for each in effects.effects] == [("look", False), ("srv__dig", False)]
    assert "deep" in effects.effects[1].detail
    rewound = await again(app, asked.message.id, ann, "do not dig")
    assert rewound.effects == effects
    assert "remain in effect: look, srv__dig." in app.provider.asked[-1].changing
    await app.ask("and now")
    assert "remain in effect" not in app.provider.asked[-1].changing


async def test_effects_of_delegated_tasks_are_listed(either_app: AppHarness) -> None:
    """A task that is given in turn by the task is listed, too, and its costs are counted."""
    app = either_app
    agents = [
        agent_with(id=f"agent-{slug}", slug=slug, name=slug.title(), tools=("srv.dig",))
        for slug in ("worker", "digger")
    ]

    def hire(tx: Transaction) -> None:
        for each in agents:
            tx.agents.add(each, app.clock.now())

    await app.store.write(hire)
    app.rules["egress"] = Permit.ALWAYS
    app.provider.script += [
        said("It goes on. [DELEGATE:worker] Dig. [/DELEGATE]"),
        said("Given. [DELEGATE:digger] Dig. [/DELEGATE]"),
        asking(call(1, "srv__dig", words="deep")),
        said("Dug. [MEMORY:learned]The ground is hard.[/MEMORY]"),
    ]
    asked = await app.say("Dig", user="owner")
    await app.until_sent(3)
    await app.until_idle()
    owner = await person(app, "owner")
    effects = await app.operations.earlier_effects(asked.message_id, owner)
    assert [each.name for each in effects.effects] == ["srv__dig", "delegate", "delegate", "remember"]
    assert "deep" in effects.effects[0].detail
    assert len({each.execution_id for each in effects.effects}) == 3
    assert effects.cost_micros == await app.store.read(
        lambda tx: tx.usage.cost_of_all([each.execution_id for each in effects.effects])
    )


async def test_effects_of_a_workflow_are_listed(either_app: AppHarness) -> None:
    """Both the calls of the workflow's own steps and those of its agents are listed."""
    app = either_app
    await app.store.write(
        lambda tx: tx.agents.update(agent_with(tools=("srv.dig",), allow_users=("ann",)), app.clock.now())
    )
    app.rules["egress"] = Permit.ALWAYS
    step = node("Dig", "tool-call", tool="srv.dig", arguments={"words": "first"})
    await draw(app, "Digging", chain(node("begin", "trigger", kind="message"), asks(), step, agent="helper"))
    app.provider.script += [asking(call(1, "srv__dig", words="second")), said("Dug.")]
    asked = await app.ask("Dig")
    await app.until_idle()
    effects = await app.operations.earlier_effects(asked.message.id, await person(app, "ann"))
    found = [(each.name, each.detail, each.failed) for each in effects.effects]
    assert sorted(found) == [("srv.dig", '{"words": "first"}', False), ("srv__dig", '{"words": "second"}', False)]


async def test_running_work_and_closed_conversations_are_not_rewound(app: AppHarness) -> None:
    asked = await app.ask("one")
    ann = await person(app, "ann")
    held = Held()
    app.provider.script.append(held)
    running = await app.say("two")
    await held.until_begun()
    for message in (asked.message.id, running.message_id):
        with pytest.raises(Conflict, match=r"working|answered again"):
            await app.operations.answer_again(message, ann, Sender("ann", "Ann"))
    held.go.set()
    await app.until_status(running.message_id, MessageStatus.ANSWERED)
    await app.say("/new")
    with pytest.raises(Conflict, match="closed"):
        await app.operations.answer_again(asked.message.id, ann, Sender("ann", "Ann"))
    with pytest.raises(NotFound):
        await app.operations.answer_again("unknown", ann, Sender("ann", "Ann"))


async def test_members_rewind_only_their_own_messages(app: AppHarness) -> None:
    asked = await app.ask("one", is_direct=False)
    ann, bob = await person(app, "ann"), await person(app, "bob")
    with pytest.raises(NotFound):
        await app.operations.answer_again(asked.message.id, bob, Sender("bob", "Bob"))
    other = await app.ask("two", user="bob", is_direct=False)
    with pytest.raises(Forbidden, match="Other people"):
        await app.operations.answer_again(asked.message.id, ann, Sender("ann", "Ann"))
    rewound = await again(app, other.message.id, OLGA, "Olga's words")
    copy = await app.store.read(lambda tx: tx.messages.get(rewound.version.message_id))
    assert copy is not None
    assert (copy.principal_id, copy.taint) == (bob.id, frozenset({Label.PEOPLE}))
    await again(app, asked.message.id, OLGA)
    owner = await app.ask("mine", user="owner", is_direct=False)
    with pytest.raises(Forbidden, match="more rights"):
        await app.operations.answer_again(owner.message.id, OLGA, Sender("olga", "Olga"), content="yours")


async def test_a_job_of_an_inactive_version_is_not_retried(app: AppHarness) -> None:
    app.provider.script.append(ProviderError(ProviderErrorKind.REFUSED, "not this"))
    failed = await app.say("rude")
    timeline = await app.until_status(failed.message_id, MessageStatus.FAILED)
    ann = await person(app, "ann")
    await again(app, failed.message_id, ann, "kind")
    assert await history(app) == ["kind", "Re: kind"]
    assert timeline.job is not None
    for retry in (app.operations.retry_job(timeline.job.id), app.operations.ask_anew(timeline.job.id, "x", OLGA)):
        with pytest.raises(Conflict, match="not active"):
            await retry
    assert await history(app) == ["kind", "Re: kind"]


def compact(tx: Transaction, name: str, first: int, last: int, now: int) -> None:
    conversation = tx.conversations.in_place(PLACE)[0].id
    summary = Compaction(
        id=name, conversation_id=conversation, execution_id="e", first_turn=first, last_turn=last, summary=name,
        tokens=2, taint=CLEAN, messages_before=4, messages_after=2, tokens_saved=1,
        status=CompactionStatus.ACTIVE, created_at=now,
    )  # fmt: skip
    ids = [each.id for each in tx.compactions.oldest(conversation, 100) if first <= each.turn <= last]
    assert tx.compactions.add(summary, ids)


async def test_a_summary_with_rewound_turns_is_restored_before(either_app: AppHarness) -> None:
    app = either_app
    asked = [await app.ask(text) for text in ("one", "two", "three", "four")]
    ann = await person(app, "ann")

    await app.store.write(compact, "early", 1, 1, app.clock.now())
    await app.store.write(compact, "late", 2, 3, app.clock.now())
    await again(app, asked[2].message.id, ann, "drei")
    assert await history(app) == ["two", "Re: two", "drei", "Re: drei"]
    old = next(each for each in await versions(app) if not each.active)
    await app.store.write(compact, "later", 2, 5, app.clock.now())
    await switched(app, old, ann)
    assert await history(app) == ["two", "Re: two", "three", "Re: three", "four", "Re: four"]
    await app.store.write(compact, "final", 2, 3, app.clock.now())
    assert await app.store.write(lambda tx: tx.compactions.forget(app.clock.now() + 1, 10, app.clock.now())) == 2
    new = next(each for each in await versions(app) if not each.active)
    with pytest.raises(Conflict, match="no longer"):
        await switched(app, new, ann)
    assert await history(app) == ["four", "Re: four"]


async def test_texts_of_inactive_versions_expire(either_app: AppHarness) -> None:
    """A version expires with the points within it, `retention.compacted_days` after it became inactive."""
    app = either_app
    first = await app.ask("one canary")
    second = await app.ask("two canary")
    ann = await person(app, "ann")
    started = app.clock.now()
    await again(app, second.message.id, ann, "zwei canary")
    await app.pass_time(DAY_S)
    rewound = await again(app, first.message.id, ann, "eins")
    third = await app.ask("drei")
    await app.pass_time(DAY_S)
    await again(app, third.reply_id or "", ann)
    holding = Holding(clock=app.clock, lease=None, until=float("inf"))

    async def expire(before: int) -> None:
        while await app.store.write(forget_versions, holding, before):
            pass

    def texts(tx: Transaction) -> list[str]:
        found = [tx.messages.get(each) for each in (first.message.id, first.reply_id or "", second.message.id)]
        return [each.content for each in found if each is not None]

    await expire(started)
    assert await app.store.read(texts) == ["one canary", "Re: one canary", "two canary"]
    await expire(started + DAY_S * 1000)
    assert await app.store.read(texts) == ["one canary", "Re: one canary", ""]
    await expire(started + 2 * DAY_S * 1000)
    assert await app.store.read(texts) == ["", "", ""]
    left = await versions(app)
    assert [each.active for each in left] == [False, True]
    assert rewound.version.id not in {each.id for each in left}
    assert await history(app) == ["eins", "Re: eins", "drei", "Re: drei"]


async def test_the_command_answers_the_last_message_again(app: AppHarness) -> None:
    assert (await app.ask("/again")).reply == "You have sent no message here that I could answer again."
    await app.ask("one")
    app.provider.script.append("Other.")
    assert (await app.ask("/again")).reply == "I am answering your last message again."
    await app.until_idle()
    assert await history(app) == ["one", "Other."]
    await app.ask("/again eins")
    await app.until_idle()
    assert await history(app) == ["eins", "Re: eins"]
    held = Held()
    app.provider.script.append(held)
    running = await app.say("two")
    await held.until_begun()
    assert "Its turn has not ended." in ((await app.ask("/again")).reply or "")
    held.go.set()
    await app.until_status(running.message_id, MessageStatus.ANSWERED)


async def test_a_branch_continues_with_copies(either_app: AppHarness) -> None:
    app = either_app
    await app.ask("one", uploads=(upload("notes.txt", b"the file"),))
    second = await app.ask("two")
    await app.ask("three")
    ann = await person(app, "ann")
    place = replace(PLACE, channel="branch")
    branch = await app.operations.branch_conversation(second.reply_id or "", place, ann)
    await app.ask("four", channel="branch")
    assert app.provider.prompts[-1][-1] == "user: four"
    assert [line.partition("\n")[0] for line in app.provider.prompts[-1]] == [
        "user: one", "assistant: Re: one", "user: two", "assistant: Re: two", "user: four"
    ]  # fmt: skip
    assert "the file" in app.provider.asked[-1].turns[0].content
    first_lines = [text.partition("\n")[0] for text in await history(app)]
    assert first_lines == ["one", "Re: one", "two", "Re: two", "three", "Re: three"]
    page = await app.insights.talk_messages(branch.id, own=None, limit=10, cursor=None)
    assert [each.answered_by for each in page.items[::-1]].count(None) == 3, "each question names its reply"
    with pytest.raises(Conflict, match="already has a conversation"):
        await app.operations.branch_conversation(second.message.id, place, ann)
    bob = await person(app, "bob")
    with pytest.raises(NotFound):
        await app.operations.branch_conversation(second.message.id, replace(place, channel="other"), bob)


async def test_an_erasure_deletes_all_versions_and_their_summaries(either_app: AppHarness) -> None:
    app = either_app
    asked = await app.ask("one canary", is_direct=False)
    bob = await app.ask("of Bob", user="bob", is_direct=False)
    ann = await person(app, "ann")
    await app.store.write(compact, "canary", 1, 1, app.clock.now())
    rewound = await again(app, asked.message.id, OLGA)
    erasure = await app.store.write(begin_erasure, [ann.id], None, None, app.clock.now())
    holding = Holding(clock=app.clock, lease=None, until=float("inf"))
    while erasure.phase is not Phase.DONE:
        erasure, _ = await app.store.write(run_slice, holding, erasure.id, app.clock.now())

    def left(tx: Transaction) -> list[object]:
        ids = (asked.message.id, asked.reply_id, rewound.version.message_id, bob.message.id)
        summary = tx.compactions.get("canary")
        assert summary is not None
        return [*(tx.messages.get(each or "") is None for each in ids), "canary" in summary.summary]

    assert await app.store.read(left) == [True, True, True, False, False]
