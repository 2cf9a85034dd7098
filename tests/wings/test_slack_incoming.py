"""Incoming events of Slack: mentions, threads, edits, commands, clicks; repeated and missed events."""

from __future__ import annotations

import asyncio

import pytest

from arvis.domain.errors import Unavailable
from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.ports.connector import TokenRefused
from arvis.testing.conformance.connector import BUTTONS
from arvis.testing.conformance.connector_stage import delivery, running, send_all
from connectors.slack.incoming import microseconds
from tests.platforms.recording_inbox import RecordingInbox
from tests.platforms.slack_server import Fault
from tests.platforms.slack_server_world import BOT_USER
from tests.platforms.slack_stage import SlackStage


async def test_a_mention_that_comes_as_two_events_is_one_message_in_a_thread_of_its_own() -> None:
    async with SlackStage.open(mentions_twice=True) as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            ref = await stage.say("what is up?", direct=False)
            await stage.settled()
        [message] = inbox.messages
        assert inbox.brought == {message.event_id: 2}
        assert message.content == "what is up?"
        assert message.address.thread == ref
        assert message.sender.name == "Ann"


async def test_a_mention_is_heard_without_the_scope_for_the_channel() -> None:
    async with SlackStage.open(mentions_twice=True) as stage:
        stage.world.scopes.discard("channels:history")
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.say("what is up?", direct=False)
            message = await inbox.message("what is up?")
        assert message.addressed


async def test_markup_becomes_plain_text() -> None:
    async with SlackStage.open() as stage:
        inbox = RecordingInbox()
        bob = stage.user("bob")
        text = (
            f"<@{BOT_USER}> ask <@{bob}> and <@U0NOBODY1> in <#C0ROOM|room>, <!here>: "
            "<https://a.example/?x=1&amp;y=2|the page> &lt;b&gt; <mailto:a@b.example|a@b.example>"
        )
        async with running(await stage.connector(), inbox):
            stage.write(stage.channel("room"), {"user": stage.user("ann"), "text": text})
            await inbox.until(lambda: inbox.messages)
        assert inbox.contents == [
            "ask @Bob and @U0NOBODY1 in #room, @here: the page (https://a.example/?x=1&y=2) <b> a@b.example"
        ]
        assert inbox.messages[0].addressed


async def test_everybody_being_called_does_not_address_the_bot() -> None:
    async with SlackStage.open() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            stage.write(stage.channel("room"), {"user": stage.user("ann"), "text": "<!channel> lunch"})
            await inbox.until(lambda: inbox.messages)
        assert not inbox.messages[0].addressed


async def test_a_reply_in_a_thread_that_the_bot_began_addresses_it() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(), RecordingInbox()
        async with running(connector, inbox):
            [receipt] = await send_all(connector, delivery(stage.address(), "good morning"))
            reply = {"user": stage.user("ann"), "text": "you too", "thread_ts": receipt.platform_id}
            stage.write(stage.channel("room"), reply)
            message = await inbox.message("you too")
        assert message.addressed
        assert message.address.thread == message.in_reply_to == receipt.platform_id


async def test_slacks_own_remarks_and_closed_channels_are_left_out() -> None:
    async with SlackStage.open() as stage:
        inbox = RecordingInbox()
        room, other = stage.channel("room"), stage.channel("other")
        async with running(await stage.connector(allowed_channels=[room.id]), inbox):
            ann = stage.user("ann")
            stage.write(room, {"subtype": "channel_join", "user": ann, "text": "ann has joined"})
            stage.write(other, {"user": ann, "text": "elsewhere"})
            stage.write(room, {"user": ann, "text": "here"})
            await stage.say("alone")
            await inbox.message("alone")
        assert inbox.contents == ["here", "alone"]


async def test_a_program_that_is_allowed_is_heard_as_one() -> None:
    async with SlackStage.open() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(allow_bots=["B0OTHER01"]), inbox):
            await stage.say_as_bot("build failed", own=False)
            message = await inbox.message("build failed")
        assert message.sender.bot
        assert message.sender.user_id == "B0OTHER01"


async def test_a_preview_is_no_edit() -> None:
    async with SlackStage.open() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            ref = await stage.say("see https://a.example")
            place = stage.direct("ann")
            message = place.find(ref)
            assert message is not None
            stage.server.api.changed(place, {**message, "attachments": [{"title": "A"}]}, dict(message))
            await stage.edit(ref, "see https://b.example")
            await inbox.until(lambda: inbox.edits)
            await stage.settled()
        [edit] = inbox.edits
        assert (edit.content, edit.ref) == ("see https://b.example", ref)


async def test_an_edit_and_a_deletion_stay_at_the_place_of_their_message() -> None:
    async with SlackStage.open() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            ref = await stage.say("first", direct=False)
            message = await inbox.message("first")
            await stage.edit(ref, f"<@{BOT_USER}> second")
            await stage.delete(ref)
            await inbox.until(lambda: inbox.deletions)
        assert inbox.edits[0].content == "second"
        assert inbox.edits[0].address == inbox.deletions[0].address == message.address


@pytest.mark.parametrize(
    ("command", "text", "content"),
    [
        ("/arvis", "new", "/new"),
        ("/arvis", "", "/help"),
        ("/arvis", "what is up?", "what is up?"),
        ("/new", "", "/new"),
        ("/stop", "now please", "/stop now please"),
    ],
)
async def test_slash_commands(command: str, text: str, content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.slack.handling._WAIT_SECONDS", 5.0)
    async with SlackStage.open() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            trigger = stage.command(command, text)
            message = await inbox.message(content)
            await stage.settled()
        assert message.addressed
        assert trigger in message.event_id
        assert message.sender.name == "Ann"


async def test_a_name_that_comes_late_is_used_for_the_next_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.slack.handling._WAIT_SECONDS", 0.0)
    async with SlackStage.open() as stage:
        inbox, names = RecordingInbox(), list[str]()
        async with running(await stage.connector(), inbox), asyncio.timeout(10):
            while "Ann" not in names:
                text = f"message {len(names)}"
                await stage.say(text)
                names.append((await inbox.message(text)).sender.name)
        assert names[0] != "Ann"


async def test_a_click_is_answered_for_whoever_clicked_and_takes_the_buttons_away() -> None:
    async with SlackStage.open() as stage:
        connector, inbox = await stage.connector(), RecordingInbox()
        address = stage.address()
        async with running(connector, inbox):
            [receipt] = await send_all(connector, delivery(address, "Shall I?", buttons=BUTTONS))
            await stage.click(receipt.platform_id, BUTTONS[0].id)
            await inbox.until(lambda: inbox.clicks)
            await stage.settled()
            async with asyncio.timeout(5):
                while len(stage.server.responses) < 2:  # noqa: ASYNC110  (the answer goes only to Slack)
                    await asyncio.sleep(0.01)
        note, _ = stage.server.responses
        assert (note["response_type"], note["text"], note["replace_original"]) == ("ephemeral", "Noted.", False)
        assert (note["unfurl_links"], note["unfurl_media"]) == (False, False)
        [shown] = stage.shown(address)
        assert (shown.text, shown.buttons) == ("Shall I?", ())


async def test_nothing_is_acknowledged_before_it_is_kept() -> None:
    async with SlackStage.open(ack_seconds=0.1, retry_pauses=(0.0, 0.1, 0.1)) as stage:
        inbox = RecordingInbox(refusals=1)
        async with running(await stage.connector(), inbox):
            ref = await stage.say("important")
            await stage.say("and this")
            await inbox.message("and this")
            await stage.settled()
        assert inbox.contents == ["important", "and this"]
        envelope = next(one for one in stage.server.envelopes if one.payload["event"]["ts"] == ref)
        assert envelope.attempts > 1


async def test_what_was_written_while_it_was_away_is_read_from_the_history() -> None:
    async with SlackStage.open(ack_seconds=0.01, retry_pauses=()) as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.say("before", direct=False)
            await stage.say("to be changed", direct=False, addressed=False)
            await inbox.message("to be changed")
        old = inbox.messages[-1].platform_ref
        assert old is not None
        await stage.say("first", direct=False)
        await stage.say("in a thread", direct=False, thread="plans")
        await stage.edit(old, "changed")
        last = await stage.say("last", direct=False, addressed=False)
        async with asyncio.timeout(5):
            while len(stage.server.given_up) < 4:  # noqa: ASYNC110  (Slack does not report that it gave up)
                await asyncio.sleep(0.01)
        async with running(await stage.connector(), inbox):
            await inbox.message("last")
            await inbox.until(lambda: inbox.positions == {stage.channel("room").id: microseconds(last)})
        # The bot got no event for the first message of the thread; it reads the message with the others.
        assert inbox.contents[2:] == ["first", "plans", "in a thread", "last"]
        assert [edit.content for edit in inbox.edits] == ["changed"]


async def test_while_older_messages_are_missing_no_event_says_that_all_is_known() -> None:
    async with SlackStage.open() as stage:
        room = stage.channel("room").id
        stage.server.faults = [Fault(1, status=429, retry_after=30, methods=frozenset({"conversations.history"}))]
        inbox = RecordingInbox(positions={room: 1_000_000})
        async with running(await stage.connector(), inbox):
            await stage.say("hello", direct=False)
            await inbox.message("hello")
        assert inbox.messages[0].position is None
        async with running(await stage.connector(), inbox):
            await inbox.until(lambda: inbox.positions[room] > 1_000_000)


async def test_the_history_is_read_although_the_store_was_away_at_first() -> None:
    class Away(RecordingInbox):
        away = 1

        async def feeds(self, platform: str, connector: str) -> dict[str, int]:
            if self.away:
                self.away -= 1
                raise Unavailable("the database is away")
            return await super().feeds(platform, connector)

    async with SlackStage.open(ack_seconds=0.01, retry_pauses=()) as stage:
        await stage.say("missed", direct=False)
        inbox = Away(positions={stage.channel("room").id: 1_000_000})
        async with running(await stage.connector(), inbox):
            await inbox.message("missed")


async def test_what_makes_no_sense_in_a_history_stops_nothing() -> None:
    async with SlackStage.open(ack_seconds=0.01, retry_pauses=()) as stage:
        room = stage.channel("room")
        room.messages.append(
            {"type": "message", "user": "U0ANN", "text": "?", "ts": stage.world.next_ts(), "files": [7]}
        )
        last = await stage.say("missed", direct=False)
        inbox = RecordingInbox(positions={room.id: 1_000_000})
        async with running(await stage.connector(), inbox):
            await inbox.message("missed")
            await inbox.until(lambda: inbox.positions == {room.id: microseconds(last)})


async def test_a_connection_that_does_not_come_back_ends_it() -> None:
    async with SlackStage.open() as stage:
        connector, up = await stage.connector(patience=0.5), asyncio.Event()
        run = asyncio.create_task(connector.run(RecordingInbox(), lambda _up: up.set()))
        await up.wait()
        stage.server.broken_links = 100
        await stage.server.drop_connections()
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(run, 10)


async def test_without_the_scope_for_it_new_messages_still_come() -> None:
    async with SlackStage.open() as stage:
        stage.world.scopes.discard("channels:history")
        room = stage.channel("room").id
        inbox = RecordingInbox(positions={room: 1_000_000})
        async with running(await stage.connector(), inbox):
            await stage.say("hello")
            await inbox.message("hello")
        assert inbox.positions[room] == 1_000_000


async def test_a_new_connection_is_taken_when_slack_asks_for_it() -> None:
    async with SlackStage.open(ack_seconds=0.2, retry_pauses=(0.0, 1.0, 2.0)) as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.say("one")
            await inbox.message("one")
            await stage.server.refresh()
            await stage.say("two")
            await inbox.message("two")
            async with asyncio.timeout(5):
                while len(opened := stage.asked("apps.connections.open")) < 2:  # noqa: ASYNC110  (no event)
                    await asyncio.sleep(0.01)
        assert opened[1] - opened[0] >= 1.0
        assert inbox.contents == ["one", "two"]


async def test_an_address_that_did_not_work_is_not_tried_again() -> None:
    async with SlackStage.open() as stage:
        stage.server.broken_links = 1
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.say("hello")
            await inbox.message("hello")
        first, second = stage.asked("apps.connections.open")
        assert second - first >= 1.0


@pytest.mark.parametrize("code", ["invalid_auth", "account_inactive", "token_revoked"])
async def test_a_token_that_is_refused_ends_it(code: str) -> None:
    async with SlackStage.open() as stage:
        stage.server.refused_token = code
        with pytest.raises(TokenRefused, match="bot_token"):
            await (await stage.connector()).run(RecordingInbox(), lambda _up: None)


async def test_an_app_token_that_is_refused_ends_it_at_once_and_later() -> None:
    async with SlackStage.open() as stage:
        stage.server.refused_app_token = "invalid_auth"
        connector = await stage.connector()
        with pytest.raises(TokenRefused, match="app_token"):
            await connector.run(RecordingInbox(), lambda _up: None)
        stage.server.refused_app_token = None
        up = asyncio.Event()
        run = asyncio.create_task(connector.run(RecordingInbox(), lambda _up: up.set()))
        await up.wait()
        stage.server.refused_app_token = "token_revoked"
        await stage.server.drop_connections()
        with pytest.raises(TokenRefused, match="app_token"):
            await asyncio.wait_for(run, 10)


@pytest.mark.parametrize(
    ("event", "reached"),
    [
        ({"type": "member_joined_channel", "user": BOT_USER}, "reachable C0ROOM"),
        ({"type": "member_left_channel", "user": BOT_USER}, "unreachable C0ROOM"),
        ({"type": "channel_left"}, "unreachable C0ROOM"),
        ({"type": "channel_archive", "user": "U0ANN"}, "unreachable C0ROOM"),
        ({"type": "channel_unarchive", "user": "U0ANN"}, "reachable C0ROOM"),
    ],
)
async def test_a_channel_closes_and_opens(event: dict[str, str], reached: str) -> None:
    async with SlackStage.open() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            stage.server.emit({**event, "channel": "C0ROOM"})
            await inbox.until(lambda: inbox.reached)
        assert inbox.reached == [reached]


async def test_shared_messages_are_quotations() -> None:
    async with SlackStage.open() as stage:
        inbox, bob = RecordingInbox(), stage.user("bob")
        shared = {"is_share": True, "author_id": bob, "text": "the *plan*", "ts": "1.1", "channel_id": "C1"}
        preview = {"title": "A page", "text": "a preview of the page", "from_url": "https://a.example"}
        async with running(await stage.connector(), inbox):
            place, ann = stage.direct("ann"), stage.user("ann")
            stage.write(place, {"user": ann, "text": "what is this?", "attachments": [shared, preview]})
            stage.write(place, {"user": ann, "text": "", "attachments": [shared]})
            await inbox.until(lambda: len(inbox.messages) > 1)
        asked, passed_on = inbox.messages
        quotation = Quotation(QuotationKind.FORWARD, Writer.OTHER, "the *plan*", "Bob", bob)
        assert (asked.content, asked.forwarded, asked.quotations) == ("what is this?", False, (quotation,))
        assert (passed_on.content, passed_on.forwarded) == ("the *plan*", True)


async def test_a_mention_in_a_thread_brings_its_first_message() -> None:
    async with SlackStage.open() as stage:
        inbox, ann, bob = RecordingInbox(), stage.user("ann"), stage.user("bob")
        async with running(await stage.connector(), inbox):
            room = stage.channel("room")
            root = stage.write(room, {"user": bob, "text": "the server is down"})
            for text in (f"<@{BOT_USER}> why?", "I see", f"<@{BOT_USER}> and now?"):
                stage.write(room, {"user": ann, "text": text, "thread_ts": root})
            await inbox.message("and now?")
        quotation = Quotation(QuotationKind.THREAD, Writer.OTHER, "the server is down", "Bob", bob, root)
        assert {message.room for message in inbox.messages} == {"room"}
        assert [each.method for each in stage.server.asked].count("conversations.info") == 1
        found = {message.content: message.quotations for message in inbox.messages}
        assert found == {
            "the server is down": (), "why?": (quotation,), "I see": (), "and now?": (quotation,),
        }  # fmt: skip
        assert [each.method for each in stage.server.asked].count("conversations.replies") == 1


async def test_reactions_of_people_reach_the_inbox() -> None:
    async with SlackStage.open() as stage:
        inbox, room, ann = RecordingInbox(), stage.channel("room"), stage.user("ann")
        item = {"type": "message", "channel": room.id, "ts": "1.000001"}
        async with running(await stage.connector(), inbox):
            for kind, user, name, about in (
                ("reaction_added", BOT_USER, "eyes", item),
                ("reaction_added", ann, "heart", {"type": "file", "file": "F1"}),
                ("reaction_added", ann, "+1::skin-tone-3", item),
                ("reaction_removed", ann, "tada", item),
            ):
                stamp = stage.world.next_ts()
                stage.server.emit({"type": kind, "user": user, "reaction": name, "item": about, "event_ts": stamp})
            await inbox.until(lambda: len(inbox.reactions) > 1)
        assert [(each.added, each.removed, each.ref) for each in inbox.reactions] == [
            (("👍",), (), "1.000001"), ((), (":tada:",), "1.000001"),
        ]  # fmt: skip
