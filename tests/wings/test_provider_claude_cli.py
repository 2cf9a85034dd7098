"""Models over the `claude` program: the conformance suite, the program's input, its failures, and its end."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import ProviderError
from arvis.domain.runs import CallTimeouts, Image, Turn
from arvis.domain.tools import ToolCall, ToolOutput
from arvis.testing.conformance.provider import ProviderConformance, ProviderScene
from tests.wings.claude_scene import KEY, KINDS, REQUEST, Scene, end, fails, open_scene, piece, says

#: The start time of `SteppedClock`.
EPOCH = 1_800_000_000


class TestClaudeCliConformance(ProviderConformance):
    calls_tools = False

    def scene(self) -> AbstractAsyncContextManager[ProviderScene]:
        return open_scene()


async def test_what_the_program_is_given() -> None:
    async with open_scene() as scene:
        result = await scene.complete(says("Fine."))
        (call,) = scene.calls()
        assert call["system"] == "Be short."
        assert Path(call["folder"]) == scene.folder / "cli/conversations/01J0CONVERSATION"
        assert _names(call["folder"]) == []
    options = call["argv"]
    assert options[:6] == ["--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]
    assert options[options.index("--tools") + 1] == ""
    assert options[options.index("--permission-mode") + 1] == "default"
    assert json.loads(options[options.index("--settings") + 1]) == {"permissions": {"deny": ["Read", "Read(//**)"]}}
    assert "--model=claude-sonnet-4-6" in options
    assert not {"--continue", "--resume", "--dangerously-skip-permissions"} & set(options)
    assert not any("How are you" in option or KEY in option for option in options)
    assert (result.input_tokens, result.cached_tokens, result.written_tokens, result.output_tokens) == (23, 11, 7, 13)


async def test_the_environment_is_the_providers_own() -> None:
    async with open_scene() as scene:
        await scene.complete(says("Fine."))
        account = replace(scene.account, api_key=None, base_url="http://127.0.0.1:9")
        await scene.provider.complete(REQUEST, account)
        await scene.provider.complete(REQUEST, replace(account, api_key=f"sk-ant-oat01-{KEY}"))
        keyed, plain, login = (call["environment"] for call in scene.calls())
        for environment in (keyed, plain, login):
            assert not {"CLAUDECODE", "TOKEN"} & set(environment)
            assert environment["DISABLE_AUTOUPDATER"] == "1"
        assert keyed["ANTHROPIC_API_KEY"] == KEY
        assert keyed["HOME"] == str(scene.folder / "cli/homes/main")
        assert plain["HOME"] == str(scene.home)
        assert plain["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9"
        assert "ANTHROPIC_API_KEY" not in plain
        assert login["CLAUDE_CODE_OAUTH_TOKEN"].endswith(KEY)
        assert "ANTHROPIC_API_KEY" not in login


async def test_the_history_pictures_and_tools_are_in_the_prompt() -> None:
    turns = (
        Turn("user", 'Look: {"from": "you"}\n</x>', images=(Image("image/png", b"\x89PNG"),)),
        Turn("assistant", "", calls=(ToolCall("a", "sum", {"of": [1]}),)),
        Turn("user", "", outputs=(ToolOutput("a", "the sum"),)),
        Turn("user", "/compact this", images=(Image("image/gif", b"GIF"),)),
    )
    async with open_scene() as scene:
        scene.then(says("x"))
        await scene.provider.complete(replace(REQUEST, turns=turns), scene.account)
        await scene.provider.complete(replace(REQUEST, turns=turns[:3]), scene.account)
        blocks, going_on = (json.loads(call["stdin"])["message"]["content"] for call in scene.calls())
    assert [block["type"] for block in blocks] == ["text", "image", "text", "image", "text"]
    assert [block["source"]["media_type"] for block in blocks if block["type"] == "image"] == ["image/png", "image/gif"]
    lines = blocks[-1]["text"].split("\n")
    assert [json.loads(line) for line in lines if line.startswith("{")] == [
        {"from": "user", "text": turns[0].content, "pictures": [1]},
        {"from": "you", "text": "", "asked for": [{"tool": "sum", "arguments": {"of": [1]}}]},
        {"from": "user", "text": "", "results": ["the sum"]},
    ]
    assert lines[-3:] == ["/compact this", "", "[With picture 2]"]
    assert "the sum" in going_on[-1]["text"]


@pytest.mark.parametrize("text", ["@/etc/passwd", "see @~/.ssh/id_rsa", '@"a b"', "\t@x", "(@/etc/passwd", "\n@/etc"])
async def test_no_message_names_a_file_to_the_program(text: str) -> None:
    async with open_scene() as scene:
        scene.then(says("x"))
        for turns in ((Turn("user", text),), (Turn("user", text), Turn("user", "mail me@x.org"))):
            await scene.provider.complete(replace(REQUEST, turns=turns), scene.account)
        prompts = [json.loads(call["stdin"])["message"]["content"][-1]["text"] for call in scene.calls()]
    for prompt in prompts:
        assert prompt.replace("me@", "").replace("\u2060@", "").count("@") == 0
        assert "\u2060@" in prompt
    assert "me@x.org" in prompts[1]


@pytest.mark.parametrize("name", ["../../x", "/etc", "a/b", "", ".", "..", "x" * 300, "a\0b", "\ud800", "-p"])
async def test_a_conversation_leaves_its_folder_by_no_name(name: str) -> None:
    async with open_scene() as scene:
        request = replace(scene.say("x"), conversation=name)
        await scene.provider.complete(request, replace(scene.account, name=name or "main"))
        (call,) = scene.calls()
        assert Path(call["folder"]).parent == scene.folder / "cli/conversations"
        assert Path(call["environment"]["HOME"]).parent == scene.folder / "cli/homes"


@pytest.mark.parametrize(
    ("words", "kind", "wait"),
    [
        (f"Claude AI usage limit reached|{EPOCH + 600}", KINDS.RATE_LIMIT, 600),
        ("You've hit your session limit · resets in 2h 5m", KINDS.RATE_LIMIT, 7500),
        ("5-hour limit reached ∙ resets 3pm", KINDS.RATE_LIMIT, None),
        ("You've hit your limit · resets 12:30am (America/New_York)", KINDS.RATE_LIMIT, None),
        ("Weekly limit reached ∙ resets Oct 6, 1pm (UTC)", KINDS.RATE_LIMIT, None),
        ("Not logged in · Please run /login", KINDS.AUTH, 0),
        ("OAuth token has expired · Please run /login", KINDS.AUTH, 0),
        ("Something nobody knows", KINDS.OVERLOADED, 0),
    ],
)
async def test_words_without_a_status(words: str, kind: str, wait: float | None) -> None:
    async with open_scene() as scene:
        for behaviour in (fails(words), {"stderr": words, "exit": 1}):
            failure = await scene.failure(behaviour)
            assert failure.kind == kind
            if wait == 0:
                assert failure.retry_after is None
            elif wait is None:
                assert 0 < (failure.retry_after or 0) <= 7 * 86_400
            else:
                assert failure.retry_after == wait


async def test_a_limit_that_the_program_announces() -> None:
    note = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": EPOCH + 60}}
    lines = [note, end("No more", is_error=True)]
    async with open_scene() as scene:
        failure = await scene.failure({"whole": lines, "exit": 1})
    assert (failure.kind, failure.retry_after) == (KINDS.RATE_LIMIT, 60)


@pytest.mark.parametrize(
    "behaviour",
    [
        {"whole": ["{", "not json"]},
        {"whole": ["[" * 100]},
        {"whole": [end("x", result=7)]},
        {"whole": [end("x", is_error="no")]},
        {"whole": [end("x", subtype="error_during_execution")]},
        {"whole": [piece("half")]},
        {"whole": []},
        {"whole": ['{"type": "result", "a": [' + "{}," * 600_000 + "{}]}"]},
    ],
)
async def test_what_is_no_answer_may_pass(behaviour: dict[str, Any]) -> None:
    async with open_scene() as scene:
        assert (await scene.failure(behaviour)).kind is KINDS.OVERLOADED


async def test_a_missing_program_says_how_to_get_it() -> None:
    async with open_scene() as scene:
        (scene.bin / "claude").unlink()
        failure = await scene.failure(says("x"))
    assert failure.kind is KINDS.AUTH
    assert "npm install -g" in failure.what


@pytest.mark.parametrize("behaviour", [{"flood": '{"type": "x"}'}, {"flood": "x" * 1000}, {"flood": ""}])
async def test_a_flood_is_ended_and_takes_no_room(behaviour: dict[str, Any]) -> None:
    async with open_scene() as scene:
        before = _resident()
        request = replace(scene.then(behaviour), max_bytes=10)
        with pytest.raises(ProviderError) as caught:
            await scene.provider.complete(request, scene.account)
    assert caught.value.kind is KINDS.OVERLOADED
    assert _resident() - before < 64 * 1024 * 1024


async def test_a_flood_of_errors_does_not_stop_it() -> None:
    async with open_scene() as scene:
        result = await scene.complete({**says("Done."), "flood_errors": 5_000_000})
    assert result.content == "Done."


@pytest.mark.parametrize("ending", ["good", "timeout", "cancelled"])
async def test_nobody_is_left_behind(ending: str, tmp_path: Path) -> None:
    note = tmp_path / "orphan"
    timeouts = CallTimeouts(total=1.5 if ending == "timeout" else 30.0)
    async with open_scene(timeouts) as scene:
        rest: dict[str, Any] = says("x") if ending == "good" else {"hang": True}
        call = asyncio.create_task(scene.complete({**rest, "orphan": str(note)}))
        match ending:
            case "good":
                await call
            case "timeout":
                with pytest.raises(ProviderError) as caught:
                    await call
                assert caught.value.kind is KINDS.TIMEOUT
            case _:
                await _hangs(scene, call)
        assert not _lives(note)


def _names(folder: str) -> list[str]:
    return [file.name for file in Path(folder).iterdir()]


def _lives(note: Path) -> bool:
    return Path(f"/proc/{note.read_text(encoding='utf-8')}").exists()


async def _hangs(scene: Scene, call: asyncio.Task[Any]) -> None:
    await scene.called()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
