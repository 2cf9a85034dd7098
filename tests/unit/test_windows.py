"""The context windows of models: by name, from vendors' reports, and from the user's settings."""

from __future__ import annotations

import pytest

from arvis.llm.model_limits import window_of


@pytest.mark.parametrize(
    ("provider", "model", "window"),
    [
        ("anthropic", "claude-opus-4-1", 200_000),
        ("anthropic", "claude-sonnet-4-5-20250929", 200_000),
        ("anthropic", "claude-3-5-haiku-latest", 200_000),
        ("anthropic", "claude-sonnet-5-5", 1_000_000),
        ("claude_cli", "sonnet", 200_000),
        ("openai", "gpt-4.1", 1_000_000),
        ("openai", "gpt-4.1-mini-2025-04-14", 1_000_000),
        ("openai", "gpt-4o", 128_000),
        ("openai", "gpt-4o-mini", 128_000),
        ("openai", "gpt-4-0613", 8_192),
        ("openai", "gpt-5-mini", 272_000),
        ("openai", "gpt-5.1-chat-latest", 128_000),
        ("openai", "o3", 200_000),
        ("openai", "o4-mini", 200_000),
        ("openai", "openai/gpt-4.1", 1_000_000),
        ("openrouter", "openai/gpt-4.1", 1_000_000),
        ("openrouter", "anthropic/Claude-Sonnet-4", 200_000),
        ("openrouter", "nobody/knows", 200_000),
        ("google", "gemini-2.5-flash", 1_000_000),
        ("google", "models/gemini-2.0-flash", 1_000_000),
        ("custom", "my-model", 200_000),
        ("custom", "o3xtra", 200_000),
        ("ollama", "llama3.1", 8_192),
        ("ollama", "gpt-oss", 8_192),
    ],
)
def test_a_model_is_known_by_its_name(provider: str, model: str, window: int) -> None:
    assert window_of(provider, model, {}, None) == window


def test_what_the_vendor_told_wins_over_the_table_and_the_user_over_both() -> None:
    assert window_of("openai", "gpt-4.1", {}, 32_768) == 32_768
    assert window_of("ollama", "llama3.1", {}, 131_072) == 131_072
    for name in ("openai/gpt-4.1", "gpt-4.1"):
        assert window_of("openai", "gpt-4.1", {name: 64_000, "gpt-4": 1_024}, 32_768) == 64_000
    assert window_of("openrouter", "openai/gpt-4.1", {"gpt-4.1": 64_000}, None) == 64_000
    own = {"openrouter/openai/gpt-4.1": 10_000, "openai/gpt-4.1": 20_000, "gpt-4.1": 30_000}
    assert window_of("openrouter", "openai/gpt-4.1", own, None) == 10_000
    assert window_of("openai", "gpt-4.1", own, None) == 20_000
