"""LiteLLM."""

from __future__ import annotations

import importlib
import json
from typing import Any

from tests.clients.features import ANSWER, AS_JSON, CALL, HELLO, KEY, MODEL, SCHEMA, URL, WEATHER, expect, play

litellm: Any = importlib.import_module("litellm")
TOOL = {"type": "function", "function": WEATHER}
FLAT = {"type": "function", **WEATHER}
PLACE = {"model": f"openai/{MODEL}", "api_base": URL, "api_key": KEY}


def ask(text: str, *after: Any, **more: Any) -> Any:
    return litellm.completion(messages=[{"role": "user", "content": text}, *after], **PLACE, **more)


def whole() -> None:
    expect(ask(HELLO, seed=1, max_tokens=50).choices[0].message.content, "Good day")


def streamed() -> None:
    pieces = [chunk.choices[0].delta.content or "" for chunk in ask(HELLO, stream=True)]
    expect("".join(pieces), "Good day")


def stop() -> None:
    expect(ask("demo: say one STOP two", stop=["STOP"]).choices[0].message.content, "one")


def tools() -> None:
    message = ask(CALL, tools=[TOOL]).choices[0].message
    output = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "20 degrees"}
    expect(ask(CALL, message.model_dump(), output, tools=[TOOL]).choices[0].message.content, ANSWER)


def schema() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}}
    expect(json.loads(ask(AS_JSON, response_format=form).choices[0].message.content), {"age": 10})


def forced() -> None:
    ask(CALL, tools=[TOOL], tool_choice="required")


def text_of(response: Any) -> str:
    (item,) = [item for item in response.output if item.type == "message"]
    return str(item.content[0].text)


def responses() -> None:
    expect(text_of(litellm.responses(input=HELLO, **PLACE)), "Good day")


def responses_streamed() -> None:
    events = list(litellm.responses(input=HELLO, stream=True, **PLACE))
    pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
    expect("".join(pieces), "Good day")


def responses_tools() -> None:
    first = litellm.responses(input=CALL, tools=[FLAT], **PLACE)
    (call,) = [item for item in first.output if item.type == "function_call"]
    given = [
        {"role": "user", "content": CALL},
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
        {"type": "function_call_output", "call_id": call.call_id, "output": "20 degrees"},
    ]
    expect(text_of(litellm.responses(input=given, tools=[FLAT], **PLACE)), ANSWER)


if __name__ == "__main__":
    play(
        {
            "chat": whole, "chat, streamed": streamed, "stop": stop, "tools": tools, "JSON Schema": schema,
            "forced call": forced, "responses": responses, "responses, streamed": responses_streamed,
            "responses, tools": responses_tools,
        }
    )  # fmt: skip
