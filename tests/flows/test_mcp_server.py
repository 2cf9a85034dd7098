"""Arvis as an MCP server: a real daemon, the client of the official package, and keys of every role."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from arvis.domain.messages import Role
from arvis.domain.reply_format import problems_of
from tests.acceptance.daemon import Daemon, environment
from tests.flows.app_harness import AppHarness
from tests.flows.web_server import AGENT_KEY, CHAT_KEY, OPERATOR_KEY, OWNER_KEY, VIEWER_KEY, Site, running_site

OPERATOR = "operator-key-of-the-test"
VIEWER = "viewer-key-of-the-test"
CHAT = "chat-key-of-the-test"
OTHER_CHAT = "another-chat-key-of-the-test"
SETTINGS = f"""
web:
  port: 0
  api_keys:
    - {{key: {OPERATOR}, role: operator}}
    - {{key: {VIEWER}, role: viewer}}
    - {{key: {CHAT}, role: chat}}
    - {{key: {OTHER_CHAT}, role: chat, agents: [helper]}}
routing: {{fallback: helper}}
agents:
  - {{slug: helper, name: Helper}}
  - {{slug: second, name: Second}}
  - {{slug: risky, name: Risky, tools: [run_shell]}}
  - {{slug: closed, name: Closed, allow_users: [somebody]}}
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ALL_TOOLS = ["list_agents", "read_conversation", "search_conversations", "send_message"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon for all tests of this file."""
    folder = tmp_path_factory.mktemp("daemon")
    (folder / "config.yaml").write_text(SETTINGS)
    daemon = Daemon(folder)
    daemon.start()
    yield daemon
    daemon.stop()


@contextlib.asynccontextmanager
async def client_of(daemon: Daemon, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{daemon.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def text_of(result: CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, TextContent)
    return part.text


def data_of(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_message_is_sent_and_answered(daemon: Daemon, mode: str) -> None:
    async with client_of(daemon, daemon.api_key, mode) as client:
        assert sorted(tool.name for tool in (await client.list_tools()).tools) == ALL_TOOLS
        sent = await client.call_tool("send_message", {"text": "demo: say Grüße", "id": f"one-{mode}"})
        assert text_of(sent) == "Grüße"
        first = data_of(sent)
        assert (first["status"], first["reply"], first["agent"]) == ("answered", "Grüße", "helper")

        again = data_of(await client.call_tool("send_message", {"text": "demo: say Grüße", "id": f"one-{mode}"}))
        assert again["messageId"] == first["messageId"]
        other = await client.call_tool("send_message", {"text": "something else", "id": f"one-{mode}"})
        assert other.is_error
        assert "Use a new id for each message" in text_of(other)

        second = data_of(await client.call_tool("send_message", {"text": "demo: say two", "agent": "second"}))
        assert second["agent"] == "second"


async def test_resources_and_the_prompt_have_the_rights_of_the_tools(daemon: Daemon) -> None:
    async with client_of(daemon, CHAT) as client:
        (agents,) = (await client.list_resources()).resources
        listed = (await client.read_resource(agents.uri)).contents[0]
        assert isinstance(listed, TextResourceContents)
        assert {agent["slug"] for agent in json.loads(listed.text)["agents"]} == {"helper", "second"}
        sent = data_of(await client.call_tool("send_message", {"text": "demo: say hidden"}))
        place = f"arvis://conversations/{sent['conversationId']}"
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "arvis://conversations/{id}"
        read = (await client.read_resource(place)).contents[0]
        assert isinstance(read, TextResourceContents)
        assert "hidden" in read.text
        (prompt,) = (await client.list_prompts()).prompts
        message = (await client.get_prompt(prompt.name, {"text": "Hello", "agent": "second"})).messages[0]
        assert isinstance(message.content, TextContent)
        assert 'the agent "second" and this text' in message.content.text
        with pytest.raises(MCPError, match="from 1 to"):
            await client.get_prompt(prompt.name, {"text": " "})
    async with client_of(daemon, OTHER_CHAT) as client:
        for uri in (place, "arvis://conversations/", "arvis://nothing"):
            with pytest.raises(MCPError, match="There is no such"):
                await client.read_resource(uri)
    async with client_of(daemon, VIEWER) as client:
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="no prompt"):
            await client.get_prompt(prompt.name, {"text": "Hello"})


async def test_results_have_the_form_that_their_tools_describe(daemon: Daemon) -> None:
    async with client_of(daemon, CHAT) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        sent = data_of(await client.call_tool("send_message", {"text": "demo: say told"}))
        calls: dict[str, dict[str, Any]] = {
            "send_message": {"text": "demo: say again", "wait_seconds": 0},
            "list_agents": {},
            "search_conversations": {"query": "told"},
            "read_conversation": {"id": sent["conversationId"]},
        }
        assert schemas.keys() == calls.keys()
        for name, arguments in calls.items():
            schema = schemas[name]
            assert schema is not None
            result = data_of(await client.call_tool(name, arguments))
            assert problems_of(result, schema) == []
            assert result.keys() == schema["properties"].keys()
            assert problems_of({}, schema) != []


async def test_arguments_of_the_prompt_and_the_template_are_completed(daemon: Daemon) -> None:
    async def values(client: Client, ref: Any, name: str, value: str) -> list[str]:
        return (await client.complete(ref, {"name": name, "value": value})).completion.values

    prompt = PromptReference(type="ref/prompt", name="ask_agent")
    template = ResourceTemplateReference(type="ref/resource", uri="arvis://conversations/{id}")
    async with client_of(daemon, CHAT) as client:
        assert client.server_capabilities.completions is not None
        sent = data_of(await client.call_tool("send_message", {"text": "demo: say mine"}))
        own = sent["conversationId"]
        assert sorted(await values(client, prompt, "agent", "")) == ["helper", "second"]
        assert await values(client, prompt, "agent", "SE") == ["second"]
        assert await values(client, prompt, "agent", "x") == []
        assert await values(client, prompt, "text", "a") == []
        assert own in await values(client, template, "id", own[:20].lower())
        with pytest.raises(MCPError, match="There is no such"):
            await values(client, PromptReference(type="ref/prompt", name="other"), "agent", "")
    async with client_of(daemon, OTHER_CHAT) as client:
        assert own not in await values(client, template, "id", "")
    async with client_of(daemon, VIEWER) as client:
        assert own in await values(client, template, "id", "")
        with pytest.raises(MCPError, match="There is no such"):
            await values(client, prompt, "agent", "")


async def test_what_takes_longer_comes_back_with_its_status(daemon: Daemon) -> None:
    async with client_of(daemon, daemon.api_key) as client:
        message = {"text": "demo: sleep 1\ndemo: say late", "id": "late", "channel": "web-slow"}
        early = await client.call_tool("send_message", {**message, "wait_seconds": 0})
        assert data_of(early)["status"] in {"accepted", "queued", "running"}
        assert "Call again with the id late" in text_of(early)
        assert text_of(await client.call_tool("send_message", message)) == "late"


async def test_wrong_arguments_are_told_and_nothing_is_sent(daemon: Daemon) -> None:
    async with client_of(daemon, daemon.api_key) as client:
        wrong: list[tuple[dict[str, Any], str]] = [
            ({}, "`text` is missing"),
            ({"text": 3}, "`text` must be a string"),
            ({"text": " "}, "The message is empty"),
            ({"text": "x", "agent": "a", "channel": "b"}, "cannot be combined"),
            ({"text": "x", "agent": "nobody"}, "There is no such agent"),
            ({"text": "x", "wait_seconds": "long"}, "`wait_seconds` must be a number"),
            ({"text": "x", "strange": 1}, "`strange` is not a parameter"),
        ]
        for arguments, complaint in wrong:
            result = await client.call_tool("send_message", arguments)
            assert result.is_error
            assert complaint in text_of(result)


async def test_conversations_are_searched_and_read(daemon: Daemon) -> None:
    async with client_of(daemon, OPERATOR) as client:
        await client.call_tool("send_message", {"text": "demo: say The Heron_100% flies", "channel": "web-birds"})
        found = data_of(await client.call_tool("search_conversations", {"query": "heron_100%"}))["messages"]
        assert [message["role"] for message in found] == ["assistant", "user"]
        assert "Heron_100%" in found[0]["content"]
        assert data_of(await client.call_tool("search_conversations", {"query": "heronX100"}))["messages"] == []

        place = found[0]["conversationId"]
        read = data_of(await client.call_tool("read_conversation", {"id": place, "limit": 2}))
        assert [message["content"] for message in read["messages"]] == [
            "demo: say The Heron_100% flies",
            "The Heron_100% flies",
        ]
        nothing = await client.call_tool("read_conversation", {"id": "01NOTHING"})
        assert nothing.is_error


async def test_the_role_decides(daemon: Daemon) -> None:
    async with client_of(daemon, VIEWER) as client:
        assert "send_message" not in [tool.name for tool in (await client.list_tools()).tools]
        agents = data_of(await client.call_tool("list_agents", {}))["agents"]
        assert [agent["slug"] for agent in agents] == ["helper", "second", "risky", "closed", "conductor"]
        assert set(agents[0]) == {"slug", "name", "description", "status"}
        with pytest.raises(Exception, match="no tool send_message for this key"):
            await client.call_tool("send_message", {"text": "x"})
    async with client_of(daemon, CHAT) as client:
        agents = data_of(await client.call_tool("list_agents", {}))["agents"]
        assert [agent["slug"] for agent in agents] == ["helper", "second"]
        for hidden in ("risky", "closed"):
            refused = await client.call_tool("send_message", {"text": "x", "agent": hidden})
            assert "There is no such agent, or you may not ask it." in text_of(refused)
    async with client_of(daemon, OTHER_CHAT) as client:
        agents = data_of(await client.call_tool("list_agents", {}))["agents"]
        assert [agent["slug"] for agent in agents] == ["helper"]
        refused = await client.call_tool("send_message", {"text": "x", "channel": "web-owner"})
        assert "belongs to another user" in text_of(refused)


async def test_a_chat_key_sees_what_it_said_and_was_told(daemon: Daemon) -> None:
    async with client_of(daemon, CHAT) as mine, client_of(daemon, OTHER_CHAT) as theirs:
        assert text_of(await mine.call_tool("send_message", {"text": "demo: say walrus for me"})) == "walrus for me"
        assert (
            text_of(await theirs.call_tool("send_message", {"text": "demo: say walrus for them"})) == "walrus for them"
        )
        found = data_of(await mine.call_tool("search_conversations", {"query": "WALRUS"}))["messages"]
        assert {message["content"] for message in found} == {"demo: say walrus for me", "walrus for me"}
        assert data_of(await mine.call_tool("read_conversation", {"id": found[0]["conversationId"]}))["messages"]
        hidden = await theirs.call_tool("read_conversation", {"id": found[0]["conversationId"]})
        assert hidden.is_error


async def test_nobody_passes_without_a_key_or_from_another_site(daemon: Daemon) -> None:
    key = {"Authorization": f"Bearer {daemon.api_key}"}
    async with aiohttp.ClientSession() as http:
        for headers, status, code in [
            ({}, 401, "no_credential"),
            ({"Authorization": "Bearer wrong"}, 401, "wrong_key"),
            ({**key, "Origin": "http://evil.example"}, 403, "wrong_origin"),
            ({**key, "Host": "evil.example"}, 403, "wrong_host"),
        ]:
            async with http.post(f"{daemon.url}/mcp", json=INITIALIZE, headers=headers) as answer:
                assert (answer.status, (await answer.json())["error"]["code"]) == (status, code)
        async with http.get(f"{daemon.url}/mcp", headers=key) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (405, "method_not_allowed")
        async with http.post(f"{daemon.url}/mcp", json=INITIALIZE, headers=key) as answer:
            assert answer.status == 200
            assert "mcp-session-id" not in answer.headers
            assert answer.headers["x-content-type-options"] == "nosniff"
        async with http.post(f"{daemon.url}/mcp", data=b"[" * 70_000, headers=key) as answer:
            assert answer.status == 400
        large, as_json = io.BytesIO(b" " * 3_000_000), {"Content-Type": "application/json"}
        async with http.post(f"{daemon.url}/mcp", data=large, headers={**key, **as_json}) as answer:
            assert answer.status == 413
        async with http.post(f"{daemon.url}/mcp", json={"jsonrpc": "2.0"}, headers=key) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (400, "invalid")
        async with http.get(f"{daemon.url}/openapi.json", headers=key) as answer:
            assert "/mcp" in (await answer.json())["paths"]


# --- arvis mcp ---


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_command_passes_everything_on(daemon: Daemon, mode: str) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "arvis", "mcp", "--data", str(daemon.data)],
        env=environment(),
        cwd=daemon.folder,
    )
    async with Client(command, mode=mode) as client:
        assert sorted(tool.name for tool in (await client.list_tools()).tools) == ALL_TOOLS
        slow = asyncio.create_task(client.call_tool("send_message", {"text": "demo: sleep 1\ndemo: say slow"}))
        await asyncio.sleep(0)
        assert data_of(await client.call_tool("list_agents", {}))["agents"]
        assert not slow.done()
        assert text_of(await slow) == "slow"


def test_the_command_says_what_is_wrong(daemon: Daemon, tmp_path: Path) -> None:
    outcome = daemon.arvis("mcp", typed='no json\n{"jsonrpc": "2.0", "id": 7, "method": "no/such"}\n')
    answers = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert outcome.returncode == 0, outcome.stderr
    assert answers[0]["error"]["code"] == -32700
    assert answers[1]["id"] == 7
    assert "error" in answers[1]

    (tmp_path / "api-key").write_text("wrong")
    (tmp_path / "address").write_text(daemon.url)
    other = Daemon(tmp_path)
    outcome = other.arvis("mcp", typed=json.dumps(INITIALIZE) + "\n")
    assert outcome.returncode == 4, outcome.stdout
    other.data.mkdir()
    (other.data / "api-key").write_text("wrong")
    (other.data / "address").write_text(daemon.url)
    outcome = other.arvis("mcp", typed=json.dumps(INITIALIZE) + "\n")
    assert "This key is not valid." in json.loads(outcome.stdout)["error"]["message"]
    (other.data / "address").write_text("http://127.0.0.1:1")
    outcome = other.arvis("mcp", typed=json.dumps(INITIALIZE) + "\n")
    assert "Arvis cannot be reached" in json.loads(outcome.stdout)["error"]["message"]


# --- without the package, and too many at once ---


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def test_without_the_package_the_answer_names_the_extra(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "arvis.web.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    answer = await site.call("POST", "/mcp", json=INITIALIZE)
    assert (answer.status, answer.code) == (501, "not_installed")
    assert "arvis[mcp]" in answer.json()["error"]["fix"]


async def test_only_so_many_of_a_key_and_of_all_are_answered_at_once(site: Site) -> None:
    keys = (CHAT_KEY, AGENT_KEY, OPERATOR_KEY, OWNER_KEY)
    assert [await _list(site, CHAT_KEY) for _ in range(9)] == [(200, "")] * 9
    async with contextlib.AsyncExitStack() as stack:
        for number, key in enumerate(keys, start=1):
            waiting = [asyncio.create_task(_waits(site, key, 60)) for _ in range(8)]
            stack.push_async_callback(_ended, waiting)
            async with asyncio.timeout(10):
                while len(site.inbox.received) < 8 * number:  # noqa: ASYNC110 - the scripted inbox has one event for all
                    await asyncio.sleep(0.01)
            assert await _waits(site, key, 0) == (429, "too_many")
            beside, _ = await _list(site, VIEWER_KEY)
            assert beside == (200 if number < len(keys) else 429)
        read = await site.call("GET", "/api/agents", key=VIEWER_KEY)
        assert read.status == 200


async def _waits(site: Site, key: str, seconds: float) -> tuple[int, str]:
    call = {"name": "send_message", "arguments": {"text": "x", "wait_seconds": seconds}}
    return await _posted(site, key, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})


async def _list(site: Site, key: str) -> tuple[int, str]:
    return await _posted(site, key, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})


async def _posted(site: Site, key: str, body: dict[str, Any]) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {key}"}
    async with site.http.post(f"{site.url}/mcp", json=body, headers=headers) as answer:
        return answer.status, (await answer.json()).get("error", {}).get("code", "")


async def _ended(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# --- The search ---


async def test_messages_are_found_on_both_databases(either_app: AppHarness) -> None:
    asked = await either_app.ask("Where is the OSTRICH_1?", user="ann")
    await either_app.ask("I saw no ostrich", user="ben", channel="garden")
    search = either_app.insights.search_messages

    both = await search("ostrich", principal_id=None, limit=50)
    assert {"Where is the OSTRICH_1?", "I saw no ostrich"} <= {message.content for message in both}
    assert [message.content for message in await search("ostrich_1", principal_id=None, limit=1)] != []
    assert await search("ostrichX1", principal_id=None, limit=50) == []
    assert await search("%", principal_id=None, limit=50) == []

    own = await search("ost", principal_id=asked.message.principal_id, limit=50)
    assert {message.role for message in own} == {Role.USER, Role.ASSISTANT}
    assert "I saw no ostrich" not in {message.content for message in own}


async def test_what_is_not_offered_is_refused_in_the_form_of_the_protocol(site: Site) -> None:
    asked = {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": {}}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "subscriptions/listen",
    }
    answer = await site.call("POST", "/mcp", json=asked, headers=headers)
    assert answer.status == 200
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (7, -32601)
