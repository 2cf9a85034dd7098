"""Conversations and their messages over HTTP, behind the whole path of a message."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.jobs import JobStatus
from arvis.domain.messages import Address, IncomingMessage, Sender, Upload
from arvis.messaging.messages import notice
from arvis.ports.browsing import ConversationFilter, JobFilter, MessageFilter, Person
from arvis.ports.store import Transaction
from arvis.web.http.static_files import sniffed
from tests.conformance.store.compactions import compact, summary
from tests.flows.app_harness import HELPER, AppHarness
from tests.flows.web_server import AGENT_KEY, CHAT_KEY, OPERATOR_KEY, VIEWER_KEY, Site, running_site

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


@pytest.fixture
async def site(tmp_path: Path, app: AppHarness) -> AsyncIterator[Site]:
    (tmp_path / "web").mkdir()
    async with running_site(tmp_path / "web", behind=app) as site:
        yield site


async def listed(site: Site, query: str = "", key: str = VIEWER_KEY) -> list[dict[str, Any]]:
    items = (await site.call("GET", f"/api/conversations?{query}", key=key)).json()["items"]
    assert isinstance(items, list)
    return items


async def user_of(site: Site, key: str) -> str:
    me = (await site.call("GET", "/api/auth/me", key=key)).json()
    return str(me["userId"])


async def over_the_web(app: AppHarness, user: str, text: str, channel: str, thread: str = "") -> str:
    """Send a message over the web, wait for the answer, and return the message."""
    incoming = IncomingMessage(
        Address("web", "web", channel, thread), app.new_id(), Sender(user, user), text,
        is_direct=True, assigned_agent="helper",
    )  # fmt: skip
    received = await app.inbox.receive(incoming)
    await app.until(lambda: _ended(app, received.message_id))
    return received.message_id


async def _ended(app: AppHarness, message_id: str) -> bool | None:
    return True if (await app.timeline(message_id)).reply is not None else None


async def test_the_last_used_is_first_and_pages_go_on(site: Site, app: AppHarness) -> None:
    for channel in ("one", "two", "three", "one"):
        app.clock.put_forward(1)
        await app.ask(f"Hello  in\n{channel}", channel=channel)
    rows = await listed(site)
    assert [row["channelId"] for row in rows] == ["one", "three", "two"]
    assert (rows[0]["title"], rows[0]["participants"], rows[0]["open"]) == ("Hello in one", 1, True)
    assert rows[0]["preview"].startswith("Re: ")
    first = (await site.call("GET", "/api/conversations?limit=2")).json()
    rest = (await site.call("GET", f"/api/conversations?limit=2&cursor={first['nextCursor']}")).json()
    assert [row["id"] for row in first["items"] + rest["items"]] == [row["id"] for row in rows]
    assert rest["nextCursor"] is None
    assert (await site.call("GET", "/api/conversations?cursor=nonsense")).status == 422


async def test_conversations_are_searched(site: Site, app: AppHarness) -> None:
    await app.ask("About Elephants", channel="one")
    await app.ask("About mice", channel="two", user="zoe")
    for query, channels in {
        "q=ELEPHANT": ["one"], "q=zoe": ["two"], "q=two": ["two"], "q=help": ["two", "one"], "q=100%25": [],
        "channel=one": ["one"], "platform=web": [], "agent=helper&q=mice": ["two"], "agent=other": [],
    }.items():  # fmt: skip
        assert [row["channelId"] for row in await listed(site, query)] == channels, query


async def test_history_is_what_was_seen_live(site: Site, app: AppHarness) -> None:
    upload = Upload("évil.html", "text/html", b"<script>alert(1)</script>")
    picture = Upload("a.txt", "text/plain", PNG)
    message = await app.say("Look", uploads=(upload, picture))
    timeline = await app.until(lambda: _timeline(app, message.message_id))
    (talk,) = await listed(site)
    items = (await site.call("GET", f"/api/conversations/{talk['id']}/messages", key=VIEWER_KEY)).json()["items"]
    reply, asked = items[0], items[-1]
    assert (reply["id"], reply["agent"], reply["delivery"]) == (timeline.reply_id, "helper", "sent")
    assert (asked["status"], asked["answeredBy"], asked["userName"]) == ("answered", reply["id"], "Ann")
    assert reply["costUsd"] == timeline.cost_micros / 1_000_000
    page, shown = asked["attachments"]
    answer = await site.call("GET", page["url"], key=VIEWER_KEY)
    assert (answer.status, answer.text) == (200, "<script>alert(1)</script>")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%A9vil.html"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    async with site.http.get(site.url + shown["url"], headers={"Authorization": f"Bearer {VIEWER_KEY}"}) as response:
        assert (response.headers["content-type"], await response.read()) == ("image/png", PNG)
    for key, number in ((VIEWER_KEY, "2"), (VIEWER_KEY, "x"), (CHAT_KEY, "0")):
        assert (await site.call("GET", f"/api/messages/{asked['id']}/files/{number}", key=key)).status == 404


async def _timeline(app: AppHarness, message_id: str) -> Any:
    timeline = await app.timeline(message_id)
    sent = any(step.step == "delivery" and step.data["state"] == "sent" for step in timeline.steps)
    return timeline if sent else None


async def test_a_chat_key_sees_its_own_and_nothing_else(site: Site, app: AppHarness) -> None:
    user, other = await user_of(site, CHAT_KEY), await user_of(site, AGENT_KEY)
    mine = await over_the_web(app, user, "Mine", f"web-{user}")
    await over_the_web(app, user, "Direct", "dashboard-agent-helper", thread=user)
    theirs = await over_the_web(app, other, "Theirs", f"web-{other}")
    await app.ask("On a platform")
    rows = await listed(site, key=CHAT_KEY)
    assert sorted(row["title"] for row in rows) == ["Direct", "Mine"]
    assert [row["title"] for row in await listed(site, f"channel=web-{user}", key=CHAT_KEY)] == ["Mine"]
    everything = {row["title"]: row["id"] for row in await listed(site)}
    for title, status in {"Mine": 200, "Direct": 200, "Theirs": 404, "On a platform": 404}.items():
        path = f"/api/conversations/{everything[title]}"
        assert (await site.call("GET", path, key=CHAT_KEY)).status == status
        assert (await site.call("GET", f"{path}/messages", key=CHAT_KEY)).status == status
        assert (await site.call("GET", f"{path}/export", key=CHAT_KEY)).status == 403
        assert (await site.call("POST", f"{path}/close", key=CHAT_KEY)).status == 403
    assert [(await site.call("GET", f"/api/messages/{each}", key=CHAT_KEY)).status for each in (mine, theirs)] == [
        200, 404,
    ]  # fmt: skip


async def test_a_chat_key_filters_and_searches_its_own(site: Site, app: AppHarness) -> None:
    user = await user_of(site, CHAT_KEY)
    await over_the_web(app, user, "About mice", f"web-{user}")
    await over_the_web(app, "somebody", "About elephants", f"web-{user}")
    app.clock.put_forward(1)
    await over_the_web(app, user, "100% direct", "dashboard-agent-helper", thread=user)
    for query, titles in {
        "q=MICE": ["About mice"], "q=re:%20about%20mic": ["About mice"], "q=elephant": [], "q=100%25": ["100% direct"],
        "q=help": ["100% direct", "About mice"], "platform=chat": [], "platform=web&q=mice": ["About mice"],
        f"thread={user}": ["100% direct"], "thread=other": [],
    }.items():  # fmt: skip
        assert [row["title"] for row in await listed(site, query, key=CHAT_KEY)] == titles, query


async def test_in_a_shared_place_a_chat_key_reads_what_it_said_and_was_answered(site: Site, app: AppHarness) -> None:
    user = await user_of(site, CHAT_KEY)
    await over_the_web(app, user, "Mine", f"web-{user}")
    await over_the_web(app, "somebody", "Not mine", f"web-{user}")
    (talk,) = await listed(site, key=CHAT_KEY)
    path = f"/api/conversations/{talk['id']}/messages"
    own = (await site.call("GET", path, key=CHAT_KEY)).json()["items"]
    assert [message["role"] for message in own] == ["assistant", "user"]
    assert own[1]["content"] == "Mine"
    assert len((await site.call("GET", path, key=VIEWER_KEY)).json()["items"]) == 4


async def test_a_conversation_is_taken_along_with_what_summaries_stand_for(site: Site, app: AppHarness) -> None:
    for number in range(1, 31):
        await app.ask(f"Question {number}")
    (talk,) = await listed(site)
    await app.store.write(compact, summary("C1", talk["id"], 1, 2))
    detail = (await site.call("GET", f"/api/conversations/{talk['id']}", key=VIEWER_KEY)).json()
    assert (detail["summaries"], detail["summary"]["summary"]) == (1, "Turns 1 to 2")
    assert detail["messagesInContext"] == 56
    path = f"/api/conversations/{talk['id']}/export"
    answer = await site.call("GET", f"{path}?format=json", key=VIEWER_KEY)
    assert answer.headers["content-disposition"] == f'attachment; filename="conversation-{talk["id"]}.json"'
    whole = json.loads(answer.text)
    said = [message["content"] for message in whole["messages"] if message["role"] == "user"]
    assert said == [f"Question {number}" for number in range(1, 31)]
    assert [each["summary"] for each in whole["summaries"]] == ["Turns 1 to 2"]
    text = (await site.call("GET", path, key=VIEWER_KEY)).text
    assert text.startswith("# Conversation with helper\n")
    assert text.index("## Summary of turns 1 to 2") < text.index("Question 1\n") < text.index("Question 30\n")
    assert (await site.call("GET", "/api/conversations/none/export")).status == 404
    assert (await site.call("GET", f"{path}?format=pdf")).status == 422


async def test_memory_is_turned_off_and_on_in_the_channel_of_a_conversation(site: Site, app: AppHarness) -> None:
    await app.ask("Before")
    (talk,) = await listed(site)
    path = f"/api/conversations/{talk['id']}"
    assert (await site.call("PATCH", path, json={"remembers": False}, key=VIEWER_KEY)).status == 403
    for on in (False, True):
        changed = (await site.call("PATCH", path, json={"remembers": on}, key=OPERATOR_KEY)).json()
        assert changed["remembers"] is on
        kept = await app.store.read(lambda tx: tx.conversations.get(talk["id"]))
        assert kept is not None
        assert kept.remembers is on
    missing = await site.call("PATCH", "/api/conversations/none", json={"remembers": False})
    assert missing.status == 404
    assert (await site.call("PATCH", path, json={})).status == 422


async def test_a_closed_conversation_stays_and_the_next_message_begins_another(site: Site, app: AppHarness) -> None:
    await app.ask("Before")
    (talk,) = await listed(site)
    path = f"/api/conversations/{talk['id']}/close"
    assert (await site.call("POST", path, key=VIEWER_KEY)).status == 403
    assert (await site.call("POST", path, key=OPERATOR_KEY)).json() == {"ok": True}
    assert (await site.call("POST", path, key=OPERATOR_KEY)).status == 409
    assert (await site.call("POST", "/api/conversations/none/close")).status == 404
    app.clock.put_forward(1)
    await app.ask("After")
    assert [(row["title"], row["open"]) for row in await listed(site)] == [("After", True), ("Before", False)]


async def test_what_people_wrote_is_listed_and_filtered(site: Site, app: AppHarness) -> None:
    await app.ask("About elephants", channel="one")
    await app.ask("About mice", channel="two")
    for query, texts in {
        "": ["About mice", "About elephants"], "q=MICE": ["About mice"], "status=answered&limit=1": ["About mice"],
        "status=running": [], "status=failed": [], "agent=helper&platform=chat&q=about": ["About mice", "About elephants"],
    }.items():  # fmt: skip
        found = (await site.call("GET", f"/api/messages?{query}", key=VIEWER_KEY)).json()["items"]
        assert [message["preview"] for message in found] == texts, query
    assert (await site.call("GET", "/api/messages", key=CHAT_KEY)).status == 403
    assert (await site.call("GET", "/api/messages?status=lost")).status == 422


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF0000WAVE", "audio/wav"),
        (b"RIFF0000EVIL", "application/octet-stream"),
        (b"<svg onload=alert(1)>", "application/octet-stream"),
        (b"%PDF-1.7", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_only_pictures_and_sounds_are_shown(data: bytes, kind: str) -> None:
    assert sniffed(data) == kind


async def test_ten_thousand_conversations_are_listed_by_their_index(app: AppHarness) -> None:
    """A page of the list reads only as many rows as it shows."""

    def many(tx: Transaction) -> None:
        for number in range(10_000):
            tx.conversations.open(HELPER.id, Address("chat", "main", f"room-{number}"), number)

    await app.store.write(many)
    cursor, seen = None, 0
    for _ in range(3):
        page = await app.insights.talks(ConversationFilter(), limit=200, cursor=cursor)
        cursor, seen = page.next_cursor, seen + len(page.items)
        assert [talk.last_message_at for talk in page.items] == list(range(9_999 - seen + 200, 9_999 - seen, -1))


async def test_every_page_is_read_on_both_databases(either_app: AppHarness) -> None:
    app = either_app
    timeline = await app.ask("Hello elephants", user="zoe")
    await app.until_sent(1)
    await app.until_idle()
    insights, principal = app.insights, timeline.message.principal_id or ""
    for which in (
        ConversationFilter(),
        ConversationFilter(text="elephant", agent="helper"),
        ConversationFilter(own=Person(principal, "zoe")),
        ConversationFilter(own=Person(principal, "zoe"), text="elephant"),
    ):
        page = await insights.talks(which, limit=10, cursor=None)
        assert [talk.title for talk in page.items] == ([] if which.own else ["Hello elephants"])
    conversation = timeline.message.conversation_id or ""
    for own in (None, Person(principal, "zoe")):
        messages = await insights.talk_messages(conversation, own=own, limit=10, cursor=None)
        assert [each.message.role for each in messages.items] == ["assistant", "user"]
    for text in (None, "ELEPHANTS"):
        asked = await insights.asked_messages(MessageFilter(text=text), limit=10, cursor=None)
        assert [each.message.id for each in asked.items] == [timeline.message.id]
    troubled = JobFilter(statuses=(JobStatus.FAILED, JobStatus.RUNNING))
    assert (await insights.queue(troubled, limit=10, cursor=None)).items == []
    jobs = await insights.queue(JobFilter(statuses=(JobStatus.DONE,)), limit=10, cursor=None)
    assert await insights.queue(JobFilter(), limit=10, cursor=None) == jobs
    assert await insights.count_jobs(JobFilter(kind="message"), below=None, most=10) == 1
    stories = [await insights.job_story(item.job.id) for item in jobs.items]
    assert [story is not None and story.delivery is not None for story in stories] == [True, False]
    assert (await insights.questions(open_only=False, kind="user", limit=5, cursor=None)).items == []


async def test_people_are_counted_however_much_was_posted_since(site: Site, app: AppHarness) -> None:
    timeline = await app.ask("Hello")
    like = timeline.message

    def post(tx: Transaction) -> None:
        for _ in range(120):
            notice(tx, like=like, text="News", priority=1, now=app.clock.now())

    await app.store.write(post)
    (row,) = await listed(site)
    assert row["participants"] == 1
