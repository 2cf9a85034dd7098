"""Conversion of updates, from the JSON of the Bot API, without a connection."""

from __future__ import annotations

from typing import Any

import pytest
import telegram

from arvis.domain.messages import Address, IncomingMessage
from arvis.domain.platforms import Click, MessageEdit
from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.domain.reactions import ReactionChange
from connectors.telegram.incoming import KINDS, Access, BotIdentity, Event, Incoming, Move
from connectors.telegram.settings import TelegramConfig

ME = BotIdentity(42, "arvis_bot")
BOT = {"id": 42, "is_bot": True, "first_name": "Arvis", "username": "arvis_bot"}
ANN = {"id": 7, "is_bot": False, "first_name": "Ann", "last_name": "Example", "username": "ann"}
PRIVATE = {"id": 7, "type": "private", "first_name": "Ann"}
GROUP = {"id": -1001, "type": "supergroup", "title": "Room", "is_forum": True}
FILE = {"file_id": "F", "file_unique_id": "u", "file_size": 9}
POINT = {"longitude": 13.4, "latitude": 52.5}


def read(kind: str, content: dict[str, Any], **settings: Any) -> Event | None:
    config = TelegramConfig.model_validate({"token": "1:x", **settings})
    update = telegram.Update.de_json({"update_id": 5, kind: content}, None)
    return Incoming(bot="main", me=ME, config=config).read(update)


def written(settings: dict[str, Any] | None = None, **content: Any) -> IncomingMessage | None:
    message = {"message_id": 3, "date": 1_800_000_000, "chat": GROUP, "from": ANN} | content
    event = read("message", message, **(settings or {}))
    assert event is None or isinstance(event, IncomingMessage)
    return event


def heard(**content: Any) -> IncomingMessage:
    message = written(**content)
    assert message is not None
    return message


def entity(kind: str, text: str, part: str, **more: Any) -> list[dict[str, Any]]:
    at = len(text[: text.index(part)].encode("utf-16-le")) // 2
    return [{"type": kind, "offset": at, "length": len(part.encode("utf-16-le")) // 2, **more}]


def test_a_direct_message() -> None:
    message = heard(chat=PRIVATE, text="hello")
    assert message.address == Address("telegram", "main", "7")
    assert (message.event_id, message.platform_ref, message.sent_at) == ("u5", "3", 1_800_000_000_000)
    assert (message.sender.user_id, message.sender.name, message.sender.bot) == ("7", "Ann Example", False)
    assert message.is_direct
    assert message.addressed
    assert message.position is not None
    assert (message.position.feed, message.position.position) == ("updates", 5)


@pytest.mark.parametrize(
    ("kind", "text", "part", "content", "addressed"),
    [
        ("mention", "@arvis_bot what is it?", "@arvis_bot", "what is it?", True),
        ("mention", "👩‍🚀 @Arvis_Bot what?", "@Arvis_Bot", "👩‍🚀 what?", True),
        ("mention", "hi @arvis_bot, you", "@arvis_bot", "hi , you", True),
        ("mention", "@arvis_bot", "@arvis_bot", "@arvis_bot", True),
        ("mention", "@arvis_botany", "@arvis_botany", "@arvis_botany", False),
        ("bot_command", "/stop@arvis_bot now", "/stop@arvis_bot", "/stop now", True),
        ("bot_command", "/stop now", "/stop", "/stop now", True),
        ("bot_command", "/stop@other_bot", "/stop@other_bot", "/stop@other_bot", False),
        ("bot_command", "say /stop", "/stop", "say /stop", False),
        ("bold", "no name", "name", "no name", False),
    ],
)
def test_when_it_is_addressed(kind: str, text: str, part: str, content: str, *, addressed: bool) -> None:
    message = heard(text=text, entities=entity(kind, text, part))
    assert (message.content, message.addressed) == (content, addressed)


def test_people_without_a_user_name_and_links() -> None:
    text = "ask Bob here"
    named = entity("text_mention", text, "Bob", user=ANN) + entity("text_link", text, "here", url="https://a.example")
    assert heard(text=text, entities=named).content == "ask @Ann Example here (https://a.example)"
    assert heard(text=text, entities=entity("text_mention", text, "ask", user=BOT)).addressed


def test_a_reply_to_the_bot_addresses_it() -> None:
    answered = {"message_id": 2, "date": 1, "chat": GROUP, "from": BOT, "text": "well"}
    replied = heard(text="yes", reply_to_message=answered)
    assert (replied.addressed, replied.in_reply_to) == (True, "2")
    assert not heard(text="yes", reply_to_message=answered | {"from": ANN}).addressed
    topic = answered | {"forum_topic_created": {"name": "plans", "icon_color": 1}}
    in_topic = heard(text="yes", reply_to_message=topic)
    assert (in_topic.addressed, in_topic.in_reply_to) == (False, None)


def test_a_topic_is_a_thread_and_a_reply_chain_is_none() -> None:
    assert heard(text="a", message_thread_id=8, is_topic_message=True).address.thread == "8"
    assert heard(text="a", message_thread_id=8).address.thread == ""


def test_whoever_writes_as_a_chat_is_that_chat() -> None:
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    message = heard(text="a", **{"from": anonymous}, sender_chat=GROUP)
    assert (message.sender.user_id, message.sender.name, message.sender.bot) == ("-1001", "Room", False)
    channel = {"id": -100, "type": "channel", "title": "News"}
    event = read("channel_post", {"message_id": 1, "date": 1, "chat": channel, "sender_chat": channel, "text": "new"})
    assert isinstance(event, IncomingMessage)
    assert (event.sender.user_id, event.addressed) == ("-100", False)


def test_who_is_not_listened_to() -> None:
    other = {"id": 9, "is_bot": True, "first_name": "Other", "username": "other_bot"}
    assert written(text="a", **{"from": BOT}) is None
    assert written(text="a", **{"from": other}) is None
    for allowed in ("9", "@Other_bot"):
        message = written({"allow_bots": [allowed]}, text="a", **{"from": other})
        assert message is not None
        assert message.sender.bot
    assert written({"allowed_channels": [-1002]}, text="a") is None
    assert written({"allowed_channels": [-1001]}, text="a") is not None
    assert written({"allowed_channels": [-1002]}, text="a", chat=PRIVATE) is not None
    assert written(new_chat_title="Room 2") is None


@pytest.mark.parametrize(
    ("content", "filename", "content_type", "voice"),
    [
        ({"photo": [FILE | {"width": 1, "height": 1, "file_id": "S"}, FILE | {"width": 9, "height": 9}]}, "photo-u.jpg", "image/jpeg", False),
        ({"voice": FILE | {"duration": 1, "mime_type": "audio/ogg"}}, "voice-u.ogg", "audio/ogg", True),
        ({"audio": FILE | {"duration": 1, "file_name": "a.mp3", "mime_type": "audio/mpeg"}}, "a.mp3", "audio/mpeg", False),
        ({"video": FILE | {"duration": 1, "width": 1, "height": 1}}, "file-u", "application/octet-stream", False),
        ({"video_note": FILE | {"duration": 1, "length": 1}}, "video-note-u.mp4", "video/mp4", False),
        ({"document": FILE | {"file_name": "../a/b.PDF", "mime_type": "Application/PDF"}}, ".._a_b.PDF", "application/pdf", False),
        ({"animation": FILE | {"duration": 1, "width": 1, "height": 1, "file_name": "g.mp4", "mime_type": "video/mp4"}, "document": FILE}, "g.mp4", "video/mp4", False),
    ],
)  # fmt: skip
def test_files(content: dict[str, Any], filename: str, content_type: str, *, voice: bool) -> None:
    message = heard(caption="see", **content)
    [file] = message.files
    assert message.content == "see"
    assert (file.filename, file.content_type, file.size, file.source, file.voice) == (
        filename,
        content_type,
        9,
        "F",
        voice,
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"sticker": FILE | {"width": 1, "height": 1, "is_animated": False, "is_video": False, "type": "regular", "emoji": "😀"}}, "[Sticker 😀]"),
        ({"location": POINT}, "[Location: 52.500000, 13.400000]"),
        ({"venue": {"location": POINT, "title": "Bar", "address": "Way 1"}, "location": POINT}, "[Place: Bar, Way 1, 52.500000, 13.400000]"),
        ({"contact": {"phone_number": "+49", "first_name": "Bob"}}, "[Contact: Bob, +49]"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "[Dice 🎲: 4]"),
    ],
)  # fmt: skip
def test_what_is_no_text(content: dict[str, Any], text: str) -> None:
    assert heard(**content).content == text


def test_an_album_and_dirt() -> None:
    message = heard(text="a\0b\ud83d", media_group_id="g1")
    assert (message.content, message.album) == ("ab\ufffd", "g1")


def test_an_edit() -> None:
    content = {"message_id": 3, "date": 1, "edit_date": 2, "chat": GROUP, "from": ANN, "text": "the"}
    event = read("edited_message", content)
    assert isinstance(event, MessageEdit)
    assert (event.ref, event.content, event.event_id) == ("3", "the", "u5")
    del content["text"]
    assert read("edited_message", content | {"location": POINT}) is None


def test_a_click() -> None:
    shown = {
        "message_id": 3,
        "date": 1,
        "chat": GROUP,
        "from": BOT,
        "text": "?",
        "message_thread_id": 8,
        "is_topic_message": True,
    }
    query = {"id": "99", "from": ANN, "chat_instance": "1", "message": shown, "data": "yes:1"}
    event = read("callback_query", query)
    assert isinstance(event, Click)
    assert (event.event_id, event.data, event.message_ref, event.address.thread) == ("q99", "yes:1", "3", "8")
    old = read("callback_query", query | {"message": {"message_id": 3, "date": 0, "chat": GROUP}})
    assert isinstance(old, Click)
    assert old.address.channel == "-1001"
    assert read("callback_query", {"id": "1", "from": ANN, "chat_instance": "1", "inline_message_id": "x"}) is None


def test_a_group_that_became_another() -> None:
    event = read(
        "message", {"message_id": 3, "date": 1, "chat": GROUP | {"id": -5}, "from": ANN, "migrate_to_chat_id": -1001}
    )
    assert isinstance(event, Move)
    assert (event.old.channel, event.new_channel) == ("-5", "-1001")
    again = read("message", {"message_id": 1, "date": 1, "chat": GROUP, "from": ANN, "migrate_from_chat_id": -5})
    assert again == event


@pytest.mark.parametrize(
    ("chat", "status", "reason"),
    [
        (PRIVATE, {"status": "kicked", "until_date": 0}, "The person has blocked the bot."),
        (GROUP, {"status": "left"}, "The bot is no longer in this chat."),
        (GROUP, {"status": "kicked", "until_date": 0}, "The bot was removed from this chat."),
        (GROUP, {"status": "member"}, ""),
        (PRIVATE, {"status": "member"}, ""),
    ],
)
def test_where_it_may_write(chat: dict[str, Any], status: dict[str, Any], reason: str) -> None:
    change = {"chat": chat, "from": ANN, "date": 1, "old_chat_member": {"status": "left", "user": BOT}}
    event = read("my_chat_member", change | {"new_chat_member": {"user": BOT} | status})
    assert isinstance(event, Access)
    assert (event.place.channel, event.reason) == (str(chat["id"]), reason)


def test_a_topic_that_opens_again() -> None:
    content = {"message_id": 3, "date": 1, "chat": GROUP, "from": ANN, "message_thread_id": 8, "is_topic_message": True}
    event = read("message", content | {"forum_topic_reopened": {}})
    assert isinstance(event, Access)
    assert (event.place.thread, event.reason) == ("8", "")


def test_replies_quotes_and_forwards() -> None:
    bob = {"id": 8, "is_bot": False, "first_name": "Bob"}
    replied = {"message_id": 2, "date": 1, "chat": GROUP, "from": bob, "text": "one two", "photo": [FILE | {"width": 1, "height": 1}]}  # fmt: skip
    reply = heard(text="yes", reply_to_message=replied).quotations
    text = "[photo-u.jpg]"
    assert reply == (Quotation(QuotationKind.REPLY, Writer.OTHER, f"one two\n{text}", "Bob", "8", "2"),)
    del replied["photo"]
    part = heard(text="yes", reply_to_message=replied, quote={"text": "two", "position": 4, "is_manual": True})
    assert part.quotations == (Quotation(QuotationKind.REPLY, Writer.OTHER, "two", "Bob", "8", "2", partial=True),)
    for author, writer in ((BOT, Writer.AGENT), (ANN, Writer.SENDER)):
        [quotation] = heard(text="yes", reply_to_message=replied | {"from": author}).quotations
        assert quotation.writer is writer
    carl = {"type": "hidden_user", "date": 1, "sender_user_name": "Carl"}
    [passed_on] = heard(text="yes", reply_to_message=replied | {"from": ANN, "forward_origin": carl}).quotations
    assert (passed_on.writer, passed_on.author) == (Writer.OTHER, "Carl")
    [elsewhere] = heard(text="yes", external_reply={"origin": carl}, quote={"text": "two", "position": 4}).quotations
    assert (elsewhere.text, elsewhere.ref, elsewhere.partial) == ("two", None, True)
    message = heard(text="buy now", forward_origin=carl)
    assert message.content == "buy now"
    assert message.quotations == (Quotation(QuotationKind.FORWARD, Writer.OTHER, author="Carl"),)
    topic = replied | {"forum_topic_created": {"name": "plans", "icon_color": 1}}
    assert heard(text="yes", reply_to_message=topic).quotations == ()


def test_reactions() -> None:
    thumb, heart = ({"type": "emoji", "emoji": emoji} for emoji in "👍❤")
    change = {"chat": GROUP, "message_id": 2, "user": ANN, "date": 1, "old_reaction": [thumb], "new_reaction": [heart]}
    event = read("message_reaction", change)
    assert isinstance(event, ReactionChange)
    assert (event.ref, event.added, event.removed, event.event_id) == ("2", ("❤",), ("👍",), "u5")
    assert (event.sender.user_id, event.address.channel) == ("7", "-1001")
    custom = {"type": "custom_emoji", "custom_emoji_id": "1"}
    event = read("message_reaction", change | {"new_reaction": [custom, {"type": "paid"}]})
    assert isinstance(event, ReactionChange)
    assert event.added == (":custom:", "⭐")
    del change["user"]
    assert read("message_reaction", change | {"actor_chat": GROUP}) is None
    assert "message_reaction" in KINDS
