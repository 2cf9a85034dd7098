"""What the configuration says about taking messages on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from arvis.agents.answers import APPROVERS
from arvis.domain.messages import PrincipalRole

#: Observed text is cut here, in characters: nobody asked for it.
LONGEST_OBSERVED = 2_000


@dataclass(frozen=True, slots=True)
class InboxRules:
    """`zone` is the daemon's. A message that was written more than `answer_within` ms ago is not answered any more.
    `approvers` may allow what a tool wants to do."""

    zone: str = "UTC"
    answer_within: int = 3_600_000
    approvers: Collection[PrincipalRole] = tuple(APPROVERS["owners"])
