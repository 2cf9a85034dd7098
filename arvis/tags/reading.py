"""A model's final text, read once: what people see, what it asks for, what it says about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arvis.domain.effects import EffectKind, Proposal
from arvis.domain.markup import Tag, scan
from arvis.domain.markup_grammar import DELEGATE, MEMORY, STATE
from arvis.tags.conductor import CONDUCTOR_TAGS, read_conductor
from arvis.tags.delegation import read_delegation
from arvis.tags.handover import DESTINATION, handover_of
from arvis.tags.memory import read_memory, read_state
from arvis.tags.metadata import attributes_of
from arvis.tags.wrappers import Wrapper, wrapper_of

#: The order in which proposals are carried out (behaviour 1.9), so that a cron may name an agent of the same reply; the
#: other agents' tags stand behind these two, everything else as in `_LATER`.
_FIRST = (EffectKind.CREATE_AGENT, EffectKind.UPDATE_AGENT)
_LATER = ("CLIENT", "CRON", "HEARTBEAT", "DELEGATE", "REMEMBER", "STATE")


@dataclass(frozen=True, slots=True)
class Reply:
    """`visible` is for people: the text without tags, or what a wrapper shows instead (behaviour 2.2)."""

    visible: str
    proposals: tuple[Proposal, ...] = ()
    wrapper: Wrapper | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


def read(text: str) -> Reply:
    """Of a whole reply, never of anything else: what tools, people or history say is no command."""
    scanned = scan(text)
    attributes, prose = attributes_of(scanned.tags), scanned.visible
    if (handed := handover_of(scanned.tags)) is not None:
        attributes = {**attributes, DESTINATION: handed.to}
        prose = "\n\n".join(filter(None, [prose, handed.text]))
    wrapper = wrapper_of(scanned.tags, prose)
    return Reply(
        visible=wrapper.visible if wrapper else prose,
        proposals=_proposals(scanned.tags),
        wrapper=wrapper,
        attributes=attributes,
    )


def _proposals(tags: Sequence[Tag]) -> tuple[Proposal, ...]:
    found: list[Proposal] = []
    for tag in tags:
        proposal = _proposal(tag, len(found) + 1)
        if proposal is not None:
            found.append(proposal)
    return tuple(sorted(found, key=lambda proposal: _rank(proposal.kind)))


def _proposal(tag: Tag, ordinal: int) -> Proposal | None:
    match tag.name:
        case name if name == MEMORY:
            return read_memory(tag, ordinal)
        case name if name == STATE:
            return read_state(tag, ordinal)
        case name if name == DELEGATE:
            return read_delegation(tag, ordinal)
        case name if name in CONDUCTOR_TAGS:
            return read_conductor(tag, ordinal)
        case _:
            return None


def _rank(kind: EffectKind) -> int:
    if kind in _FIRST:
        return _FIRST.index(kind)
    word = kind.name.rpartition("_")[2].removesuffix("S")
    return len(_FIRST) + 1 + _LATER.index(word) if word in _LATER else len(_FIRST)
