"""Cases for the events that a connector passes to the inbox."""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager

import pytest

from arvis.testing.conformance.connector_parts import RememberingInbox, running
from arvis.testing.conformance.connector_stage import ABILITIES, Stage

TEXT = "Grüße aus Zürich, 東京 and 👩‍🚀: 1 < 2 & *fine*"
_HOUR_MS = 3_600_000


def need(stage: Stage, *abilities: str) -> None:
    """Skip a case if the platform lacks the feature that it tests."""
    assert set(stage.can) <= set(ABILITIES)
    missing = [ability for ability in abilities if ability not in stage.can]
    if missing:
        pytest.skip(f"this platform has no {', '.join(missing)}")


def need_limit(stage: Stage) -> None:
    if not stage.text_limit:
        pytest.skip("this platform takes a text of any length")


class StageCases:
    """Opens a separate stage for every case."""

    def stage(self) -> AbstractAsyncContextManager[Stage]:
        raise NotImplementedError("a subclass gives the stage")


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
