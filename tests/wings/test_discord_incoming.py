"""Incoming events of a Discord bot, with the real client and a loopback server."""

from __future__ import annotations

import random
from typing import Any

import pytest

from arvis.domain.messages import MessageStatus
from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.testing.conformance.connector_stage import running
from tests.platforms.discord_server_world import FORUM
from tests.platforms.discord_stage import DiscordStage, discord_stage
from tests.platforms.recording_inbox import RecordingInbox


async def heard(stage: DiscordStage, text: str, reply_to: str = "") -> tuple[RecordingInbox, list[bool]]:
    """Return the inbox after one message in the room, and whether each event was addressed to the bot."""
    inbox = RecordingInbox()
    async with running(await stage.connector(), inbox):
        await stage.server.say(text, channel=stage.place(), reply_to=reply_to)
        await stage.say("end")
        await inbox.message("end")
    return inbox, [message.addressed for message in inbox.messages[:-1]]


async def test_calls_of_everybody_and_of_roles_address_nobody() -> None:
    async with discord_stage() as stage:
        inbox, addressed = await heard(stage, "@everyone @here <@&77> hello")
        assert addressed == [False]
        assert inbox.contents[0] == "@everyone @here @role hello"


async def test_mentions_of_others_have_their_names() -> None:
    async with discord_stage() as stage:
        bob = stage.server.world.person("bob")["id"]
        inbox, addressed = await heard(stage, f"<@!{bob}> says <:wave:123> to <@999>")
        assert addressed == [False]
        assert inbox.contents[0] == "@Bob says :wave: to @999"


async def test_a_reply_to_the_bot_addresses_it_and_one_to_others_does_not() -> None:
    async with discord_stage() as stage:
        world = stage.server.world
        own = world.add_message(stage.place(), world.bot, "I am here")
        other = world.add_message(stage.place(), world.person("bob"), "I, too")
        inbox, addressed = await heard(stage, "good", reply_to=own["id"])
        assert addressed == [True]
        assert [message.in_reply_to for message in inbox.messages] == [own["id"], None]
        bot, bob = world.bot["id"], world.person("bob")["id"]
        assert inbox.messages[0].quotations == (
            Quotation(QuotationKind.REPLY, Writer.AGENT, "I am here", "Arvis", bot, own["id"]),
        )
        inbox, addressed = await heard(stage, "good", reply_to=other["id"])
        assert addressed == [False]
        assert inbox.messages[0].quotations == (
            Quotation(QuotationKind.REPLY, Writer.OTHER, "I, too", "Bob", bob, other["id"]),
        )


async def test_a_named_program_is_listened_to() -> None:
    async with discord_stage() as stage:
        other = stage.server.world.person("other", bot=True)
        inbox = RecordingInbox()
        async with running(await stage.connector(allow_bots=[other["id"], stage.server.world.bot["id"]]), inbox):
            await stage.say_as_bot("from a program", own=False)
            await stage.say_as_bot("from myself", own=True)
            await stage.say("end")
            await inbox.message("end")
        assert inbox.contents == ["from a program", "end"]
        assert inbox.messages[0].sender.bot


async def test_channels_that_are_not_named_are_not_listened_to() -> None:
    async with discord_stage() as stage:
        room = stage.place()["id"]
        inbox = RecordingInbox()
        async with running(await stage.connector(allowed_channels=[room]), inbox):
            await stage.say("elsewhere", direct=False, channel="cellar")
            await stage.say("here", direct=False)
            await stage.say("in a thread of it", direct=False, thread="plans")
            await stage.say("alone")
            await inbox.message("alone")
        assert inbox.contents == ["here", "in a thread of it", "alone"]
        assert not [one for one in stage.server.asked if one.path.endswith("/messages")]


async def test_a_forum_post_is_a_thread() -> None:
    async with discord_stage() as stage:
        forum = stage.server.world.channel("forum", FORUM)
        post = stage.server.world.thread("a question", forum)
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.server.say("how?", channel=post)
            message = await inbox.message("how?")
        assert (message.address.channel, message.address.thread) == (forum["id"], post["id"])
        assert message.position is not None
        assert (message.position.feed, message.position.position) == (post["id"], int(message.event_id))


async def test_an_old_thread_of_which_nobody_told_is_asked_about() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            thread = stage.place(thread="made while connected, without an event")
            await stage.server.say("inside", channel=thread)
            message = await inbox.message("inside")
        assert message.address.thread == thread["id"]


async def test_a_look_at_a_link_is_no_edit() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            ref = await stage.say("https://example.com")
            await inbox.message("https://example.com")
            message = stage.server.world.messages[stage.place(direct=True)["id"]][ref]
            await stage.server.gateway.dispatch("MESSAGE_UPDATE", message | {"embeds": [{"type": "link"}]})
            await stage.edit(ref, "changed")
            await inbox.until(lambda: inbox.edits)
        assert [edit.content for edit in inbox.edits] == ["changed"]


async def test_many_deletions_at_once() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            refs = [await stage.say(text, direct=False) for text in ("one", "two")]
            event = {"ids": refs, "channel_id": stage.place()["id"], "guild_id": stage.server.world.guild}
            await stage.server.gateway.dispatch("MESSAGE_DELETE_BULK", event)
            await inbox.until(lambda: len(inbox.deletions) > 1)
        assert [deletion.ref for deletion in inbox.deletions] == refs


async def test_a_channel_that_was_deleted_is_out_of_reach() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.say("here", direct=False)
            await inbox.message("here")
            await stage.server.gateway.dispatch("CHANNEL_DELETE", stage.place())
            await inbox.until(lambda: inbox.out_of_reach)
        assert inbox.out_of_reach == [stage.address()]


async def test_nonsense_harms_nobody() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox) as up:
            room = stage.place()["id"]
            nonsense: list[dict[str, Any]] = [
                {"channel_id": room},
                {"channel_id": [], "id": None},
                {"id": "x", "channel_id": room, "ids": 3},
            ]
            for data in nonsense:
                for name in ("MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE_BULK", "INTERACTION_CREATE"):
                    await stage.server.gateway.dispatch(name, data | {"guild_id": up.user_id})
            await stage.say("still here")
            await inbox.message("still here")


async def test_every_event_up_to_five_times_and_shuffled() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        order = random.Random(7)
        async with running(await stage.connector(), inbox):
            texts = [f"number {number}" for number in range(40)]
            refs = [await stage.say(text, direct=bool(number % 2)) for number, text in enumerate(texts)]
            again = [ref for ref in refs for _ in range(order.randrange(5))]
            order.shuffle(again)
            for ref in again:
                await stage.redeliver(ref)
            await stage.say("end")
            await inbox.message("end")
        assert inbox.contents == [*texts, "end"]
        assert all(inbox.brought[ref] == 1 + again.count(ref) for ref in refs)


async def test_a_slash_command_is_taken_and_answered_to_the_one_who_gave_it() -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox()
        async with running(await stage.connector(), inbox):
            given = await stage.server.command("help", "me please", channel=stage.place())
            message = await inbox.message("/help me please")
            await stage.server.rest.until(given, 1)
        assert message.addressed
        assert message.event_id == given
        assert (message.platform_ref, message.position) == (None, None)
        [(kind, body)] = stage.server.rest.said[given]
        assert (kind, body["flags"], body["content"]) == ("4", 64 | 4, "Received.")


@pytest.mark.parametrize(("outcome", "refusals", "words"), [("dropped", 0, "accept this"), ("queued", 1, "try again")])
async def test_a_command_that_is_not_taken_is_said_to_be(outcome: str, refusals: int, words: str) -> None:
    async with discord_stage() as stage:
        inbox = RecordingInbox(outcome=MessageStatus(outcome))
        async with running(await stage.connector(), inbox):
            inbox.refuse(refusals)
            given = await stage.server.command("help", "", channel=stage.place(direct=True))
            await stage.server.rest.until(given, 1)
        assert words in stage.server.rest.said[given][0][1]["content"]


async def test_commands_are_offered_once() -> None:
    async with discord_stage() as stage:
        for _ in range(2):
            inbox = RecordingInbox()
            async with running(await stage.connector(), inbox):
                await stage.server.until_asked("GET", "/commands")
                await stage.say("hello")
                await inbox.message("hello")
            stage.server.gateway.forget()
        assert [command["name"] for command in stage.server.world.commands] == ["help", "new"]
        assert stage.server.rest.registered == 2, "each once"


@pytest.mark.parametrize("done", [True, False])
async def test_buttons_go_once_the_question_is_answered(done: bool) -> None:
    async with discord_stage() as stage:
        world = stage.server.world
        inbox = RecordingInbox(click_done=done)
        rows = [{"type": 1, "components": [{"type": 2, "style": 1, "label": "Yes", "custom_id": "yes:1"}]}]
        asked = world.add_message(stage.place(), world.bot, "Shall I?", components=rows)
        async with running(await stage.connector(), inbox):
            pressed = await stage.server.press(asked["id"], "yes:1", user="bob")
            await stage.server.rest.until(pressed, 2 if done else 1)
        assert inbox.clicks[0].sender.user_id == world.person("bob")["id"]
        assert bool(asked["components"]) is not done
        kind, said = stage.server.rest.said[pressed][-1]
        assert (kind, said["content"], said["flags"]) == ("follow-up" if done else "4", "Noted.", 64 | 4)


async def test_a_bot_that_was_put_out_hears_of_its_channels_again_when_it_returns() -> None:
    async with discord_stage() as stage:
        gateway, inbox = stage.server.gateway, RecordingInbox()
        async with running(await stage.connector(), inbox):
            await stage.say("here", direct=False)
            await inbox.message("here")
            await gateway.dispatch("GUILD_DELETE", {"id": stage.server.world.guild, "unavailable": True})
            await gateway.dispatch("GUILD_DELETE", {"id": stage.server.world.guild})
            await inbox.until(lambda: inbox.out_of_reach)
            await gateway.dispatch("GUILD_CREATE", gateway.guild_document())
            await inbox.until(lambda: f"reachable {stage.address().channel}" in inbox.reached)
        assert inbox.out_of_reach == [stage.address()]


async def test_whoever_presses_or_commands_is_asked_to_wait_while_the_disk_is_slow() -> None:
    async with discord_stage() as stage:
        world, rest, inbox = stage.server.world, stage.server.rest, RecordingInbox()
        rows = [{"type": 1, "components": [{"type": 2, "style": 1, "label": "Yes", "custom_id": "yes:1"}]}]
        asked = world.add_message(stage.place(), world.bot, "Shall I?", components=rows)
        async with running(await stage.connector(), inbox):
            inbox.gate.clear()
            pressed = await stage.server.press(asked["id"], "yes:1")
            given = await stage.server.command("help", "", channel=stage.place())
            await rest.until(pressed, 1)
            await rest.until(given, 1)
            inbox.gate.set()
            await rest.until(pressed, 3)
            await rest.until(given, 2)
        assert [kind for kind, _ in rest.said[pressed]] == ["6", "original", "follow-up"]
        assert [kind for kind, _ in rest.said[given]] == ["5", "original"]
        assert not asked["components"]


@pytest.mark.parametrize("direct", [True, False])
async def test_reactions_of_people_reach_the_inbox(direct: bool) -> None:
    async with discord_stage() as stage:
        world, inbox = stage.server.world, RecordingInbox()
        place, ann = stage.place(direct=direct), world.person("ann")
        async with running(await stage.connector(), inbox):
            await stage.say("hello", direct=direct)
            await inbox.message("hello")
            data: dict[str, Any] = {"channel_id": place["id"], "message_id": "77"}
            if not direct:
                data |= {"guild_id": world.guild, "member": {"user": ann, "nick": "Annie", "roles": []}}
            for name, user, emoji in (
                ("ADD", world.bot["id"], {"id": None, "name": "👀"}),
                ("ADD", ann["id"], {"id": None, "name": "👍"}),
                ("ADD", ann["id"], {"id": "9", "name": "party"}),
                ("REMOVE", ann["id"], {"id": None, "name": "👍"}),
            ):
                await stage.server.gateway.dispatch(
                    f"MESSAGE_REACTION_{name}", data | {"user_id": user, "emoji": emoji}
                )
            await inbox.until(lambda: len(inbox.reactions) > 2)
        assert [(each.added, each.removed) for each in inbox.reactions] == [
            (("👍",), ()), ((":party:",), ()), ((), ("👍",)),
        ]  # fmt: skip
        assert {(each.address.channel, each.ref, each.sender.user_id) for each in inbox.reactions} == {
            (place["id"], "77", ann["id"])
        }
