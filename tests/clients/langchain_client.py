"""LangChain (`langchain-openai`)."""

from __future__ import annotations

import importlib
from typing import Any

from tests.clients.features import ANSWER, AS_JSON, CALL, HELLO, KEY, MODEL, SCHEMA, URL, WEATHER, expect, play

openai: Any = importlib.import_module("langchain_openai")
messages: Any = importlib.import_module("langchain_core.messages")
TOOL = {"type": "function", "function": WEATHER}


def model(**more: Any) -> Any:
    return openai.ChatOpenAI(model=MODEL, base_url=URL, api_key=KEY, **more)


def whole() -> None:
    expect(model(seed=1, max_tokens=50).invoke(HELLO).text, "Good day")


def streamed() -> None:
    expect("".join(chunk.text for chunk in model().stream(HELLO)), "Good day")


def stop() -> None:
    expect(model().invoke("demo: say one STOP two", stop=["STOP"]).text, "one")


def round_trip(**more: Any) -> None:
    bound, asked = model(**more).bind_tools([TOOL]), messages.HumanMessage(CALL)
    called = bound.invoke([asked])
    output = messages.ToolMessage("20 degrees", tool_call_id=called.tool_calls[0]["id"])
    expect(bound.invoke([asked, called, output]).text, ANSWER)


def schema() -> None:
    expect(model().with_structured_output(SCHEMA, method="json_schema").invoke(AS_JSON), {"age": 10})


def forced() -> None:
    model().with_structured_output(SCHEMA, method="function_calling").invoke(AS_JSON)


def responses() -> None:
    expect(model(use_responses_api=True, reasoning={"effort": "low"}).invoke(HELLO).text, "Good day")


def responses_streamed() -> None:
    expect("".join(chunk.text for chunk in model(use_responses_api=True).stream(HELLO)), "Good day")


if __name__ == "__main__":
    play(
        {
            "chat": whole, "chat, streamed": streamed, "stop": stop, "tools": round_trip, "JSON Schema": schema,
            "forced call": forced, "responses": responses, "responses, streamed": responses_streamed,
            "responses, tools": lambda: round_trip(use_responses_api=True),
        }
    )  # fmt: skip
