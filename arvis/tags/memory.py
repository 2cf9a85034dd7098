"""`[MEMORY:category] fact` and `[STATE:key] value`."""

from __future__ import annotations

from arvis.domain.effects import EffectKind, Proposal
from arvis.domain.markup import Tag
from arvis.domain.memory import Category

_NAMED_OTHERWISE = {"preference": Category.USER_PREFERENCE, "fact": Category.LEARNED_PATTERN}
_KNOWN = {category.value: category for category in Category} | _NAMED_OTHERWISE

_EMPTY = "nothing stands in it"


def category_of(word: str) -> Category:
    """Models use words of their own; a fact without a known category is worth keeping all the same."""
    return _KNOWN.get(word.lower(), Category.LEARNED_PATTERN)


def read_memory(tag: Tag, ordinal: int) -> Proposal:
    problem = tag.problem or (None if tag.body else _EMPTY)
    return Proposal(ordinal, EffectKind.REMEMBER, category_of(tag.argument).value, {"text": tag.body}, problem)


def read_state(tag: Tag, ordinal: int) -> Proposal:
    problem = tag.problem or (None if tag.body else _EMPTY)
    return Proposal(ordinal, EffectKind.STATE, tag.argument, {"text": tag.body}, problem)
