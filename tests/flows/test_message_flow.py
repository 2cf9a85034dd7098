"""From a connector's event to the reply's delivery: each event is accepted once and answered once, and none is lost."""

from __future__ import annotations

import asyncio
import hashlib

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.events import Delta, MessageReceived, StatusChanged, TypingRequested
from arvis.domain.messages import DeliveryState, MessageStatus, PrincipalRole
from arvis.messaging import notices
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app, steps_of, upload
from tests.flows.scripted import said

# -- the usual path ----------------------------------------------------------------------------------------


async def test_a_message_gets_one_reply_which_is_delivered_where_it_came_from(either_app: AppHarness) -> None:
    app = either_app
    app.provider.script.append("Good day!")
    timeline = await app.ask("Hello")
    assert timeline.reply == "Good day!"
    assert timeline.agent == "helper"
    await app.until_sent(1)
    delivery = (await app.deliveries())[0]
    assert (delivery.content, delivery.seq, delivery.state) == ("Good day!", 1, DeliveryState.SENT)
    assert (delivery.reply_to, delivery.answers) == (timeline.message.id, (timeline.message.id,))
    assert app.provider.prompts == [["user: Hello"]]


async def test_the_timeline_tells_the_whole_way(app: AppHarness) -> None:
    timeline = await app.ask("Hello")
    await app.until_sent(1)
    timeline = await app.timeline(timeline.message.id)
    assert sorted(steps_of(timeline)) == sorted(
        ["received", "routed", "queued", "started", "node", "node", "node", "model_call", "answered", "delivery"]
    )
    nodes = [step.data["node"] for step in timeline.steps if step.step == "node"]
    assert nodes == ["check_input", "prepare", "call_model"]
    assert (timeline.input_tokens, timeline.output_tokens) == (10, 5)


async def test_a_plain_message_costs_one_look_at_the_store_and_four_commits(app: AppHarness) -> None:
    await app.ask("Hello")
    await app.until_sent(1)
    app.store.reads.clear()
    app.store.commits.clear()
    await app.ask("Hello again")
    await app.until_sent(2)
    assert app.store.reads == ["load"]
    assert len(app.store.commits) == 4  # the call of the model is noted before it is made


async def test_the_bus_tells_of_everything_in_order(app: AppHarness) -> None:
    """A turn may begin before the message's receiver learns of the commit; the events of each of the two keep their
    order."""
    timeline = await app.ask("Hello")
    await app.until_told(timeline.message.id, "running", "answered")
    told = [type(event) for event in app.events]
    assert [kind for kind in told if kind in {MessageReceived, TypingRequested}] == [MessageReceived, TypingRequested]
    assert [kind for kind in told if kind in {StatusChanged, Delta}] == [StatusChanged, Delta, StatusChanged]
    assert told[-1] is StatusChanged


async def test_the_deltas_add_up_to_the_reply(app: AppHarness) -> None:
    app.provider.script.append("a longer answer")
    timeline = await app.ask("Hello")
    deltas = [event for event in app.events if isinstance(event, Delta)]
    assert "".join(delta.text for delta in deltas) == timeline.reply
    assert [delta.offset for delta in deltas] == [0], "pieces that arrive together are sent together"
    assert {delta.message_id for delta in deltas} == {timeline.message.id}


async def test_conversations_do_not_see_one_another(app: AppHarness) -> None:
    await app.ask("my secret", channel="one")
    await app.ask("Hello", channel="two")
    assert app.provider.prompts[1] == ["user: Hello"]


async def test_ten_conversations_are_answered_at_once_and_one_stays_serial(database: Database) -> None:
    async with open_app(database, workers=10) as app:
        everybody = asyncio.Barrier(10)
        provider = app.provider
        plain = provider.stream

        async def together(request, account, on_text):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            await everybody.wait()  # passes only when ten calls run at the same time
            return await plain(request, account, on_text)

        provider.stream = together  # type: ignore[method-assign]
        await asyncio.gather(*(app.ask("Hello", channel=f"room-{number}") for number in range(10)))
        assert len(provider.asked) == 10


# -- repeated events ---------------------------------------------------------------------------------------


async def test_the_same_event_is_one_message_whatever_its_content(either_app: AppHarness) -> None:
    app = either_app
    first = await app.say("Hello", event_id="event-1")
    again = await app.say("Something else", event_id="event-1")
    assert (again.message_id, again.duplicate, first.duplicate) == (first.message_id, True, False)
    await app.until_idle()
    assert app.provider.prompts == [["user: Hello"]]
    assert len(await app.deliveries()) == 1


async def test_the_same_event_at_the_same_moment_is_one_message(either_app: AppHarness) -> None:
    app = either_app
    answers = await asyncio.gather(*(app.say(f"Hello {number}", event_id="event-1") for number in range(8)))
    assert len({received.message_id for received in answers}) == 1
    assert [received.duplicate for received in answers].count(False) == 1
    await app.until_idle()
    assert len(app.provider.asked) == 1
    assert [type(event) for event in app.events].count(MessageReceived) == 1


async def test_first_messages_at_the_same_moment_share_one_conversation(either_app: AppHarness) -> None:
    app = either_app
    people = ["ann", "bob", "cem", "dora"]
    await asyncio.gather(*(app.ask(f"{person} here", user=person) for person in people))
    conversations = await app.insights.conversations(agent=None, limit=10, cursor=None)
    assert [conversation.turns for conversation in conversations.items] == [4]


async def test_the_same_event_id_in_another_channel_is_another_message(app: AppHarness) -> None:
    first = await app.say("Hello", event_id="event-1", channel="one")
    second = await app.say("Hello", event_id="event-1", channel="two")
    assert second.message_id != first.message_id
    assert not second.duplicate


# -- dropped messages --------------------------------------------------------------------------------------


async def test_a_dropped_message_leaves_a_row_and_a_reason(either_app: AppHarness) -> None:
    app = either_app
    dropped = await app.say("Hello", assigned_agent=None, is_direct=False, event_id="event-1")
    assert (dropped.status, dropped.reason) == (MessageStatus.DROPPED, "none")
    timeline = await app.timeline(dropped.message_id)
    assert (timeline.status, timeline.reason, timeline.reply) == (MessageStatus.DROPPED, "none", None)
    assert steps_of(timeline) == ["received", "dropped"]
    assert await app.jobs() == []
    again = await app.say("Hello", assigned_agent=None, is_direct=False, event_id="event-1")
    assert (again.message_id, again.duplicate) == (dropped.message_id, True)


async def test_a_blocked_person_is_dropped_with_their_name(app: AppHarness) -> None:
    await app.store.write(block, "mallory")
    dropped = await app.say("Hello", user="mallory")
    assert (dropped.status, dropped.reason) == (MessageStatus.DROPPED, "blocked")
    assert (await app.timeline(dropped.message_id)).message.principal_id is not None


async def test_talk_among_people_is_not_kept(app: AppHarness) -> None:
    ignored = await app.say("Hi Bob", addressed=False, is_direct=False)
    assert (ignored.message_id, ignored.status, ignored.reason) == ("", MessageStatus.DROPPED, "not_addressed")
    assert await app.store.read(lambda tx: tx.principals.find("chat", "ann")) is None


# -- files -------------------------------------------------------------------------------------------------


async def test_files_are_stored_by_their_content_and_named_to_the_model(app: AppHarness, database: Database) -> None:
    data = b"the plan"
    timeline = await app.ask("Look", uploads=(upload("plan.txt", data), upload("copy.txt", data)))
    name = hashlib.sha256(data).hexdigest()
    assert [(file.filename, file.size, file.sha256) for file in timeline.message.attachments] == [
        ("plan.txt", 8, name),
        ("copy.txt", 8, name),
    ]
    stored = [path for path in (database.folder / "blobs").rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in stored] == [data]
    assert name.endswith(stored[0].name[-32:])
    prompt = app.provider.prompts[0][0]
    assert prompt.startswith("user: Look")
    assert "plan.txt" in prompt
    assert "copy.txt" in prompt


async def test_a_message_of_nothing_but_a_file_can_be_asked_and_remembered(app: AppHarness) -> None:
    await app.ask("", uploads=(upload("plan.txt", b"the plan"),))
    await app.ask("And now?")
    assert all(turn.content for request in app.provider.asked for turn in request.turns)


async def test_the_files_of_a_dropped_message_are_not_kept(app: AppHarness, database: Database) -> None:
    await app.say("Look", assigned_agent=None, uploads=(upload("plan.txt", b"the plan"),))
    assert not list((database.folder / "blobs").rglob("*.*"))
    assert not [path for path in (database.folder / "blobs").rglob("*") if path.is_file()]


# -- replies of models -------------------------------------------------------------------------------------


async def test_a_reply_over_the_limit_is_cut_with_a_closing_line(app: AppHarness) -> None:
    app.provider.script.append(said("much to", truncated=True))
    timeline = await app.ask("Tell me all")
    assert timeline.reply == "much to" + notices.CUT


async def test_every_try_leaves_its_receipt(either_app: AppHarness) -> None:
    app = either_app
    app.provider.script += [ProviderError(ProviderErrorKind.OVERLOADED, "busy"), said("at last")]
    timeline = await app.ask("Hello")
    calls = [step.data for step in timeline.steps if step.step == "model_call"]
    assert [(call["error"], call["output_tokens"]) for call in calls] == [("overloaded", 0), (None, 5)]
    assert timeline.reply == "at last"


async def test_a_retried_stream_begins_again_at_offset_nought(app: AppHarness) -> None:
    app.provider.script += [said("  "), "second"]  # an empty reply is no reply
    timeline = await app.ask("Hello")
    deltas = [(event.offset, event.text) for event in app.events if isinstance(event, Delta)]
    assert deltas == [(0, "second")]
    assert timeline.reply == "second"


async def test_an_agent_whose_graph_is_missing_says_so_at_once(database: Database) -> None:
    async with open_app(database, agents=[agent_with(graph="gone")]) as app:
        received = await app.say("Hello")
        timeline = await app.until_status(received.message_id, MessageStatus.FAILED)
        assert timeline.reason == "broken"
        assert timeline.reply == notices.failed("broken")
        assert timeline.job is not None
        assert (timeline.job.attempts, timeline.job.error) == (0, "The graph gone is not installed")


async def test_owners_come_first(database: Database) -> None:
    async with open_app(database, started=False) as app:
        await app.say("first", user="ann", channel="one")
        await app.say("second", user="owner", channel="two")
        assert sorted(job.priority for job in await app.jobs("message")) == [1, 5]
        owner = await app.store.read(lambda tx: tx.principals.find("chat", "owner"))
        assert owner is not None
        assert owner.role is PrincipalRole.OWNER


def block(tx: Transaction, user_id: str) -> None:
    principal = tx.principals.seen("chat", user_id, user_id, None, 1)
    tx.principals.set_role(principal.id, PrincipalRole.BLOCKED, 1)
