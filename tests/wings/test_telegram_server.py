"""The loopback server follows the documented rules of the Bot API. The tests use plain HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.platforms.telegram_stage import TOKEN, TelegramStage

ANN = 1001


class Api:
    def __init__(self, *, stage: TelegramStage, session: aiohttp.ClientSession) -> None:
        self.stage = stage
        self.session = session

    async def call(self, method: str, token: str = TOKEN, **parameters: Any) -> Any:
        url = f"{self.stage.server.url}/bot{token}/{method}"
        async with self.session.post(url, json=parameters) as answer:
            document = await answer.json()
            assert answer.status == document.get("error_code", 200)
            return document["result"] if document["ok"] else document

    async def says(self, method: str, **parameters: Any) -> str:
        """Return the description of an error."""
        return str((await self.call(method, **parameters))["description"])

    async def updates(self, **parameters: Any) -> list[str]:
        return [update["message"]["text"] for update in await self.call("getUpdates", **parameters)]


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with TelegramStage.open() as stage, aiohttp.ClientSession() as session:
        stage.private("ann")
        yield Api(stage=stage, session=session)


async def test_tokens(api: Api) -> None:
    assert (await api.call("getMe"))["username"] == "arvis_bot"
    assert (await api.call("GETME"))["is_bot"] is True
    assert (await api.call("getMe", token="123456:wrong"))["error_code"] == 401
    assert (await api.call("getMe", token="nonsense"))["error_code"] == 404
    assert (await api.call("noSuchMethod"))["error_code"] == 404


async def test_updates_stay_until_a_later_one_is_asked_for(api: Api) -> None:
    for text in ("a", "b", "c"):
        await api.stage.say(text)
    assert await api.updates() == ["a", "b", "c"]
    assert await api.updates(limit=2) == ["a", "b"]
    assert await api.updates(offset=1001) == ["b", "c"]
    assert await api.updates(offset=1) == ["b", "c"]
    assert await api.updates(offset=-1) == ["c"]
    assert await api.updates() == ["c"]
    assert await api.updates(offset=1003) == []
    await api.stage.redeliver("1")
    assert await api.updates(offset=1003) == ["a"]


async def test_a_long_poll_ends_with_news(api: Api) -> None:
    poll = asyncio.create_task(api.updates(timeout=30))
    await api.stage.bot.polled.wait()
    await api.stage.say("news")
    assert await poll == ["news"]


async def test_a_second_poll_ends_the_first(api: Api) -> None:
    first = asyncio.create_task(api.says("getUpdates", timeout=30))
    await api.stage.bot.polled.wait()
    second = asyncio.create_task(api.updates(timeout=30))
    assert "terminated by other getUpdates" in await first
    await api.stage.say("news")
    assert await second == ["news"]


async def test_a_webhook_excludes_polls(api: Api) -> None:
    await api.call("setWebhook", url="https://other.example/hook")
    assert "webhook is active" in await api.says("getUpdates")
    assert (await api.call("getWebhookInfo"))["url"] == "https://other.example/hook"
    await api.call("deleteWebhook")
    assert await api.updates() == []


async def test_only_wanted_kinds_are_made(api: Api) -> None:
    await api.call("getUpdates", allowed_updates=["callback_query"])
    await api.stage.say("unseen")
    assert await api.updates() == []


async def test_texts_have_limits_in_utf_16(api: Api) -> None:
    assert (await api.call("sendMessage", chat_id=ANN, text=" x\n"))["text"] == "x"
    assert "message is too long" in await api.says("sendMessage", chat_id=ANN, text="👍" * 2049)
    assert "message text is empty" in await api.says("sendMessage", chat_id=ANN, text=" \u200b")
    bold = [{"type": "bold", "offset": 0, "length": 1}]
    assert "can't parse entities" in await api.says("sendMessage", chat_id=ANN, text="👍", entities=bold)
    assert "chat not found" in await api.says("sendMessage", chat_id=5, text="x")


async def test_edits(api: Api) -> None:
    sent = await api.call("sendMessage", chat_id=ANN, text="one")
    edit = {"chat_id": ANN, "message_id": sent["message_id"]}
    assert "message is not modified" in await api.says("editMessageText", **edit, text="one")
    assert (await api.call("editMessageText", **edit, text="two"))["text"] == "two"
    theirs = int(await api.stage.say("mine"))
    assert "can't be edited" in await api.says("editMessageText", chat_id=ANN, message_id=theirs, text="x")
    assert await api.call("deleteMessage", **edit) is True
    assert "message to delete not found" in await api.says("deleteMessage", **edit)
    assert "message to edit not found" in await api.says("editMessageText", **edit, text="three")


async def test_replies_threads_and_buttons(api: Api) -> None:
    room = api.stage.room("room").id
    missing = {"message_id": 99}
    assert "replied not found" in await api.says("sendMessage", chat_id=room, text="x", reply_parameters=missing)
    kind = missing | {"allow_sending_without_reply": True}
    assert "reply_to_message" not in await api.call("sendMessage", chat_id=room, text="x", reply_parameters=kind)
    assert "thread not found" in await api.says("sendMessage", chat_id=room, text="x", message_thread_id=7)
    topic = api.stage.topic("room", "plans")
    assert (await api.call("sendMessage", chat_id=room, text="x", message_thread_id=topic))["is_topic_message"]
    keyboard = {"inline_keyboard": [[{"text": "Yes", "callback_data": "x" * 65}]]}
    assert "BUTTON_DATA_INVALID" in await api.says("sendMessage", chat_id=room, text="x", reply_markup=keyboard)


async def test_a_click_is_answered_once(api: Api) -> None:
    sent = await api.call("sendMessage", chat_id=ANN, text="one")
    await api.stage.click(str(sent["message_id"]), "yes")
    [update] = await api.call("getUpdates")
    query = update["callback_query"]["id"]
    assert await api.call("answerCallbackQuery", callback_query_id=query) is True
    assert "query is too old" in await api.says("answerCallbackQuery", callback_query_id=query)


async def test_files(api: Api) -> None:
    kept = api.stage.server.world.keep("a.bin", b"data")
    found = await api.call("getFile", file_id=kept.id)
    async with api.session.get(f"{api.stage.server.url}/file/bot{TOKEN}/{found['file_path']}") as answer:
        assert await answer.read() == b"data"
    assert "wrong file_id" in await api.says("getFile", file_id="nothing")
    large = api.stage.server.world.keep("b.bin", bytes(20 * 1024 * 1024 + 1))
    assert "file is too big" in await api.says("getFile", file_id=large.id)


async def test_drafts_are_for_private_chats_and_give_way(api: Api) -> None:
    assert await api.call("sendMessageDraft", chat_id=ANN, draft_id=1, text="thinking") is True
    assert api.stage.private("ann").drafts == {1: "thinking"}
    await api.call("sendMessage", chat_id=ANN, text="done")
    assert api.stage.private("ann").drafts == {}
    room = api.stage.room("room").id
    assert (await api.call("sendMessageDraft", chat_id=room, draft_id=1, text="x"))["error_code"] == 400


async def test_refusals_carry_their_parameters(api: Api) -> None:
    api.stage.refuse_sends(1, retry_after=7)
    refused = await api.call("sendMessage", chat_id=ANN, text="x")
    assert (refused["error_code"], refused["parameters"]) == (429, {"retry_after": 7})
    assert (await api.call("sendMessage", chat_id=ANN, text="x"))["text"] == "x"
