"""Texts of the command line that need no running daemon."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import click
import pytest

from arvis.cli import output
from arvis.cli.commands import explain, people
from arvis.cli.commands.chat_stream import Preview
from arvis.cli.main import COMMANDS, arvis
from arvis.cli.output import exit_code, known_in
from arvis.domain.errors import ArvisError, ConfigError, DaemonUnreachable, DataFolderInUse, SchemaTooNew
from arvis.domain.explanation import explanation
from arvis.process.data_folder import lock_data_folder


def timeline(status: str, **changes: Any) -> dict[str, Any]:
    steps = changes.pop("steps", [])
    base = {"messageId": "M", "status": status, "reason": None, "agent": "helper", "job": None, "createdAt": 1000}
    return (
        base
        | {"steps": steps, "answers": [], "feedback": [], "inputTokens": 0, "outputTokens": 0, "costUsd": 0.0}
        | changes
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            timeline("dropped", reason="not_paired", agent=None),
            "Not answered: this agent has risky tools and this person",
        ),
        (timeline("expired"), "Not answered (expired): no reason is known."),
        (timeline("failed", job={"reason": "odd", "error": "it broke"}), "Not answered (failed): odd: it broke."),
        (timeline("failed", reason="fallback"), "Not answered (failed): no reason is known."),
        (timeline("cancelled", reason="stopped"), "Not answered (cancelled): a person stopped it (stopped)."),
        (
            timeline("waiting"),
            "Not answered yet: it waits for the decision of a person. `arvis questions list` shows the question.",
        ),
        (timeline("running"), "Not answered yet: helper is working on it."),
        (timeline("queued"), "Not answered yet: it waits in the queue for helper."),
        (
            timeline("queued", steps=[{"step": "retried", "at": 1500, "error": "x", "runAt": 62_000}]),
            "Not answered yet: it waits in the queue for helper, next try at 0:01:01.",
        ),
    ],
)
def test_the_first_sentence_says_why(given: dict[str, Any], sentence: str) -> None:
    assert explanation(given).startswith(sentence)


def test_a_story_of_trouble() -> None:
    steps = [
        {"step": "started", "at": 1001, "job": "J", "claim": 2},
        {"step": "recovered", "at": 1002, "job": "J", "crashes": 1},
        {"step": "retried", "at": 1003, "error": "no answer", "runAt": 61_003},
        {"step": "snoozed", "at": 1004, "reason": "rate_limit", "runAt": 3_662_000},
        {"step": "delivery", "at": 1005, "part": 0, "seq": 1, "state": "failed", "platformId": None, "error": "gone"},
        {"step": "unheard_of", "at": 1006, "what": "ever", "empty": None},
    ]
    assert list(explain.story(timeline("answered", steps=steps, answers=["M", "N"]))) == [
        "0.001 s  work began again (start 2)",
        "0.002 s  resumed after the process crashed during this job (1 crashes so far)",
        "0.003 s  failed, next try at 0:01:00: no answer",
        "0.004 s  postponed to 1:01:01: rate_limit",
        "0.005 s  part 1 of the answer: failed: gone",
        "0.006 s  unheard_of: what ever",
        "One answer for 2 messages: M, N.",
    ]


@pytest.mark.parametrize(
    ("changes", "amount"),
    [
        ({"priced": True}, "$0.000000."),
        ({"priced": False}, "$0.000000, without the calls whose price is not known."),
        ({"priced": False, "error": "auth", "detail": "the key was refused"}, "$0.000000."),
    ],
)
def test_the_total_says_that_prices_are_missing(changes: dict[str, Any], amount: str) -> None:
    call = {
        "step": "model_call",
        "at": 1001,
        "provider": "p",
        "model": "m",
        "account": "a",
        "durationMs": 1,
        "error": None,
    }
    counts = {"inputTokens": 0, "outputTokens": 0, "costMicros": 0}
    *_, total = explain.story(timeline("answered", steps=[call | counts | changes]))
    assert total.endswith(f"0 tokens in, 0 out, {amount}")


def test_an_owner_needs_no_pairing() -> None:
    base = {"id": "I", "platform": "telegram", "userId": "1", "name": "Ann", "paired": False}
    table = people.PEOPLE.text([base | {"role": role} for role in ("owner", "member")])
    assert [line.split()[-1] for line in table.splitlines()] == ["PAIRED", "-", "no"]


def test_a_step_tells_what_was_found_and_what_the_prompt_holds() -> None:
    found = {"injectionDetected": True, "spamDetected": False, "rateLimited": True}
    prompt = {"tokens": {"identity": 140, "memory": 0, "history": 60}, "left_out": 3}
    hits = [("F1", 12, 0.0321, 1, 0.83), ("F2", 15, 0.0009, None, None)]
    prompt["recalled"] = [
        dict(zip(("fact", "number", "score", "place", "similarity"), hit, strict=True)) for hit in hits
    ]
    taint = ["flagged", "tools"]
    steps = [
        {"step": "node", "at": 1001, "node": "check_input", "decision": "next", "input": {"M": found, "N": found}},
        {"step": "node", "at": 1002, "node": "prepare", "decision": "next", "prompt": prompt, "taint": taint},
    ]
    examined, prepared = explain.story(timeline("running", steps=steps))
    assert examined.endswith(
        "next; looks like an attempt to give the model instructions, arrived very soon after other messages"
    )
    layers = "about 200 tokens: identity 140, history 60; 3 older messages did not fit; facts found for the message: #12 F1 (score 0.0321: word rank 1, similarity 0.83)"
    layers += ", #15 F2 (score 0.0009: confidence); `arvis memory correct ID` corrects a fact"
    assert prepared.endswith(f"next; {layers}; based on untrusted text from: flagged, tools")


def test_a_story_tells_of_summaries() -> None:
    steps = [
        {"step": "compacted", "at": 1002, "compaction": "C", "messages": 12, "tokensSaved": 900},
        {"step": "compaction_failed", "at": 1003, "reason": "auth", "error": "the key was refused"},
    ]
    assert list(explain.story(timeline("running", steps=steps))) == [
        "0.002 s  12 older messages became a summary (900 tokens saved)",
        "0.003 s  no summary could be written (auth): the key was refused",
    ]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ArvisError("x"), 1),
        (SchemaTooNew("x"), 5),
        (ConfigError("x"), 2),
        (DataFolderInUse("x"), 3),
        (DaemonUnreachable("x"), 4),
    ],
)
def test_exit_codes(error: ArvisError, code: int) -> None:
    assert exit_code(error) == code


def test_a_group_is_known_when_all_of_it_is() -> None:
    inner, other = ConfigError("a"), DataFolderInUse("b")
    assert known_in(ExceptionGroup("", [ExceptionGroup("", [inner]), other])) == [inner, other]
    assert known_in(ExceptionGroup("", [inner, ValueError()])) is None


def test_a_preview_shows_each_attempt_and_ends_with_the_answer() -> None:
    out = io.StringIO()
    preview = Preview(out.write)  # type: ignore[arg-type]
    for offset, text in [(0, "one"), (0, "o"), (1, "ne \x1b[2Jt"), (999, "lost")]:
        preview.piece(offset, text)
    preview.end("one \x1b[2Jtwo")
    assert out.getvalue() == "one\none [2Jtwo\n"
    preview.end("other")
    preview.end(None)
    assert out.getvalue() == "one\none [2Jtwo\n\nother\n\n"


def test_a_preview_of_nothing_prints_the_answer_alone() -> None:
    out = io.StringIO()
    Preview(out.write).end(None)  # type: ignore[arg-type]
    Preview(out.write).end("one")  # type: ignore[arg-type]
    assert out.getvalue() == "one\n"


def test_nothing_steers_the_terminal() -> None:
    assert output.plain("a\x1b]0;x\x07\u202eb\n\tc\r") == "a]0;xb\n\tc"
    assert output.one_line("a\n b" + "c" * 100, 10) == "a bcccccc…"
    assert output.one_line(None) == output.one_line("") == "-"


def test_a_command_that_holds_the_data_folder_leaves_only_the_lock(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with lock_data_folder(folder):
        with pytest.raises(DataFolderInUse) as refused, lock_data_folder(folder):
            pass
        assert refused.value.why == f"process {os.getpid()} uses it."
        assert [file.name for file in folder.iterdir()] == ["lock"]
    with lock_data_folder(folder):
        pass


def test_every_command_takes_config_and_data_and_says_what_it_does() -> None:
    for name, command in commands(arvis):
        assert command.get_short_help_str(200), name
        assert {"--config", "--data"} <= {option for item in command.params for option in item.opts}, name


def test_the_table_tells_what_the_groups_tell() -> None:
    for name in ("jobs", "questions"):
        found = arvis.get_command(click.Context(arvis), name)
        assert found is not None
        assert found.help == COMMANDS[name].help


def commands(group: Any, path: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        inner = commands(command, f"{path}{name} ") if hasattr(command, "list_commands") else [(path + name, command)]
        found += inner
    return found
