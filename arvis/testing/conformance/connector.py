"""The rules of the `Connector` port as tests: subclass `ConnectorConformance` and override `stage`.

A connector passes if it loses no event, acknowledges an event only after it is stored, sends in order and within
limits, and reports the right kind of each failure. The cases need pytest-asyncio in its auto mode.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from arvis.domain.dataclass import replace
from arvis.domain.messages import Button, OutgoingFile
from arvis.ports.connector import Connector, FetchError, FetchesFiles, Guarantee, SendError, ShowsDrafts, ShowsTyping
from arvis.testing.conformance.connector_stage import (
    PATIENCE,
    RememberingInbox,
    Shown,
    Stage,
    StageCases,
    delivery,
    failure_of,
    need,
    need_limit,
    parts_of,
    running,
    send_all,
    send_as_promised,
)

# -- events that a connector passes to the inbox -----------------------------------------------------------------------


TEXT = "Grüße aus Zürich, 東京 and 👩‍🚀: 1 < 2 & *fine*"
_HOUR_MS = 3_600_000


class IncomingCases(StageCases):
    async def test_a_direct_message_comes_in(self) -> None:
        async with self.stage() as stage:
            connector, inbox = await stage.connector(), RememberingInbox()
            async with running(connector, inbox) as up:
                assert up.user_id
                ref = await stage.say(TEXT)
                message = await inbox.message(TEXT)
            assert message.address == stage.address(direct=True)
            assert (message.address.platform, message.address.connector) == (connector.platform, connector.name)
            assert message.is_direct
            assert message.addressed
            assert message.platform_ref == ref
            assert message.sender.user_id
            assert message.sender.user_id != up.user_id
            assert not message.sender.bot
            assert message.sent_at is not None
            assert abs(message.sent_at - time.time() * 1000) < _HOUR_MS

    async def test_every_person_has_an_id_that_stays(self) -> None:
        async with self.stage() as stage:
            need(stage, "groups")
            inbox = RememberingInbox()
            async with running(await stage.connector(), inbox):
                for text, user in (("one", "ann"), ("two", "bob"), ("three", "ann")):
                    await stage.say(text, user=user, direct=False)
                await inbox.message("three")
            first, second, third = (message.sender for message in inbox.distinct)
            assert first == third
            assert first.user_id != second.user_id

    async def test_a_mention_in_a_group_is_cut_out(self) -> None:
        async with self.stage() as stage:
            need(stage, "groups")
            inbox = RememberingInbox()
            async with running(await stage.connector(), inbox):
                await stage.say(TEXT, direct=False)
                message = await inbox.message(TEXT)
            assert message.addressed
            assert not message.is_direct
            assert message.address.channel == stage.address().channel

    async def test_what_is_not_for_the_bot_comes_in_as_such(self) -> None:
        async with self.stage() as stage:
            need(stage, "groups")
            inbox = RememberingInbox()
            async with running(await stage.connector(), inbox):
                await stage.say(TEXT, direct=False, addressed=False)
                message = await inbox.message(TEXT)
            assert not message.addressed
            assert not message.is_direct
            assert message.address == stage.address()

    async def test_its_own_settings_go_along(self) -> None:
        async with self.stage() as stage:
            need(stage, "groups")
            inbox = RememberingInbox()
            async with running(await stage.connector(respond="all", observe=7, agent="helper"), inbox):
                await stage.say("hello", direct=False, addressed=False)
                message = await inbox.message("hello")
            assert (message.respond, message.observe, message.assigned_agent) == ("all", 7, "helper")

    async def test_a_thread_is_a_place_of_its_own(self) -> None:
        async with self.stage() as stage:
            need(stage, "threads")
            inbox = RememberingInbox()
            async with running(await stage.connector(), inbox):
                await stage.say("inside", direct=False, thread="plans")
                message = await inbox.message("inside")
            assert message.address == stage.address(thread="plans")
            assert message.address.thread
            assert message.address.channel == stage.address().channel

    @pytest.mark.parametrize("reply_in", ["channel", "thread"])
    async def test_the_reply_goes_where_the_bot_is_set_to(self, reply_in: str) -> None:
        async with self.stage() as stage:
            need(stage, "groups", "own threads")
            inbox = RememberingInbox()
            async with running(await stage.connector(reply_in=reply_in), inbox):
                await stage.say("where?", direct=False)
                message = await inbox.message("where?")
            assert bool(message.address.thread) == (reply_in == "thread")

    async def test_an_edit_names_its_message(self) -> None:
        async with self.stage() as stage:
            need(stage, "edits")
            inbox = RememberingInbox()
            async with running(await stage.connector(), inbox):
                ref = await stage.say("teh")
                first = await inbox.message("teh")
                await stage.edit(ref, "the")
                await inbox.until(lambda: inbox.edits)
            edit = inbox.edits[0]
            assert (edit.ref, edit.content, edit.address) == (ref, "the", first.address)
            assert edit.sender.user_id == first.sender.user_id
            assert edit.event_id != first.event_id

    async def test_a_deletion_names_its_message(self) -> None:
        async with self.stage() as stage:
            need(stage, "deletions")
            inbox = RememberingInbox()
            async with running(await stage.connector(), inbox):
                ref = await stage.say("never mind")
                first = await inbox.message("never mind")
                await stage.delete(ref)
                await inbox.until(lambda: inbox.deletions)
            assert (inbox.deletions[0].ref, inbox.deletions[0].address) == (ref, first.address)

    async def test_an_event_that_comes_again_has_the_same_id(self) -> None:
        async with self.stage() as stage:
            need(stage, "redelivery")
            inbox = RememberingInbox()
            async with running(await stage.connector(), inbox):
                ref = await stage.say("once")
                await inbox.message("once")
                await stage.redeliver(ref)
                await stage.say("next")
                await inbox.message("next")
            assert len({message.event_id for message in inbox.named("once")}) == 1
            assert len({message.event_id for message in inbox.messages}) == 2

    async def test_what_the_inbox_could_not_keep_comes_again(self) -> None:
        async with self.stage() as stage:
            inbox = RememberingInbox(refusals=1)
            async with running(await stage.connector(), inbox):
                await stage.say("important")
                message = await inbox.message("important")
                await stage.say("and this")
                await inbox.message("and this")
            assert len(inbox.refused) == 1
            assert {one.event_id for one in inbox.named("important")} == {message.event_id}

    async def test_messages_of_one_chat_keep_their_order(self) -> None:
        async with self.stage() as stage:
            inbox = RememberingInbox()
            texts = [f"number {number}" for number in range(20)]
            async with running(await stage.connector(), inbox):
                for text in texts:
                    await stage.say(text)
                await inbox.message(texts[-1])
            assert list(dict.fromkeys(message.content for message in inbox.messages)) == texts

    async def test_nothing_is_lost_when_connections_break(self) -> None:
        async with self.stage() as stage:
            need(stage, "connections")
            inbox = RememberingInbox()
            async with running(await stage.connector(), inbox):
                await stage.say("before")
                await inbox.message("before")
                await stage.drop_connections()
                await stage.say("after")
                await inbox.message("after")

    async def test_the_bot_does_not_hear_itself_nor_other_programs(self) -> None:
        async with self.stage() as stage:
            need(stage, "groups")
            inbox = RememberingInbox()
            async with running(await stage.connector(), inbox):
                await stage.say_as_bot("I am the bot", own=True)
                await stage.say_as_bot("I am another one", own=False)
                await stage.say("a person", direct=False)
                await inbox.message("a person")
            assert [message.content for message in inbox.distinct] == ["a person"]


# -- sending: none of these cases runs the connector, because any process may send -------------------------------------


WORD = "wort{:05d}"
_CALLS = "@everyone @here @ann <@1> <@U1> <!channel> <!here> <!everyone> <@&1>"


class OutgoingCases(StageCases):
    async def test_a_text_goes_out(self) -> None:
        async with self.stage() as stage:
            address = stage.address(direct=True)
            receipts = await send_all(await stage.connector(), delivery(address, "Grüße, 東京 and 👩‍🚀"))
            shown = stage.shown(address)
            assert [one.platform_id for one in shown] == [receipt.platform_id for receipt in receipts]
            assert "Grüße, 東京 and 👩‍🚀" in shown[0].text

    async def test_it_goes_to_its_thread(self) -> None:
        async with self.stage() as stage:
            need(stage, "threads")
            address = stage.address(thread="plans")
            await send_all(await stage.connector(), delivery(address, "inside"))
            assert [one.text.strip() for one in stage.shown(address)] == ["inside"]
            assert not stage.shown(stage.address())

    async def test_it_replies_to_its_question(self) -> None:
        async with self.stage() as stage:
            need(stage, "replies", "groups")
            ref = await stage.say("a question", direct=False)
            address = stage.address()
            await send_all(await stage.connector(), delivery(address, "an answer", reply_ref=ref))
            assert stage.shown(address)[0].reply_ref == ref

    async def test_a_question_that_was_deleted_is_answered_all_the_same(self) -> None:
        async with self.stage() as stage:
            need(stage, "replies", "groups")
            ref = await stage.say("a question", direct=False)
            await stage.delete(ref)
            address = stage.address()
            await send_all(await stage.connector(), delivery(address, "an answer", reply_ref=ref))
            assert len(stage.shown(address)) == 1

    async def test_a_plan_stays_the_same(self) -> None:
        async with self.stage() as stage:
            connector = await stage.connector()
            planned = delivery(stage.address(), " ".join(map(WORD.format, range(stage.text_limit // 4))))
            assert list(connector.plan(planned)) == list(connector.plan(planned))

    async def test_a_long_text_leaves_in_order_within_the_limit(self) -> None:
        async with self.stage() as stage:
            need_limit(stage)
            words = list(map(WORD.format, range(stage.text_limit * 3 // len(WORD.format(0)))))
            connector, address = await stage.connector(), stage.address(direct=True)
            await send_all(connector, delivery(address, " ".join(words)))
            shown = stage.shown(address)
            assert all(stage.length(one.text) <= stage.text_limit for one in shown)
            assert " ".join(one.text for one in shown).split() == words

    async def test_long_code_stays_code(self) -> None:
        async with self.stage() as stage:
            need_limit(stage)
            lines = [f"{WORD.format(number)} = 1" for number in range(stage.text_limit // 8)]
            connector, address = await stage.connector(), stage.address(direct=True)
            await send_all(connector, delivery(address, "\n".join(["Look:", "```python", *lines, "```", "Done."])))
            shown = stage.shown(address)
            assert all(stage.length(one.text) <= stage.text_limit for one in shown)
            assert all(one.text.count("```") % 2 == 0 for one in shown)
            sent = [line.strip() for one in shown for line in one.text.splitlines()]
            assert [line for line in sent if line.endswith(" = 1")] == lines

    async def test_markup_that_is_not_closed_is_no_reason_to_fail(self) -> None:
        async with self.stage() as stage:
            connector, address = await stage.connector(), stage.address(direct=True)
            for number, text in enumerate(("**a", "```py\nx", "[a](", "_*`~|<b>&amp;", "> ", "# ", "|a|\n|-|"), 1):
                await send_all(connector, delivery(address, f"word {text}", number=number))
            assert len(stage.shown(address)) == 7

    async def test_nobody_is_called(self) -> None:
        async with self.stage() as stage:
            address = stage.address()
            await send_all(await stage.connector(), delivery(address, f"{_CALLS} hello"))
            assert [one.pings for one in stage.shown(address)] == [()]

    async def test_a_message_takes_its_content(self) -> None:
        async with self.stage() as stage:
            need(stage, "changes")
            connector, address = await stage.connector(), stage.address(direct=True)
            [receipt] = await send_all(connector, delivery(address, "one moment"))
            [part] = parts_of(connector, delivery(address, "the answer", number=2))
            filled = replace(part, platform_id=receipt.platform_id)
            for _ in range(2):
                assert await connector.send(filled) == receipt
            assert [one.text.strip() for one in stage.shown(address)] == ["the answer"]

    async def test_content_whose_message_is_gone_is_sent_anew(self) -> None:
        async with self.stage() as stage:
            need(stage, "changes")
            connector, address = await stage.connector(), stage.address(direct=True)
            [receipt] = await send_all(connector, delivery(address, "one moment"))
            await stage.delete(receipt.platform_id)
            [part] = parts_of(connector, delivery(address, "the answer", number=2))
            sent = await connector.send(replace(part, platform_id=receipt.platform_id))
            assert [one.platform_id for one in stage.shown(address)] == [sent.platform_id]

    async def test_typing_is_shown(self) -> None:
        async with self.stage() as stage:
            connector = await stage.connector()
            if not isinstance(connector, ShowsTyping):
                pytest.skip("this platform shows no typing")
            assert connector.typing_seconds > 0
            await connector.typing(stage.address(direct=True))
            assert not stage.shown(stage.address(direct=True))

    async def test_a_draft_changes_and_goes(self) -> None:
        async with self.stage() as stage:
            connector, address = await stage.connector(), stage.address(direct=True)
            if not isinstance(connector, ShowsDrafts):
                pytest.skip("this platform shows no drafts")
            assert connector.draft_seconds > 0
            shown = await connector.show_draft(address, "01JX0000000000000000000001", "thinking", ())
            if shown is not None:
                await connector.change_draft(address, shown, "thinking harder", ())
                assert [one.text.strip() for one in stage.shown(address)] == ["thinking harder"]
                await connector.remove_draft(address, shown)
                await connector.remove_draft(address, shown)
            assert not stage.shown(address)

    async def test_the_answer_takes_the_place_of_its_draft(self) -> None:
        async with self.stage() as stage:
            connector, address = await stage.connector(), stage.address(direct=True)
            if not isinstance(connector, ShowsDrafts):
                pytest.skip("this platform shows no drafts")
            shown = await connector.show_draft(address, "01JX0000000000000000000001", "thinking", ())
            [part] = parts_of(connector, delivery(address, TEXT))
            await connector.send(replace(part, platform_id=shown))
            assert len(stage.shown(address)) == 1

    async def test_nothing_is_left_open(self) -> None:
        async with self.stage() as stage:
            before = len(asyncio.all_tasks())
            connector = await stage.connector()
            await send_all(connector, delivery(stage.address(direct=True), "hello"))
            await connector.close()
            await connector.close()
            async with asyncio.timeout(PATIENCE):
                while len(asyncio.all_tasks()) > before:  # noqa: ASYNC110  (the server's tasks end later, without an event)
                    await asyncio.sleep(0.01)


# -- files and buttons -------------------------------------------------------------------------------------------------


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
BUTTONS = (Button("yes:01J0", "Yes, do it"), Button("no:01J0", "No"))


class ThingCases(StageCases):
    async def test_a_file_is_named_and_fetched_later(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            connector, inbox = await stage.connector(), RememberingInbox()
            async with running(connector, inbox):
                await stage.say_file("notes.txt", "text/plain", PICTURE, text="look")
                message = await inbox.message("look")
            [file] = message.files
            assert not message.uploads
            assert not file.voice
            assert file.filename == "notes.txt"
            assert file.size in {None, len(PICTURE)}
            assert isinstance(connector, FetchesFiles)
            assert await connector.fetch(file.source, len(PICTURE)) == PICTURE
            with pytest.raises(FetchError) as caught:
                await connector.fetch(file.source, len(PICTURE) - 1)
            assert caught.value.permanent

    async def test_what_was_spoken_is_known_as_such(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            connector, inbox = await stage.connector(), RememberingInbox()
            async with running(connector, inbox):
                await stage.say_file("voice.ogg", "audio/ogg", PICTURE, voice=True)
                await inbox.until(lambda: inbox.messages)
            [file] = inbox.messages[0].files
            assert file.voice
            assert file.content_type.startswith("audio/")

    async def test_a_file_that_is_not_there_cannot_be_fetched(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            connector = await stage.connector()
            assert isinstance(connector, FetchesFiles)
            with pytest.raises(FetchError):
                await connector.fetch("nothing", 1_000)

    async def test_a_file_goes_out_with_its_text(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            address = stage.address(direct=True)
            file = OutgoingFile("answer.md", "text/markdown", 6, content="# Hello"[:6])
            await send_all(await stage.connector(), delivery(address, "here it is", files=[file]))
            shown = stage.shown(address)
            assert [name for one in shown for name in one.files] == ["answer.md"]
            assert "here it is" in "".join(one.text for one in shown)

    async def test_a_file_goes_out_alone(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            address = stage.address(direct=True)
            file = OutgoingFile("answer.md", "text/markdown", 5, content="Hello")
            await send_all(await stage.connector(), delivery(address, "", files=[file]))
            assert [name for one in stage.shown(address) for name in one.files] == ["answer.md"]

    async def test_what_is_too_long_becomes_a_file(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            need_limit(stage)
            address = stage.address(direct=True)
            text = "Words of some length. " * stage.text_limit
            await send_all(await stage.connector(), delivery(address, text))
            shown = stage.shown(address)
            assert [name for one in shown for name in one.files] == ["answer.md"]
            assert shown[0].text.startswith("Words of some length.")
            assert all(stage.length(one.text) <= stage.text_limit for one in shown)

    async def test_buttons_stand_below_the_last_part(self) -> None:
        async with self.stage() as stage:
            need(stage, "buttons")
            need_limit(stage)
            address = stage.address(direct=True)
            text = "Shall I? " * (stage.text_limit // 6)
            await send_all(await stage.connector(), delivery(address, text, buttons=BUTTONS))
            *above, last = stage.shown(address)
            assert above
            assert not any(one.buttons for one in above)
            assert last.buttons == tuple(button.id for button in BUTTONS)

    async def test_a_click_comes_in(self) -> None:
        async with self.stage() as stage:
            need(stage, "buttons")
            address = stage.address(direct=True)
            connector, inbox = await stage.connector(), RememberingInbox()
            async with running(connector, inbox):
                await stage.say("do it")
                asked = await inbox.message("do it")
                await send_all(connector, delivery(address, "Shall I?", buttons=BUTTONS))
                [shown] = stage.shown(address)
                await stage.click(shown.platform_id, BUTTONS[1].id)
                await inbox.until(lambda: inbox.clicks)
            click = inbox.clicks[0]
            assert (click.data, click.address, click.message_ref) == (BUTTONS[1].id, address, shown.platform_id)
            assert click.sender.user_id == asked.sender.user_id
            assert click.event_id

    async def test_two_clicks_are_two_events(self) -> None:
        async with self.stage() as stage:
            need(stage, "buttons")
            address = stage.address(direct=True)
            connector, inbox = await stage.connector(), RememberingInbox()
            async with running(connector, inbox):
                await send_all(connector, delivery(address, "Shall I?", buttons=BUTTONS))
                [shown] = stage.shown(address)
                for button in BUTTONS:
                    await stage.click(shown.platform_id, button.id)
                await inbox.until(lambda: len(inbox.clicks) > 1)
            assert [click.data for click in inbox.clicks] == [button.id for button in BUTTONS]
            assert len({click.event_id for click in inbox.clicks}) == 2


# -- sends that fail ---------------------------------------------------------------------------------------------------


#: A number of refusals that is higher than the number of retries of any client library.
_MANY = 100
#: The guarantees under which a reply appears in the chat exactly once, even if a send is interrupted.
_ONCE = {Guarantee.IDEMPOTENT, Guarantee.RECONCILED, Guarantee.RESERVE_THEN_FILL}


async def _refused(connector: Connector, stage: Stage) -> SendError:
    [part] = parts_of(connector, delivery(stage.address(direct=True), "hello"))
    error = await failure_of(connector, part)
    assert error is not None
    assert str(error)
    return error


class FailureCases(StageCases):
    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    async def test_what_was_cut_off_stands_there_once(self, *, after: bool) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector, address = await stage.connector(), stage.address(direct=True)
            stage.reset_sends(1, after=after)
            [part] = parts_of(connector, delivery(address, "only once"))
            receipt = await send_as_promised(connector, part)
            shown = [one for one in stage.shown(address) if "only once" in one.text]
            assert receipt.platform_id in {one.platform_id for one in shown}
            if connector.capabilities.guarantee in _ONCE or not after:
                assert len(shown) == 1

    async def test_a_send_that_may_have_arrived_is_said_to_be_uncertain(self) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector = await stage.connector()
            if connector.capabilities.guarantee is Guarantee.IDEMPOTENT:
                pytest.skip("sending again is harmless here")
            stage.reset_sends(_MANY, after=True)
            error = await _refused(connector, stage)
            stage.reset_sends(0, after=True)
            assert error.uncertain
            assert not error.permanent

    async def test_other_parts_are_other_messages(self) -> None:
        async with self.stage() as stage:
            connector, address = await stage.connector(), stage.address(direct=True)
            for number in (1, 2):
                await send_all(connector, delivery(address, "the same words", number=number))
            assert len(stage.shown(address)) == 2

    async def test_nothing_is_sent_before_the_platform_wants_it(self) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector, address = await stage.connector(), stage.address(direct=True)
            stage.refuse_sends(1, status=429, retry_after=1.0)
            [part] = parts_of(connector, delivery(address, "patience"))
            started = time.monotonic()
            if (error := await failure_of(connector, part)) is not None:
                assert not error.permanent
                assert error.retry_after is not None
                assert 1.0 <= error.retry_after <= 3.0
                await asyncio.sleep(error.retry_after)
                await connector.send(part)
            first, second = [at for at in stage.sends if at >= started]
            assert second - first >= 1.0
            assert len(stage.shown(address)) == 1

    async def test_a_long_pause_is_left_to_the_queue(self) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector = await stage.connector()
            stage.refuse_sends(1, status=429, retry_after=300.0)
            async with asyncio.timeout(10):
                error = await _refused(connector, stage)
            assert error.retry_after is not None
            assert 300.0 <= error.retry_after <= 303.0
            assert not error.permanent

    @pytest.mark.parametrize("status", [500, 503])
    async def test_trouble_of_the_platform_passes(self, status: int) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector, address = await stage.connector(), stage.address(direct=True)
            stage.refuse_sends(_MANY, status=status)
            error = await _refused(connector, stage)
            assert not error.permanent
            stage.refuse_sends(0)
            await send_all(connector, delivery(address, "hello"))
            assert [one.text.strip() for one in stage.shown(address)] == ["hello"]

    async def test_what_the_platform_never_takes_is_not_tried_again(self) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector = await stage.connector()
            stage.refuse_sends(_MANY, status=400)
            error = await _refused(connector, stage)
            assert error.permanent
            assert not error.gone

    async def test_a_chat_that_takes_nothing_any_more_is_gone(self) -> None:
        async with self.stage() as stage:
            need(stage, "gone")
            connector = await stage.connector()
            stage.close_channel()
            error = await _refused(connector, stage)
            assert error.gone
            assert error.permanent


class ConnectorConformance(IncomingCases, OutgoingCases, ThingCases, FailureCases):
    """All cases for connectors. Override `stage`, which opens a test platform as an asynchronous context."""


__all__ = ["ConnectorConformance", "Shown", "Stage"]
