"""Operations on running work: the same verbs for the API, the command line and chat buttons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arvis.domain.executions import Wait
from arvis.domain.messages import Principal

#: The name for an actor who ends work if no person is known.
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
    """The people who may answer a question (`asked_of`: roles, and people by name), and whether the current viewer
    may."""

    asked_of: Sequence[str]
    may_answer: bool


class Operations(Protocol):
    """Each method raises `NotFound` for an unknown id and `Conflict` if the state does not allow it."""

    async def retry_job(self, job_id: str) -> None: ...

    async def ask_anew(self, job_id: str, content: str, by: Principal) -> str:
        """Run a failed or cancelled turn again with other text; return the id of its new job. Also raises `Forbidden`
        if the author has more rights."""
        ...

    async def cancel_job(self, job_id: str, *, by: str = OPERATOR) -> None:
        """End a job; `by` is the name of the person, for the timeline."""
        ...

    async def delete_job(self, job_id: str) -> None: ...

    async def cancel_execution(self, execution_id: str, *, by: str = OPERATOR) -> None:
        """End a turn, a run or any other execution, with all executions that it started; `by` is the name of the
        person."""
        ...

    async def wait_rights(self, waits: Sequence[Wait], by: Principal) -> Sequence[WaitRights]:
        """Return the people who may answer each of these questions."""
        ...

    async def close_conversation(self, conversation_id: str, by: Principal) -> None:
        """Close a conversation: the next message in its channel begins a new one."""
        ...

    async def answer_wait(self, wait_id: str, answer: WaitAnswer, by: Principal) -> None:
        """Answer a question. Also raises `Forbidden` if this person may not answer, `Unprocessable` for an unusable
        answer."""
        ...
