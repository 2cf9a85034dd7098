"""What operators do to running work: the one set of verbs behind API, command line and chat buttons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arvis.domain.executions import Wait
from arvis.domain.messages import Principal

#: The name of somebody who ends work, where no person is known.
OPERATOR = "an operator"


@dataclass(frozen=True, slots=True)
class WaitAnswer:
    """A person's answer to a wait: `decision` is approve, reject, edit (with `arguments`), feedback or answer
    (with `text`)."""

    decision: str
    note: str | None = None
    arguments: Mapping[str, Any] | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class WaitRights:
    """Who may answer a question (`asked_of`: roles, and people by name), and whether the one who looks may."""

    asked_of: Sequence[str]
    may_answer: bool


class Operations(Protocol):
    """Each raises `NotFound` for an unknown id and `Conflict` when the state does not allow it."""

    async def retry_job(self, job_id: str) -> None: ...

    async def ask_anew(self, job_id: str, content: str, by: Principal) -> str:
        """Run a failed or cancelled turn again with other words; the id of its new job. Also raises `Forbidden` where the
        author has more rights."""
        ...

    async def cancel_job(self, job_id: str, *, by: str = OPERATOR) -> None:
        """End a job; `by` is the name of the person, for the timeline."""
        ...

    async def delete_job(self, job_id: str) -> None: ...

    async def cancel_execution(self, execution_id: str, *, by: str = OPERATOR) -> None:
        """End a turn, a run or any other pass through a graph, with all that works for it; `by` is the name of the person."""
        ...

    async def wait_rights(self, waits: Sequence[Wait], by: Principal) -> Sequence[WaitRights]:
        """Who may answer each of these."""
        ...

    async def close_conversation(self, conversation_id: str, by: Principal) -> None:
        """The next message in its place begins a new one."""
        ...

    async def answer_wait(self, wait_id: str, answer: WaitAnswer, by: Principal) -> None:
        """Also raises `Forbidden` when this person may not answer, `Unprocessable` for an unusable answer."""
        ...
