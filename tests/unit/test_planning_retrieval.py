"""The node `plan_retrieval`: its fast path without a model, and its reading of a model's answer."""

from __future__ import annotations

import json

import pytest

from arvis.graphs.planning.graph import after_retrieval
from arvis.graphs.planning.triage import Complexity, Retrieval, fast_path, read_retrieval, triggered

LONG_TRIGGER = "quarterly accounts report"


def is_fast(text: str, *, messages: int = 3, triggers: tuple[str, ...] = ()) -> bool:
    found = fast_path(text, messages=messages, triggers=triggers)
    assert found is None or found.complexity is Complexity.LOW
    return found is not None


def test_x1_thanks_in_a_thread_of_three_messages_is_low() -> None:
    found = fast_path("thanks!", messages=3, triggers=["backup"])
    assert found == Retrieval("talk", "thanks!", Complexity.LOW)


@pytest.mark.parametrize(
    "text",
    [
        "Hi",
        "hello there, how is your day going and what is the weather like in the mountains",
        "Good morning!",
        "thx",
        "Thank you so much for all of this, it helped me a lot",
        "bye",
        "Goodbye for now",
        "hey",
    ],
)
def test_greeting_thanks_and_goodbye_at_the_start_are_low(text: str) -> None:
    assert is_fast(text)


@pytest.mark.parametrize(
    "text", ["what is a monad", "How are you", "can you sing", "would you mind", "Tea or coffee?", "why"]
)
def test_a_short_question_is_low(text: str) -> None:
    assert is_fast(text)


@pytest.mark.parametrize("text", ["ok", "Yes", "no", "sure, do that", "Got it", "understood."])
def test_a_short_acknowledgement_is_low(text: str) -> None:
    assert is_fast(text)


@pytest.mark.parametrize(
    "text",
    [
        "history of the house",  # begins only with the letters of a greeting
        "what is the longest river in the whole of the world",  # a question of 50 or more characters
        "yes, and now write a long essay on it",  # an acknowledgement of 30 or more characters
        "write a poem",
        "thanks " + "x" * 100,
        "can you check my mail",  # words for work win (docs/adr/0025)
        "hi, run the backup",
        "what is the status?",
    ],
)
def test_everything_else_is_for_a_model(text: str) -> None:
    assert not is_fast(text)


@pytest.mark.parametrize(("messages", "fast"), [(1, True), (10, True), (11, False)])
def test_a_long_thread_is_for_a_model(messages: int, fast: bool) -> None:
    assert is_fast("thanks", messages=messages) is fast


@pytest.mark.parametrize(("length", "fast"), [(100, True), (101, False)])
def test_a_long_text_is_for_a_model(length: int, fast: bool) -> None:
    assert is_fast("thanks ".ljust(length, "x")) is fast


@pytest.mark.parametrize(
    ("text", "trigger", "matches"),
    [
        ("make the quarterly accounts report", LONG_TRIGGER, True),
        ("make the quarterly accounts", LONG_TRIGGER, False),
        ("hello backups", "backup", True),  # the trigger is part of a word
        ("hello back", "backup", True),  # a word is part of the trigger
        ("hi", "archive", False),  # a short word does not count
        ("do a PR", "pr", False),  # a short trigger does not count, either
        ("hello Deploy", "DEPLOY", True),
        ("thanks", "deploy", False),
    ],
)
def test_trigger_words_match_by_their_length(text: str, trigger: str, matches: bool) -> None:
    assert triggered(text, trigger) is matches
    if matches:
        assert not is_fast(text, triggers=(trigger,))


def test_a_model_says_how_much_work_it_is() -> None:
    reply = """```json
    {"intent": "build", "goal": "a shop", "selected_skill_slug": "web", "complexity": "medium",
     "memory_search": ["tea", 7]}
    ```"""
    found = read_retrieval(reply, goal="shop", skills={"web"})
    assert found == Retrieval("build", "a shop", Complexity.MEDIUM, "web", ("tea", "7"))


@pytest.mark.parametrize("reply", ["", "high", "[1]", "{", '{"goal": }', "}{", '{"a": 1} {"b": 2}', "{" * 100_000])
def test_what_is_no_json_object_is_no_answer(reply: str) -> None:
    assert read_retrieval(reply, goal="g", skills=()) is None


@pytest.mark.parametrize("value", ['"huge"', "null", "3", "[]", '"HIGH"'])
def test_an_unknown_complexity_is_missing(value: str) -> None:
    found = read_retrieval(f'{{"complexity": {value}}}', goal="g", skills=())
    assert found == Retrieval("", "g", None)


def test_what_no_database_takes_is_left_out() -> None:
    found = read_retrieval(r'{"goal": "a\u0000b\ud800c", "memory_search": ["\ud800"]}', goal="g", skills=())
    assert found is not None
    assert json.dumps(found.to_json(), ensure_ascii=False).encode().count(b"\x00") == 0


def test_a_skill_that_is_not_there_counts_as_none() -> None:
    found = read_retrieval('{"selected_skill_slug": "nope", "complexity": "low"}', goal="g", skills={"web"})
    assert found is not None
    assert found.skill is None


@pytest.mark.parametrize(
    ("complexity", "node"), [("low", "output"), ("medium", "action"), ("high", "planner"), (None, "planner")]
)
def test_routing_by_complexity(complexity: str | None, node: str) -> None:
    assert after_retrieval({}, complexity) == node
