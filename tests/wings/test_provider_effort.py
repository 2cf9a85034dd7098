"""The reasoning effort and the format of a reply reach each vendor in its own form, and a model that refuses them still
answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.reply_format import ReplyFormat
from arvis.domain.runs import RunResult, Turn
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.testing.openai_server import Failure, OpenAIServer, Reply, Response
from tests.wings import anthropic_scene, chat_scene, google_scene, ollama_scene

LOOK = ToolSpec("look", "Look up a word.", {"type": "object"})
NO_EFFORT = "Unsupported parameter: 'reasoning_effort' is not supported with this model."
SOME_EFFORTS = (
    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', "
    "'medium', and 'high'."
)
OTHER_API = (
    "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, "
    "use /v1/responses or set reasoning_effort to 'none'."
)


def sent(server: OpenAIServer) -> Mapping[str, Any]:
    return server.requests[-1].document


# -- chat completions and the Responses API ----------------------------------------------------------------


async def test_chat_completions_get_the_word() -> None:
    async with chat_scene.open_scene() as scene:
        await scene.stream(Reply())
        assert "reasoning_effort" not in sent(scene.server)
        result, _ = await scene.stream(Reply(), effort="high")
        assert sent(scene.server)["reasoning_effort"] == "high"
        assert result.left_out == ()


async def test_openrouter_gets_an_object() -> None:
    async with chat_scene.open_scene("openrouter") as scene:
        scene.account = replace(scene.account, provider="openrouter")
        await scene.stream(Reply(), effort="low")
        assert sent(scene.server)["reasoning"] == {"effort": "low"}


@pytest.mark.parametrize(("refusal", "effort", "then"), [(NO_EFFORT, "high", None), (SOME_EFFORTS, "minimal", "low")])
async def test_a_model_without_the_effort_answers(refusal: str, effort: str, then: str | None) -> None:
    async with chat_scene.open_scene() as scene:
        scene.server.script.append(Failure(400, None, refusal))
        result, _ = await scene.stream(Reply(), effort=effort)
        assert sent(scene.server).get("reasoning_effort") == then
        assert result.left_out == (() if then else ("effort",))
        await scene.stream(Reply(), effort=effort)
        assert sent(scene.server).get("reasoning_effort") == then
        assert len(scene.server.requests) == 3  # the accepted form is remembered


async def test_a_refused_parameter_is_left_out_and_named() -> None:
    async with chat_scene.open_scene() as scene:
        refusal = "Unsupported value: 'temperature' does not support 0.2 with this model."
        scene.server.script.append(Failure(400, None, refusal))
        result, _ = await scene.stream(Reply(), sampling={"temperature": 0.2, "seed": 4})
        assert "temperature" not in sent(scene.server)
        assert sent(scene.server)["seed"] == 4
        assert result.left_out == ("temperature",)


async def test_tools_with_an_effort_go_to_the_responses_api() -> None:
    async with chat_scene.open_scene() as scene:
        scene.server.script.append(Failure(400, None, OTHER_API))
        asked, _ = await scene.stream(
            Response(text="", calls=(("look", '{"word": "tea"}'),), reasoning="c2VjcmV0"), effort="high", tools=(LOOK,)
        )
        first = sent(scene.server)
        assert scene.server.requests[-1].path == "/v1/responses"
        assert first["reasoning"] == {"effort": "high"}
        assert (first["store"], first["include"]) == (False, ["reasoning.encrypted_content"])
        assert first["instructions"] == "Be short."
        assert first["tools"][0] == {
            "type": "function", "name": "look", "description": "Look up a word.", "parameters": {"type": "object"},
            "strict": False,
        }  # fmt: skip
        assert asked.calls == (ToolCall("call_0", "look", {"word": "tea"}),)
        assert (asked.input_tokens, asked.output_tokens, asked.cached_tokens) == (7, 5, 3)

        called = Turn("assistant", asked.content, calls=asked.calls, thoughts=asked.thoughts)
        gave = Turn("user", "", outputs=(ToolOutput("call_0", "a drink"),))
        result, pieces = await scene.stream(
            Response(), effort="high", tools=(LOOK,), turns=(*scene.request.turns, called, gave)
        )
        assert result.content == "".join(pieces) == "Hello from the loopback model."
        assert sent(scene.server)["input"][-3:] == [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"},
            {"type": "function_call", "call_id": "call_0", "name": "look", "arguments": '{"word": "tea"}'},
            {"type": "function_call_output", "call_id": "call_0", "output": "a drink"},
        ]
        assert len(scene.server.requests) == 3  # the API is remembered


async def test_a_server_without_the_responses_api_gets_tools_without_thoughts() -> None:
    async with chat_scene.open_scene() as scene:
        scene.server.script += [Failure(400, None, OTHER_API), Failure(404, None, "no such route")]
        result, _ = await scene.stream(Reply(), effort="high", tools=(LOOK,))
        assert scene.server.requests[-1].path == "/v1/chat/completions"
        assert sent(scene.server)["reasoning_effort"] == "none"
        assert result.left_out == ("effort",)


# -- other vendors -----------------------------------------------------------------------------------------


async def asked_of(scene: Any, says: Any, **changes: Any) -> RunResult:
    result: RunResult = (await scene.stream(says, **changes))[0]
    return result


@pytest.mark.parametrize(
    ("model", "effort", "fields"),
    [
        ("claude-opus-5", "xhigh", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}}),
        ("claude-sonnet-4-6", "minimal", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        ("claude-haiku-4-5", "medium", {"thinking": {"type": "enabled", "budget_tokens": 8_192}}),
        ("claude-haiku-4-5", "none", {"thinking": {"type": "disabled"}}),
        ("claude-3-5-haiku-mirror", "high", {}),
    ],
)
async def test_anthropic_gets_the_form_of_the_model(model: str, effort: str, fields: dict[str, Any]) -> None:
    async with anthropic_scene.open_scene() as scene:
        changes = {"model": model, "effort": effort, "max_tokens": 12_288, "sampling": {"temperature": 0.5}}
        result = await asked_of(scene, anthropic_scene.says("Hi"), **changes)
        document = sent(scene.server)
        assert {name: document[name] for name in ("thinking", "output_config") if name in document} == fields
        thinks = fields.get("thinking", {}).get("type") in {"adaptive", "enabled"}
        assert ("temperature" in document) is not thinks
        assert result.left_out == (*(() if fields else ("effort",)), *(("temperature",) if thinks else ()))


async def test_anthropic_falls_back_to_the_form_that_the_model_accepts() -> None:
    async with anthropic_scene.open_scene() as scene:
        for refusal in (
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
            "adaptive thinking is not supported on this model",
        ):
            scene.server.script.append(anthropic_scene.fails(400, "invalid_request_error", refusal))
        await asked_of(scene, anthropic_scene.says("Hi"), model="claude-opus-5", effort="xhigh", max_tokens=40_000)
        tried = [(each.document["thinking"], each.document.get("output_config")) for each in scene.server.requests]
        assert tried == [
            ({"type": "adaptive"}, {"effort": "xhigh"}),
            ({"type": "adaptive"}, {"effort": "high"}),
            ({"type": "enabled", "budget_tokens": 32_768}, None),
        ]


async def test_anthropic_gets_no_parameter_that_the_model_refuses() -> None:
    async with anthropic_scene.open_scene() as scene:
        refusal = anthropic_scene.fails(400, "invalid_request_error", "`temperature` is deprecated for this model.")
        scene.server.script.append(refusal)
        result = await asked_of(scene, anthropic_scene.says("Hi"), sampling={"temperature": 0.5})
        assert "temperature" not in sent(scene.server)
        assert result.left_out == ("temperature",)


async def test_a_budget_is_not_sent_after_calls_of_another_model() -> None:
    async with anthropic_scene.open_scene() as scene:
        called = Turn("assistant", "", calls=(ToolCall("c1", "look", {}),))
        turns = (*scene.request.turns, called, Turn("user", "", outputs=(ToolOutput("c1", "tea"),)))
        result = await asked_of(
            scene, anthropic_scene.says("Hi"), turns=turns, tools=(LOOK,), effort="high", max_tokens=20_000
        )
        assert "thinking" not in sent(scene.server)
        assert result.left_out == ("effort",)


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-3-flash", "minimal", {"thinkingLevel": "minimal"}),
        ("gemini-3.1-pro", "xhigh", {"thinkingLevel": "high"}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}),
        ("gemini-2.5-flash", "medium", {"thinkingBudget": 8_192}),
        ("gemini-2.0-flash", "medium", None),
    ],
)
async def test_google_gets_a_level_or_a_budget(model: str, effort: str, config: dict[str, Any] | None) -> None:
    async with google_scene.open_scene() as scene:
        result = await asked_of(scene, google_scene.says("Hi"), model=model, effort=effort)
        assert sent(scene.server)["generationConfig"].get("thinkingConfig") == config
        assert result.left_out == (() if config else ("effort",))


async def test_google_tries_the_nearest_level_after_a_refusal() -> None:
    async with google_scene.open_scene() as scene:
        refusal = "Thinking level MINIMAL is not supported for this model."
        scene.server.script.append(google_scene.fails(400, "INVALID_ARGUMENT", refusal))
        await asked_of(scene, google_scene.says("Hi"), model="gemini-3-pro", effort="minimal")
        assert sent(scene.server)["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "low"}


@pytest.mark.parametrize(
    ("shown", "effort", "think"),
    [
        ({"capabilities": ["completion", "thinking"]}, "high", True),
        ({"capabilities": ["completion", "thinking"]}, "none", False),
        ({"thinking": {"values": ["low", "medium", "high"]}}, "xhigh", "high"),
        ({"capabilities": ["completion"]}, "high", None),
    ],
)
async def test_ollama_gets_what_the_model_offers(shown: dict[str, Any], effort: str, think: object) -> None:
    async with ollama_scene.open_scene() as scene:
        scene.server.script.clear()
        scene.server.script.append(ollama_scene.body({"model_info": {"llama.context_length": 8_192}, **shown}))
        result = await asked_of(scene, ollama_scene.says("Hi"), effort=effort)
        assert sent(scene.server).get("think") == think
        assert result.left_out == (("effort",) if think is None else ())


async def test_ollama_gets_the_thoughts_before_a_call_back() -> None:
    async with ollama_scene.open_scene() as scene:
        call = {
            "content": "",
            "thinking": "They want tea.",
            "tool_calls": [{"function": {"name": "look", "arguments": {}}}],
        }
        asked = await asked_of(scene, ollama_scene.Says((call,)), tools=(LOOK,))
        called = Turn("assistant", "", calls=asked.calls, thoughts=asked.thoughts)
        gave = Turn("user", "", outputs=(ToolOutput(asked.calls[0].id, "tea"),))
        await asked_of(scene, ollama_scene.says("Hi"), tools=(LOOK,), turns=(*scene.request.turns, called, gave))
        assert sent(scene.server)["messages"][-2]["thinking"] == "They want tea."


# -- formats of replies ------------------------------------------------------------------------------------


SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
WANTED = ReplyFormat(SCHEMA, "person", strict=True)


async def test_each_vendor_gets_the_schema_in_its_form() -> None:
    async with chat_scene.open_scene() as scene:
        await scene.stream(Reply(), format=WANTED)
        form = {"name": "person", "schema": SCHEMA, "strict": True}
        assert sent(scene.server)["response_format"] == {"type": "json_schema", "json_schema": form}
        await scene.stream(Reply(), format=ReplyFormat())
        assert sent(scene.server)["response_format"] == {"type": "json_object"}
        scene.account = replace(scene.account, api="responses")
        await scene.stream(Response(), format=WANTED)
        assert sent(scene.server)["text"] == {"format": {"type": "json_schema", **form}}
    async with anthropic_scene.open_scene() as scene:
        await scene.stream(anthropic_scene.says("{}"), format=WANTED)
        assert sent(scene.server)["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    async with google_scene.open_scene() as scene:
        await scene.stream(google_scene.says("{}"), format=WANTED)
        config = sent(scene.server)["generationConfig"]
        assert (config["responseMimeType"], config["responseJsonSchema"]) == ("application/json", SCHEMA)
    async with ollama_scene.open_scene() as scene:
        await scene.stream(ollama_scene.says("{}"), format=WANTED)
        assert sent(scene.server)["format"] == SCHEMA
        await scene.stream(ollama_scene.says("{}"), format=WANTED, tools=(LOOK,))
        assert "format" not in sent(scene.server)  # with a format, the model could not call tools


async def test_a_model_without_schemas_gets_a_weaker_format() -> None:
    async with chat_scene.open_scene() as scene:
        for refusal in ("Invalid schema for response_format 'person'", "'response_format' is not supported"):
            scene.server.script.append(Failure(400, None, refusal))
        await scene.stream(Reply(), format=WANTED)
        forms = [each.document.get("response_format", {}).get("type") for each in scene.server.requests]
        assert forms == ["json_schema", "json_object", None]
    async with google_scene.open_scene() as scene:
        refusal = "Function calling with a response mime type: 'application/json' is unsupported"
        scene.server.script.append(google_scene.fails(400, "INVALID_ARGUMENT", refusal))
        await scene.stream(google_scene.says("{}"), format=WANTED, tools=(LOOK,))
        assert "responseMimeType" not in sent(scene.server)["generationConfig"]
    async with anthropic_scene.open_scene() as scene:
        refusal = "output_config.format: structured outputs are not supported by this model"
        scene.server.script.append(anthropic_scene.fails(400, "invalid_request_error", refusal))
        await scene.stream(anthropic_scene.says("{}"), format=WANTED)
        assert "output_config" not in sent(scene.server)
