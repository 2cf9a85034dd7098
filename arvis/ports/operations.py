"""The operations of people on jobs, executions and questions, which the API, the command line and chats share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Wait
from arvis.domain.messages import Principal

#: The name in the timeline if the person who ended the work is unknown.
OPERATOR = "an operator"


@dataclass(frozen=True, slots=True)
class WaitAnswer:
    """A person's answer to a wait."""

    #: `approve`, `accept`, `reject`, `edit` (with `arguments`), `feedback` or `answer` (both with `text`). For a question of
    #: a tool server also `cancel`, and `accept` with the values as `arguments`.
    decision: str
    note: str | None = None
    arguments: Mapping[str, Any] | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class WaitRights:
    """The rights to answer a question."""

    #: The roles and the names of the people who may answer.
    asked_of: Sequence[str]
    #: True if the current viewer may answer.
    may_answer: bool


class Operations(Protocol):
    """The operations. Each method raises `NotFound` for an unknown id, and `Conflict` if the current state does not
    allow the operation."""

    async def retry_job(self, job_id: str) -> None: ...

    async def ask_anew(self, job_id: str, content: str, by: Principal) -> str:
        """Run a failed or cancelled turn again with a different text, and return the id of its new job. Also raises
        `Forbidden` if the author of the original text has more rights than `by`."""
        ...

    async def cancel_job(self, job_id: str, *, by: str = OPERATOR) -> None:
        """Cancel a job. `by` is the name of the person for the timeline."""
        ...

    async def delete_job(self, job_id: str) -> None: ...

    async def cancel_execution(self, execution_id: str, *, by: str = OPERATOR) -> None:
        """Cancel the whole work of which this execution is a part, such as a turn or a run. `by` is the name of the
        person for the timeline."""
        ...

    async def wait_rights(self, waits: Sequence[Wait], by: Principal) -> Sequence[WaitRights]:
        """Return the rights for each of these questions, in the same order; `by` is the current viewer."""
        ...

    async def close_conversation(self, conversation_id: str, by: Principal) -> None:
        """Close a conversation, so that the next message in its channel begins a new one."""
        ...

    async def answer_wait(self, wait_id: str, answer: WaitAnswer, by: Principal) -> None:
        """Answer a question. Also raises `Forbidden` if the person `by` may not answer, and `Unprocessable` if the
        answer does not fit the question."""
        ...
