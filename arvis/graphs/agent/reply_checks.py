"""Checks of a reply without tool calls. A reply that was cut at its limit of tokens is continued, and a reply that does
not have the requested format is corrected once.

In both cases the model is called again. The text of a cut reply is stored in the state, and its parts are joined before
the reply is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.reply_format import ReplyFormat, json_text
from arvis.domain.runs import END, LENGTH, RunResult
from arvis.engine.graph import Decision, Fail, Goto, NodeContext
from arvis.engine.state import changes
from arvis.tasks.state import AgentState

_GO_ON = (
    "[Your reply reached the limit of its length. It is kept. Continue exactly where it ends, in the middle of a word if "
    "necessary. Do not repeat anything and write no introduction.]"
)


def format_of(state: AgentState) -> ReplyFormat | None:
    """Return the format that the task or the client of the API requires for the reply of this work."""
    wanted = state.run.format if state.run is not None and state.run.format else state.wishes.get("format")
    return None if wanted is None else ReplyFormat.from_json(wanted)


@dataclass(frozen=True, slots=True)
class ReplyChecks:
    """The checks of one reply."""

    context: NodeContext
    state: AgentState
    #: The maximum number of times that a cut reply is continued.
    continuations: int

    def check(self, result: RunResult, read: list[str]) -> RunResult | Decision:
        """Return the whole reply if it can be used. Otherwise, return the decision to call the model again or to
        fail."""
        state = self.state
        joined = replace(result, content=state.reply_so_far + result.content) if state.reply_so_far else result
        wanted = format_of(state)
        problem = None if wanted is None else wanted.problem(joined.content)
        if wanted is not None and problem is None:
            # The JSON is complete, so the reply is not cut. A note about a cut would make it invalid.
            return replace(joined, content=json_text(joined.content), stop_reason=END, truncated=False)
        if self._is_to_be_continued(result):
            more = changes(AgentState, reply_so_far=joined.content, continued=state.continued + 1)
            return self._call_again(result.content, _GO_ON, more, read)
        if wanted is None or problem is None:
            return joined
        if not state.corrected and not joined.cut:
            more = changes(AgentState, reply_so_far="", corrected=True)
            return self._call_again(result.content, wanted.repair(problem), more, read)
        return Fail(f"The model's answer does not have the requested format: {problem}")

    def _is_to_be_continued(self, result: RunResult) -> bool:
        limited = result.stop_reason == LENGTH and not result.truncated
        # A client that sets its own limit wants the reply to end there.
        own = "max_tokens" in self.state.wishes
        return limited and not own and bool(result.content.strip()) and self.state.continued < self.continuations

    def _call_again(self, text: str, follow_up: str, more: Mapping[str, Any], read: list[str]) -> Decision:
        added = self.state.rounds.add_text(text or "[no text]", follow_up) | changes(AgentState, read=read)
        return Goto("prepare", **added, **more)
