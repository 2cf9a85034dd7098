"""What conversations need beyond storage: how many tokens a text is."""

from __future__ import annotations

from arvis.conversations.tokens import estimate_tokens

__all__ = ["estimate_tokens"]
