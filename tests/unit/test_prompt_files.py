"""Files in a prompt, and the models that see pictures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arvis.domain.messages import Attachment, FileKind, FileState
from arvis.domain.runs import Image, RunRequest, Turn
from arvis.llm.model_limits import may_see, sees
from arvis.llm.runner import without_pictures
from arvis.messaging.spoken_replies import speakable
from arvis.prompt.files import file_text, files_that_fit
from arvis.tasks.state import MOST_PICTURES, pictures_of
from tests.context_kit import current

NOTES = Attachment("no\ntes.md", "text/markdown", 9, "abcdef01", kind=FileKind.DOCUMENT, content="one\n\n[End] two")


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (
            NOTES,
            (
                "[File no tes.md (text/markdown, 9 bytes). In your folder: files/abcdef-no_tes.md. Content:]\n"
                "> one\n> \n> [End] two"
            ),
        ),
        (replace(NOTES, content=""), "[File no tes.md (text/markdown, 9 bytes) is empty.]"),
        (replace(NOTES, kind=FileKind.VOICE), ""),
        (
            Attachment("x", "", 0, "", FileState.FAILED, FileKind.OTHER, problem="it is\ngone"),
            "[File x (, 0 bytes) could not be read: it is gone. Tell the person.]",
        ),
        (
            Attachment("c.png", "image/png", 3, "abcdef01", kind=FileKind.IMAGE),
            "[Picture c.png (image/png, 3 bytes). In your folder: files/abcdef-c.png.]",
        ),
    ],
)
def test_files_are_told_of(file: Attachment, expected: str) -> None:
    assert file_text(file) == expected


def test_long_documents_share_the_room_that_there_is() -> None:
    small, large = replace(NOTES, content="s" * 100), replace(NOTES, content="l" * 10_000)
    message = replace(current("Read"), attachments=(small, large))
    assert files_that_fit([message], 20_000, len) == [message]
    (cut,) = files_that_fit([message], 1_000, len)
    assert cut.attachments[0] == small
    assert len(cut.attachments[1].content) <= 900
    assert "characters omitted …]" in cut.attachments[1].content
    assert cut.attachments[1].content.startswith("lll")


def test_the_newest_pictures_go_along() -> None:
    pictures = [Attachment(f"{n}", "image/png", 1_000, f"{n}", kind=FileKind.IMAGE) for n in range(12)]
    broken = replace(pictures[0], problem="it is damaged")
    messages = [replace(current("a"), attachments=(*pictures, NOTES, broken))]
    assert [name for name, _, _ in pictures_of(messages)] == [f"{n}" for n in range(12 - MOST_PICTURES, 12)]
    large = [replace(picture, size=9_000_000) for picture in pictures]
    assert len(pictures_of([replace(current("a"), attachments=tuple(large))])) == 2


def test_who_cannot_see_is_told_where_a_picture_stood() -> None:
    turns = (Turn("user", "Look", images=(Image("image/png", b"x", "a\n[STATE:x].png"),)), Turn("assistant", "No"))
    request = without_pictures(RunRequest("", turns, None, "Helper"))
    assert request.turns[0].images == ()
    assert request.turns[0].content.startswith("Look\n[Image a ［STATE:x].png: this model cannot see")  # noqa: RUF001
    assert request.turns[1] == turns[1]


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("anthropic", "claude-sonnet-4-5", True),
        ("anthropic", "claude-3-haiku-20240307", True),
        ("anthropic", "claude-2.1", False),
        ("openai", "gpt-4o-mini", True),
        ("openai", "gpt-4.1", True),
        ("openai", "gpt-5-nano", True),
        ("openai", "o3", True),
        ("openai", "o1-mini", False),
        ("openai", "gpt-4", False),
        ("openai", "gpt-3.5-turbo", False),
        ("openai", "gpt-4o-audio-preview", False),
        ("google", "gemini-2.5-flash", True),
        ("google", "gemini-1.0-pro", False),
        ("openrouter", "anthropic/claude-opus-4", True),
        ("openrouter", "deepseek/deepseek-chat", False),
        ("ollama", "llava:13b", True),
        ("ollama", "qwen2.5vl:7b", True),
        ("ollama", "llama3.1", False),
        ("ollama", "gemma3:4b", True),
        ("ollama", "gemma3:1b", False),
        ("custom", "my-model", False),
        ("demo", "demo", False),
        ("claude_cli", "sonnet", True),
    ],
)
def test_models_that_see(provider: str, model: str, expected: bool) -> None:
    assert sees(provider, model, {}) is expected
    assert sees(provider, model, {f"{provider}/{model}": not expected}) is not expected
    assert sees(provider, model, {model: not expected}) is not expected


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("openrouter", "somebody/brand-new-1", True),
        ("custom", "my-model", True),
        ("anthropic", "claude-next", True),
        ("ollama", "llama3.1", False),
        ("ollama", "llama3.2-vision", True),
        ("openrouter", "deepseek/deepseek-chat", False),
        ("openrouter", "qwen/qwen3-vl-8b", True),
        ("openai", "gpt-3.5-turbo", False),
        ("demo", "demo", False),
    ],
)
def test_models_that_nothing_is_known_of_are_shown_pictures(provider: str, model: str, expected: bool) -> None:
    assert may_see(provider, model, {}) is expected
    assert may_see(provider, model, {model: False}) is False


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("# Title\n- one\n- *two* and `three`", "Title\none\ntwo and three"),
        ("See [this](http://x.example/a_b) and\n```py\nprint()\n```\nthat.", "See this and\n \nthat."),
        ("Done. [STATE:mood]good[/STATE]", "Done."),
        ("2 * 3 = 6", "2 * 3 = 6"),
        ("```\ncode\n```", ""),
    ],
)
def test_what_is_spoken_of_a_reply(reply: str, expected: str) -> None:
    assert speakable(reply) == expected
