"""Questions to people over HTTP: the asking agent, the subject, the reason, and the people who may answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.executions import WaitKind
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, PrincipalRole, Sender
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import asking, call
from tests.flows.test_operations import asks
from tests.flows.test_web_talks import user_of
from tests.flows.web_server import AGENT_KEY, CHAT_KEY, OPERATOR_KEY, VIEWER_KEY, Site, running_site

USER = WaitKind.USER


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    agents = [
        agent_with(tools=("look", "rm"), allow_users=("ann",)),
        agent_with(id="agent-handy", slug="handy", name="Handy", tools=("look", "rm")),
        agent_with(id="agent-asker", slug="asker", name="Asker", graph=USER.value),
    ]
    async with open_app(database, agents=agents, graphs=[asks(USER)]) as app:
        yield app


@pytest.fixture
async def site(tmp_path: Path, app: AppHarness) -> AsyncIterator[Site]:
    (tmp_path / "web").mkdir()
    async with running_site(tmp_path / "web", behind=app) as site:
        yield site


async def say(app: AppHarness, user: str, agent: str) -> str:
    """Send a message over the web whose turn then waits."""
    incoming = IncomingMessage(
        Address("web", "web", f"web-{user}"), app.new_id(), Sender(user, user, paired=True), "Do it",
        is_direct=True, assigned_agent=agent,
    )  # fmt: skip
    received = await app.inbox.receive(incoming)
    await app.until_status(received.message_id, MessageStatus.WAITING)
    return received.message_id


async def listed(site: Site, key: str, query: str = "") -> list[dict[str, Any]]:
    items = (await site.call("GET", f"/api/questions?{query}", key=key)).json()["items"]
    assert isinstance(items, list)
    return items


async def test_a_question_says_who_asks_what_and_why(site: Site, app: AppHarness) -> None:
    app.provider.script.append(asking(call(1, "rm", words="the attic")))
    message = (await app.say("Tidy up")).message_id
    await app.until_status(message, MessageStatus.WAITING)
    (shown,) = await listed(site, VIEWER_KEY)
    timeline = await app.timeline(message)
    expected = {
        "kind": "approval", "agent": "helper", "person": "Ann", "messageId": message, "platform": "chat",
        "channelId": "room", "conversationId": timeline.message.conversation_id, "tool": "rm",
        "arguments": {"words": "the attic"}, "approvers": ["owners"], "canAnswer": False,
    }  # fmt: skip
    assert expected.items() <= shown.items()
    assert (shown["change"]["text"], len(shown["change"]["hash"])) == (shown["prompt"], 32)
    assert shown["risk"] is not None
    assert [row["canAnswer"] for row in await listed(site, "daemon-key-of-the-data-folder")] == [True]
    assert await listed(site, VIEWER_KEY, "agent=asker") == []
    assert await listed(site, VIEWER_KEY, "kind=user") == []
    assert len(await listed(site, VIEWER_KEY, "kind=approval&agent=helper")) == 1
    assert (await site.call("GET", "/api/questions?kind=timer")).status == 422
    answer = {"decision": "approve"}
    assert (
        await site.call("POST", f"/api/questions/{shown['id']}/answer", key=OPERATOR_KEY, json=answer)
    ).status == 403
    assert (await site.call("POST", f"/api/questions/{shown['id']}/answer", json=answer)).status == 200
    await app.until_status(message, MessageStatus.ANSWERED)
    (tool,) = [step.data for step in (await app.timeline(message)).steps if step.step == "tool"]
    assert (tool["decision"], tool["arguments"]) == ("approve", '{"words": "the attic"}')
    (done,) = await listed(site, VIEWER_KEY, "open=false")
    assert (done["answer"]["decision"], done["tool"], done["answeredByName"] is None) == ("approve", None, False)
    late = await site.call("POST", f"/api/questions/{shown['id']}/answer", json=answer)
    assert (late.status, done["answeredByName"] in late.json()["error"]["message"]) == (409, True)
    assert tool["durationMs"] >= 0


async def test_a_chat_key_answers_what_it_was_asked_itself(site: Site, app: AppHarness) -> None:
    user = await user_of(site, CHAT_KEY)
    message = await say(app, user, "asker")
    (shown,) = await listed(site, CHAT_KEY)
    path = f"/api/questions/{shown['id']}"
    assert (shown["canAnswer"], shown["messageId"]) == (True, message)
    assert await listed(site, AGENT_KEY) == []
    assert (await site.call("GET", path, key=AGENT_KEY)).status == 404
    answer = {"decision": "answer", "text": "yes"}
    assert (await site.call("POST", f"{path}/answer", key=AGENT_KEY, json=answer)).status == 404
    assert (await site.call("POST", f"{path}/answer", key=VIEWER_KEY, json=answer)).status == 403
    assert (await site.call("POST", f"{path}/answer", key=CHAT_KEY, json=answer)).status == 200
    await app.until_status(message, MessageStatus.ANSWERED)


async def test_a_chat_key_does_not_allow_its_own_wish(site: Site, app: AppHarness) -> None:
    user = await user_of(site, CHAT_KEY)
    app.provider.script.append(asking(call(1, "rm", words="all")))
    await say(app, user, "handy")
    (wait,) = await listed(site, VIEWER_KEY)
    path = f"/api/questions/{wait['id']}"
    assert await listed(site, CHAT_KEY) == []
    assert (await site.call("GET", path, key=CHAT_KEY)).status == 403
    assert (await site.call("POST", f"{path}/answer", key=CHAT_KEY, json={"decision": "approve"})).status == 403


async def test_a_viewer_sees_what_works_and_what_it_costs(site: Site, app: AppHarness) -> None:
    timeline = await app.ask("Hello")
    path = f"/api/executions/{timeline.message.execution_id}"
    assert (await site.call("GET", path, key=CHAT_KEY)).status == 403
    shown = (await site.call("GET", path, key=VIEWER_KEY)).json()
    assert shown["conversationId"] == timeline.message.conversation_id
    assert [step["actor"] for step in shown["steps"] if step["step"] == "model_call"] == ["scripted/model"]
    assert all(step["durationMs"] >= 0 for step in shown["path"])
    assert (await site.call("POST", f"{path}/cancel", key=VIEWER_KEY)).status == 403


async def test_a_message_that_replies_to_the_question_is_feedback_on_it(site: Site, app: AppHarness) -> None:
    app.provider.script += [asking(call(1, "rm", words="the attic")), "Paris.", "Then I leave it."]
    first = await say(app, "ann", "helper")
    conversation = (await app.timeline(first)).message.conversation_id
    shown = (await site.call("GET", f"/api/conversations/{conversation}/messages")).json()["items"]
    question = next(each for each in shown if each["buttons"])
    assert "arvis questions" not in question["content"]
    body = {"content": "Only the left side", "replyTo": question["id"], "channelId": "web-ann", "userId": "ann"}
    await site.call("POST", "/api/messages", json=body)
    (sent,) = site.inbox.received
    assert (sent.content, sent.in_reply_to) == ("Only the left side", question["id"])
    for text, replied in (("What is the capital of France?", None), (sent.content, sent.in_reply_to)):
        owner = Sender("ann", "ann", role=PrincipalRole.OWNER)
        message = replace(sent, content=text, in_reply_to=replied, event_id=text, sender=owner, assigned_agent="helper")
        await app.inbox.receive(message)
    assert (await app.until_status(first, MessageStatus.ANSWERED)).reply == "Then I leave it."
    outputs = [each for turn in app.provider.asked[-1].turns for each in turn.outputs]
    assert "Only the left side" in outputs[0].content


async def test_a_message_says_how_far_its_question_is(site: Site, app: AppHarness) -> None:
    app.provider.script += [asking(call(1, "rm", words="the attic")), "Done."]
    first = await say(app, "ann", "helper")
    talk = (await app.timeline(first)).message.conversation_id

    async def question() -> Any:
        items = (await site.call("GET", f"/api/conversations/{talk}/messages")).json()["items"]
        assert all(each["question"] is None for each in items if each["role"] in {"user", "assistant"})
        return next(each["question"] for each in items if each["question"] is not None)

    (wait,) = await listed(site, VIEWER_KEY)
    assert await question() == {"id": wait["id"], "state": "open", "decision": None, "answeredAt": None}
    await site.call("POST", f"/api/questions/{wait['id']}/answer", json={"decision": "approve"})
    await app.until_status(first, MessageStatus.ANSWERED)
    shown = await question()
    assert (shown["state"], shown["decision"], shown["answeredAt"] is None) == ("answered", "approve", False)
    app.provider.script.append(asking(call(2, "rm", words="the cellar")))
    second = await say(app, "ann", "helper")
    execution = (await app.timeline(second)).message.execution_id
    assert (await site.call("POST", f"/api/executions/{execution}/cancel")).status == 200
    assert (await question())["state"] == "closed"
