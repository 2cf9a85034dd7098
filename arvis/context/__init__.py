"""The prompt of a turn, composed of layers within one budget (behaviour 1.6 and §7)."""

from __future__ import annotations

from arvis.context.budget import Budget
from arvis.context.clock import first_zone
from arvis.context.composing import Prompt, compose, taint_of_asked
from arvis.context.ingredients import NO_EXTRAS, Extras, Ingredients, Overheard
from arvis.context.response_format import reply_format
from arvis.context.rules import plain_rules
from arvis.context.tool_rounds import Round, Words, behind, fit_rounds, turns_of

__all__ = [
    "NO_EXTRAS",
    "Budget",
    "Extras",
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
