"""What the configuration says about taking messages on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from arvis.agents.allowances import Allowed
from arvis.agents.answers import APPROVERS, Approvers
from arvis.agents.streamed import Shown, nothing_shown
from arvis.domain.plugins import PluginCommand

#: Observed text is cut here, in characters: nobody asked for it.
LONGEST_OBSERVED = 2_000


def _none(_names: Sequence[str]) -> Sequence[PluginCommand]:
    """Where there are no plugins."""
    return ()


@dataclass(frozen=True, slots=True)
class InboxRules:
    """`zone` is the daemon's. A message that was written more than `answer_within` ms ago is not answered any more.
    `approvers` may allow what a tool wants to do. `commands` gives those of the plugins of these names, for `/help`. `allowed` is what
    each person may send; `shown` tells what people have seen of an answer that is being written."""

    zone: str = "UTC"
    answer_within: int = 3_600_000
    approvers: Approvers = tuple(APPROVERS["owners"])
    allowed: Allowed = field(default_factory=Allowed)
    commands: Callable[[Sequence[str]], Sequence[PluginCommand]] = _none
    shown: Shown = nothing_shown
