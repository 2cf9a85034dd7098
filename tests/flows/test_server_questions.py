"""Questions of tool servers during a call: a person answers them in the chat, also after a restart."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from arvis.config.servers import McpServer
from arvis.domain.errors import Forbidden, Unprocessable
from arvis.domain.executions import Wait, WaitKind
from arvis.domain.messages import MessageStatus, Principal, PrincipalRole
from arvis.domain.money import SpendingLimits
from arvis.domain.tools import Permit
from arvis.llm.prices import Prices
from arvis.ports.operations import WaitAnswer
from arvis.store.open import Database
from arvis.tasks.rounds import _LOST
from arvis.tools.mcp.servers import McpServers, open_servers
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import PLATFORM, asking, call
from tests.flows.test_approvals import decide, open_wait
from tests.flows.test_mcp_client import FIXTURES, until
from tests.flows.test_spending import DAILY, PRICES, _use_up
from tests.flows.test_tools import outputs

ANSWERED, WAITING = MessageStatus.ANSWERED, MessageStatus.WAITING
OWNER = Principal("owner", PLATFORM, "owner", "Owner", PrincipalRole.OWNER)
TOOLS = ("fix.book", "fix.confirm", "fix.connect", "fix.both", "fix.phish", "fix.think", "fix.slow")


class Scene:
    """An app whose agent has the tools of a server that asks. `log` contains the requests that the server got."""

    def __init__(self, app: AppHarness, servers: McpServers, log: Path) -> None:
        self.app = app
        self.servers = servers
        self.log = log

    async def asks(self, *tools: str) -> tuple[str, Wait]:
        """Let the agent call these tools. Return the message and the first question."""
        calls = [call(number, f"fix__{tool}") for number, tool in enumerate(tools)]
        self.app.provider.script += [asking(*calls), "Done."]
        message = (await self.app.say("Go")).message_id
        await self.app.until_status(message, WAITING)
        return message, await open_wait(self.app)

    async def next(self, before: Wait) -> Wait:
        async def look() -> Wait | None:
            page = await self.app.insights.waits(open_only=True, limit=10, cursor=None)
            return next((wait for wait in page.items if wait.id != before.id), None)

        return await self.app.until(look)

    async def says(self, text: str, **more: Any) -> str:
        """Send a message that is an answer, and return the text that follows it."""
        received = await self.app.say(text, **more)
        assert received.reason == "review"
        return (await self.app.timeline(received.message_id)).reply or ""

    async def result(self, message: str) -> Any:
        """Return the responses that the server got, as the model sees them."""
        await self.app.until_status(message, ANSWERED)
        return json.loads(outputs(self.app.provider.asked[-1])[-1])

    async def called_twice(self) -> bool:
        return len(self.calls()) == 2

    def calls(self) -> list[dict[str, Any]]:
        requests = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [each["params"] for each in requests if each.get("method") == "tools/call"]


@asynccontextmanager
async def scene(
    database: Database,
    folder: Path,
    version: str = "modern",
    *,
    limits: SpendingLimits | None = None,
    prices: Prices | None = None,
    **settings: Any,
) -> AsyncIterator[Scene]:
    log = folder / "requests"
    command = (sys.executable, str(FIXTURES / "mcp_asking.py"), version, str(log))
    agent = agent_with(tools=TOOLS, allow_users=("ann", "bob"))
    async with open_app(database, agents=[agent], limits=limits, prices=prices) as app:
        app.rules["write"] = Permit.ALWAYS
        server = McpServer(name="fix", command=command, **settings)
        async with open_servers([server], clock=app.clock, store=app.store) as servers:
            await until(servers.all)
            app.tools.more += await servers.all()
            yield Scene(app, servers, log)


async def test_a_form_is_filled_in_by_messages_and_survives_a_restart(
    either_database: Database, tmp_path: Path
) -> None:
    async with scene(either_database, tmp_path) as it:
        message, first = await it.asks("book")
        assert (first.kind, first.choices) == (WaitKind.INPUT, ("decline", "cancel"))
        assert first.prompt.startswith("The tool server fix asks you, because Helper called its tool fix.book.\n")
        assert "> Who comes?" in first.prompt
        (shown,) = await it.app.until_sent(1)
        assert "Only Ann can answer" in shown
        await it.app.restart()
        assert "`seats` must be at most 8" in await it.says("name: Ann\nseats: 9")
        assert "Check the values" in await it.says("Guest: Ann\nseats: 3")
        second = await it.next(first)
        assert 'Guest: "Ann"' in second.prompt
        assert len(it.calls()) == 1
        await it.app.pass_time(3)  # a person reads the question first
        assert "Sent" in await it.says("accept")
        assert await it.result(message) == {"who": {"action": "accept", "content": {"name": "Ann", "seats": 3}}}
        begun, repeated = it.calls()
        assert (repeated["requestState"], repeated["arguments"]) == ("state of book", begun["arguments"])
        assert begun["_meta"]["io.modelcontextprotocol/clientCapabilities"]["elicitation"] == {"form": {}, "url": {}}


@pytest.mark.parametrize(("choice", "calls"), [("run again", 3), ("skip", 2)])
async def test_a_person_decides_about_the_second_part_of_a_call_that_was_interrupted(
    either_database: Database, tmp_path: Path, choice: str, calls: int
) -> None:
    async with scene(either_database, tmp_path) as it:
        message, question = await it.asks("slow")
        await it.says("yes")
        await until(it.called_twice)
        await it.app.restart()
        interrupted = await it.next(question)
        assert "“tool 1: fix__slow (2)” was running" in interrupted.prompt
        (tmp_path / "requests.go").touch()
        await decide(it.app, interrupted, "answer", text=choice)
        await it.app.until_status(message, ANSWERED)
        (output,) = outputs(it.app.provider.asked[-1])
        expected = '{"sure": {"action": "accept", "content": {"sure": true}}}'
        assert output == (expected if choice == "run again" else _LOST)
        assert len(it.calls()) == calls


async def test_only_the_person_who_asked_answers(either_database: Database, tmp_path: Path) -> None:
    async with scene(either_database, tmp_path) as it:
        message, wait = await it.asks("confirm")
        assert wait.choices == ("yes", "no", "decline", "cancel")
        with pytest.raises(Forbidden):
            await decide(it.app, wait, "approve", by=OWNER)
        assert (await it.app.say("yes", user="bob", is_direct=False)).reason != "review"
        assert "Sent" in await it.says("No!", is_direct=False)
        assert await it.result(message) == {"sure": {"action": "accept", "content": {"sure": False}}}


@pytest.mark.parametrize(("answer", "action"), [("decline", "decline"), ("cancel", "cancel"), (None, "cancel")])
async def test_a_person_declines_or_does_not_answer(
    either_database: Database, tmp_path: Path, answer: str | None, action: str
) -> None:
    async with scene(either_database, tmp_path) as it:
        message, wait = await it.asks("book")
        if answer is None:
            await it.app.pass_time(86_401)
        else:
            assert await it.says(answer) == "Nothing was sent."
            closed = await it.app.store.read(lambda tx: tx.waits.get(wait.id))
            assert closed is not None
            assert closed.answer is not None
            assert (closed.answer.value or {})["decision"] == {"decline": "reject", "cancel": "cancel"}[answer]
        assert await it.result(message) == {"who": {"action": action}}


async def test_several_questions_of_several_calls_are_asked_one_after_the_other(
    either_database: Database, tmp_path: Path
) -> None:
    async with scene(either_database, tmp_path) as it:
        message, form = await it.asks("both", "connect")
        person = await it.app.store.read(lambda tx: tx.principals.find(PLATFORM, "ann"))
        assert person is not None
        with pytest.raises(Unprocessable, match="`name` is missing"):
            await it.app.operations.answer_wait(form.id, WaitAnswer("accept", arguments={}), person)
        await it.app.operations.answer_wait(form.id, WaitAnswer("accept", arguments={"name": "Bo"}), person)
        page = await it.next(form)
        assert "https://bank.example/connect?id=7" in page.prompt
        assert "open this page of bank.example" in page.prompt
        await it.app.restart()
        await it.app.operations.answer_wait(page.id, WaitAnswer("accept"), person)
        last = await it.next(page)
        await it.app.operations.answer_wait(last.id, WaitAnswer("reject"), person)
        assert await it.result(message) == {"page": {"action": "decline"}}
        first = json.loads(outputs(it.app.provider.asked[-1])[-2])
        assert first == {"page": {"action": "accept"}, "who": {"action": "accept", "content": {"name": "Bo"}}}
        assert [each["name"] for each in it.calls()] == ["both", "connect", "both", "connect"]


async def test_a_form_that_asks_for_a_secret_is_declined_at_once(either_database: Database, tmp_path: Path) -> None:
    async with scene(either_database, tmp_path) as it:
        it.app.provider.script += [asking(call(1, "fix__phish")), "Done."]
        await it.app.ask("Go")
        (output,) = outputs(it.app.provider.asked[-1])
        assert output.startswith('{"key": {"action": "decline"}}')
        assert "seems to ask for a secret" in output


async def test_a_call_of_an_older_server_waits_for_the_answer(either_database: Database, tmp_path: Path) -> None:
    async with scene(either_database, tmp_path, "legacy") as it:
        message, form = await it.asks("both")
        person = await it.app.store.read(lambda tx: tx.principals.find(PLATFORM, "ann"))
        assert person is not None
        await it.app.operations.answer_wait(form.id, WaitAnswer("accept", arguments={"name": "Bo"}), person)
        page = await it.next(form)
        await it.app.operations.answer_wait(page.id, WaitAnswer("accept"), person)
        expected = {"page": {"action": "accept"}, "who": {"action": "accept", "content": {"name": "Bo"}}}
        assert await it.result(message) == expected
        assert len(it.calls()) == 1


async def test_a_call_of_an_older_server_ends_with_an_error_after_its_connection(
    either_database: Database, tmp_path: Path
) -> None:
    async with scene(either_database, tmp_path, "legacy") as it:
        message, _ = await it.asks("confirm")
        it.servers._servers["fix"].reconnect()
        await it.says("yes")
        await it.app.until_status(message, ANSWERED)
        (output,) = outputs(it.app.provider.asked[-1])
        assert output.startswith("Error: ")
        assert "unknown" in output
        assert len(it.calls()) == 1


@pytest.mark.parametrize("version", ["modern", "legacy"])
async def test_a_model_answers_a_server_after_the_person_has_accepted(
    database: Database, tmp_path: Path, version: str
) -> None:
    async with scene(database, tmp_path, version, sampling="ask") as it:
        message, wait = await it.asks("think")
        assert "> [instructions]\n> Answer in one word." in wait.prompt.replace("\\n", "\n")
        assert "What is the capital of France?" in wait.prompt
        it.app.provider.script.appendleft("Paris")
        await it.says("accept")
        result = (await it.result(message))["model"]
        assert (result["content"], result["role"]) == ({"type": "text", "text": "Paris"}, "assistant")
        asked = it.app.provider.asked[1]
        assert (asked.system, asked.tools, len(asked.turns)) == ("Answer in one word.", (), 1)
        audit = await it.app.insights.audit(agent=None, kind="server_used_model", outcome=None, limit=5, cursor=None)
        assert [entry.proposal.subject for entry in audit.items] == ["fix.think"]


@pytest.mark.parametrize(("sampling", "said"), [("off", "not permitted"), ("ask", "the person declined the use")])
async def test_a_model_does_not_answer_without_permission(
    database: Database, tmp_path: Path, sampling: str, said: str
) -> None:
    async with scene(database, tmp_path, sampling=sampling) as it:
        if sampling == "ask":
            message, _ = await it.asks("think")
            await it.says("decline")
        else:
            it.app.provider.script += [asking(call(1, "fix__think")), "Done."]
            message = (await it.app.say("Go")).message_id
        await it.app.until_status(message, ANSWERED)
        (output,) = outputs(it.app.provider.asked[-1])
        assert said in output
        assert len(it.calls()) == 1


async def test_a_model_does_not_answer_a_server_without_budget(database: Database, tmp_path: Path) -> None:
    limits = SpendingLimits(per_principal_daily=DAILY)
    async with scene(database, tmp_path, limits=limits, prices=PRICES, sampling="ask") as it:
        message, _ = await it.asks("think")
        await it.app.store.write(_use_up, "ann", DAILY, it.app.clock.now())
        await it.says("accept")
        timeline = await it.app.until_status(message, MessageStatus.FAILED)
        (tool,) = [step for step in timeline.steps if step.step == "tool"]
        assert "the budget for models is used up" in tool.data["output"]
        assert (len(it.app.provider.asked), len(it.calls())) == (1, 1)
