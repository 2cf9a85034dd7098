"""The length limit of replies: one for all models, and another one for a named model."""

from __future__ import annotations

from pathlib import Path

import pytest

from arvis.config.accounts import DEFAULT_MODELS
from arvis.testing.openai_server import Reply
from tests.acceptance.place import opened

FOR_ALL = "limits: {reply_tokens: 700}\n"
FOR_ONE = f"reply_tokens: {{{DEFAULT_MODELS['openai']}: 300}}\n"


@pytest.mark.parametrize(("own", "most"), [("", 4_096), (FOR_ALL, 700), (FOR_ALL + FOR_ONE, 300)])
async def test_the_limit_of_replies_is_what_the_configuration_says(tmp_path: Path, own: str, most: int) -> None:
    (tmp_path / "config.yaml").write_text(own or "{}")
    async with opened(tmp_path, {}) as place:
        # Arvis asks twice for the rest of the reply.
        place.model.script.extend([Reply(("Once upon a",), finish_reason="length")] * 3)
        timeline = await place.ask("Tell me a story", "room")
        asked = place.model.requests[-1].document
        assert asked.get("max_completion_tokens", asked.get("max_tokens")) == most
        assert timeline["reason"] == "cut"
        assert "output limit" in timeline["reply"]
