"""What operators do to running work: the one set of verbs behind API, command line and chat buttons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from arvis.domain.messages import Principal


@dataclass(frozen=True, slots=True)
class WaitAnswer:
    """A person's answer to a wait: `decision` is approve, reject, edit (with `arguments`), feedback or answer
    (with `text`)."""

    decision: str
    note: str | None = None
    arguments: Mapping[str, Any] | None = None
    text: str | None = None


class Operations(Protocol):
    """Each raises `NotFound` for an unknown id and `Conflict` when the state does not allow it."""

    async def retry_job(self, job_id: str) -> None: ...

    async def cancel_job(self, job_id: str) -> None: ...

    async def delete_job(self, job_id: str) -> None: ...

    async def cancel_execution(self, execution_id: str) -> None:
        """End a turn, a run or any other pass through a graph, with all that works for it."""
        ...

    async def answer_wait(self, wait_id: str, answer: WaitAnswer, by: Principal) -> None:
        """Also raises `Forbidden` when this person may not answer, `Unprocessable` for an unusable answer."""
        ...
