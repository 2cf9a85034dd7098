"""OpenAI's library for Python."""

from __future__ import annotations

import importlib
import json
from typing import Any

from tests.clients.features import ANSWER, AS_JSON, CALL, HELLO, KEY, MODEL, SCHEMA, URL, WEATHER, expect, play

client: Any = importlib.import_module("openai").OpenAI(base_url=URL, api_key=KEY)
TOOL = {"type": "function", "function": WEATHER}
FLAT = {"type": "function", **WEATHER}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def ask(text: str, **more: Any) -> Any:
    return client.chat.completions.create(model=MODEL, messages=[user(text)], **more)


def whole() -> None:
    expect(ask(HELLO, seed=1, temperature=0.5, max_tokens=50).choices[0].message.content, "Good day")


def streamed() -> None:
    pieces = [chunk.choices[0].delta.content or "" for chunk in ask(HELLO, stream=True)]
    expect("".join(pieces), "Good day")


def stop() -> None:
    expect(ask("demo: say one STOP two", stop=["STOP"]).choices[0].message.content, "one")


def tools() -> None:
    message = ask(CALL, tools=[TOOL]).choices[0].message
    output = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "20 degrees"}
    after = client.chat.completions.create(model=MODEL, messages=[user(CALL), message, output], tools=[TOOL])
    expect(after.choices[0].message.content, ANSWER)


def schema() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}}
    expect(json.loads(ask(AS_JSON, response_format=form).choices[0].message.content), {"age": 10})


def forced() -> None:
    ask(CALL, tools=[TOOL], tool_choice="required")


def responses() -> None:
    first = client.responses.create(model=MODEL, input=HELLO, reasoning={"effort": "low"})
    expect(first.output_text, "Good day")
    again = client.responses.create(model=MODEL, input="demo: say Bye", previous_response_id=first.id)
    expect(again.output_text, "Bye")


def responses_streamed() -> None:
    with client.responses.stream(model=MODEL, input=HELLO) as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        expect(stream.get_final_response().output_text, "".join(pieces))


def responses_tools() -> None:
    first = client.responses.create(model=MODEL, input=CALL, tools=[FLAT])
    (call,) = [item for item in first.output if item.type == "function_call"]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "20 degrees"}
    after = client.responses.create(model=MODEL, input=[output], previous_response_id=first.id, tools=[FLAT])
    expect(after.output_text, ANSWER)


if __name__ == "__main__":
    play(
        {
            "chat": whole, "chat, streamed": streamed, "stop": stop, "tools": tools, "JSON Schema": schema,
            "forced call": forced, "responses": responses, "responses, streamed": responses_streamed,
            "responses, tools": responses_tools,
        }
    )  # fmt: skip
