"""Text commands on their whole path: the daemon answers at once, and no model is called."""

from __future__ import annotations

import pytest

from arvis.commands import registry as commands
from arvis.commands.hints import command_hints
from arvis.commands.invocation import Spoken
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.messages import MessageStatus
from arvis.inbox.accept import InboxRules
from tests.flows.app_harness import AppHarness


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("/help", Spoken("help", "")),
        ("/NEW", Spoken("new", "")),
        ("/memory  search  a b ", Spoken("memory", "search  a b")),
        ("/memory@arvis_bot add\ntwo lines", Spoken("memory", "add\ntwo lines")),
        ("/etc/passwd", None),
        ("/unknown", None),
        ("/helpless", None),
        ("/help!", None),
        (" /help", None),
        ("say /help", None),
        ("/", None),
        ("//help", None),
        ("/hel\u212ap", None),
    ],
)
def test_what_is_a_command(text: str, spoken: Spoken | None) -> None:
    assert commands.parse(text) == spoken


async def reply_to(app: AppHarness, text: str) -> str:
    reply = (await app.ask(text)).reply
    assert reply is not None
    return reply


async def test_help_lists_the_commands_and_asks_no_model(either_app: AppHarness) -> None:
    *lines, where = (await reply_to(either_app, "/help")).splitlines()
    names = [line.partition(":")[0] for line in lines]
    own = ["/timezone", "/language", "/link", "/unlink"]
    assert names == [
        "/help",
        "/new",
        "/reset",
        "/stop",
        "/again",
        "/run",
        "/agents",
        "/effort",
        "/memory",
        "/usage",
        *own,
        "/why",
    ]
    assert where == "Here every message is for Helper."
    assert either_app.provider.asked == []


async def test_only_the_text_of_a_search_of_facts_is_embedded(either_app: AppHarness) -> None:
    embedded: list[str] = []

    async def meaning(text: str) -> None:
        embedded.append(text)

    either_app.inbox = either_app.inbox_with(InboxRules(), meaning)
    for text in ("/memory search my doctor", "/memory", "/memory search", "/memory add x", "memory search x", "Hello"):
        await either_app.ask(text)
    await either_app.say("/memory search x", forwarded=True)
    await either_app.say("/memory search x", assigned_agent=None, is_direct=False, addressed=False)
    assert embedded == ["my doctor"]


def test_platforms_can_show_the_commands() -> None:
    hints = {hint.name: hint.about for hint in command_hints()}
    own = ["timezone", "language", "link", "unlink"]
    assert list(hints) == [
        "help",
        "new",
        "reset",
        "stop",
        "again",
        "run",
        "agents",
        "effort",
        "memory",
        "usage",
        *own,
        "why",
    ]
    assert hints.keys() | {"start"} == commands.COMMANDS.keys()
    assert all(0 < len(about) <= 100 for about in hints.values())


async def test_a_start_is_greeted_without_a_model(either_app: AppHarness) -> None:
    for text in ("/start", "/start@arvis_bot", "/start invitation-5"):
        assert (await reply_to(either_app, text)).startswith("Hello, I am Helper.\nHere every message is for Helper.")
    assert either_app.provider.asked == []
    assert commands.parse("/start the engine, please") is None


async def test_what_is_no_command_goes_to_the_model(app: AppHarness) -> None:
    app.provider.script.append("A file of users.")
    assert await reply_to(app, "/etc/passwd?") == "A file of users."


async def test_new_begins_a_fresh_conversation(app: AppHarness) -> None:
    await app.ask("my secret word is plum")
    assert "memory" in await reply_to(app, "/new")
    await app.ask("what was my word?")
    assert app.provider.prompts[-1] == ["user: what was my word?"]


async def test_why_there_was_an_answer(either_app: AppHarness) -> None:
    app = either_app
    await app.ask("Hello   you")
    await app.ask("/help")
    lines = (await reply_to(app, "/why")).splitlines()
    assert lines[0].startswith("Your message “Hello you”: answered after ")
    assert lines[1] == "Agent: helper, because this bot is assigned to it."
    assert lines[2].startswith("Model: scripted/")
    assert lines[3].startswith("Tokens: 10 in, 5 out. Cost: ")
    assert lines[4].startswith("Prompt (estimated tokens): identity ")
    assert "Queue: waited " in lines[5]


async def test_why_there_was_none(app: AppHarness) -> None:
    app.provider.script.append(ProviderError(ProviderErrorKind.REFUSED, "the secret reason of the vendor"))
    received = await app.say("Hello")
    await app.until_status(received.message_id, MessageStatus.FAILED)
    said = await reply_to(app, "/why")
    reason = "the model, or the content filter of its vendor, declined to answer (refused)."
    assert f"not answered (failed): {reason}" in said
    assert "secret reason" not in said


async def test_why_of_nothing(app: AppHarness) -> None:
    assert await reply_to(app, "/why") == "You have sent no message in this conversation yet."


async def test_people_choose_the_effort_of_a_conversation(either_app: AppHarness) -> None:
    app = either_app

    async def effort() -> str | None:
        await app.ask("Hello")
        return app.provider.asked[-1].effort

    assert "default of the agent (the default of the model)" in await reply_to(app, "/effort")
    assert await effort() is None
    assert "'huge' is not an effort" in await reply_to(app, "/effort Huge")
    assert "is high now" in await reply_to(app, "/effort High")
    assert (await reply_to(app, "/effort")).startswith("The effort in this conversation is high.")
    assert await effort() == "high"
    # Parameters of a message come first, and an earlier message is answered again with the present effort.
    await app.ask("Hello", wishes={"effort": "low"})
    assert app.provider.asked[-1].effort == "low"
    await app.ask("Think")
    await reply_to(app, "/effort xhigh")
    asked = len(app.provider.asked)
    await reply_to(app, "/again")

    async def again() -> bool | None:
        return len(app.provider.asked) > asked or None

    await app.until(again)
    assert app.provider.asked[-1].effort == "xhigh"
    # Other conversations are not affected, and a new one begins with the default.
    await app.ask("Hello", channel="elsewhere")
    assert app.provider.asked[-1].effort is None
    assert "default of the agent again" in await reply_to(app, "/effort default")
    assert await effort() is None
    await reply_to(app, "/effort low")
    await app.ask("/new")
    assert await effort() is None


async def test_a_member_cannot_change_the_effort_of_a_channel(app: AppHarness) -> None:
    in_channel = {"channel": "hall", "is_direct": False}
    refused = await app.ask("/effort high", **in_channel)
    assert refused.reply is not None
    assert "Only an operator" in refused.reply
    await app.ask("Hello", **in_channel)
    assert app.provider.asked[-1].effort is None
    await app.ask("/effort high", user="owner", **in_channel)
    await app.ask("Hello", **in_channel)
    assert app.provider.asked[-1].effort == "high"
