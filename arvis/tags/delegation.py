"""`[DELEGATE:slug] task [/DELEGATE]`, with `[DELEGATE:slug report]` for who wants to be told of the answer."""

from __future__ import annotations

from arvis.domain.effects import EffectKind, Proposal
from arvis.domain.markup import Tag


def read_delegation(tag: Tag, ordinal: int) -> Proposal:
    slug, _, wish = tag.argument.partition(" ")
    fields = {"text": tag.body, "report": bool(wish)}
    problem = tag.problem or (None if tag.body else "no task stands in it")
    return Proposal(ordinal, EffectKind.DELEGATE, slug.lower(), fields, problem)
