"""The prompt of a turn, composed of layers within one token budget."""

from __future__ import annotations

from arvis.prompt.compose import NO_EXTRAS, Budget, Extras, Ingredients, Prompt, compose, taint_of_asked
from arvis.prompt.history import Here, Overheard, first_zone
from arvis.prompt.instructions import MOST_OTHERS, plain_rules, reply_format
from arvis.prompt.tool_rounds import Round, Words, behind, fit_rounds, turns_of

__all__ = [
    "MOST_OTHERS",
    "NO_EXTRAS",
    "Budget",
    "Extras",
    "Here",
    "Ingredients",
    "Overheard",
    "Prompt",
    "Round",
    "Words",
    "behind",
    "compose",
    "first_zone",
    "fit_rounds",
    "plain_rules",
    "reply_format",
    "taint_of_asked",
    "turns_of",
]
