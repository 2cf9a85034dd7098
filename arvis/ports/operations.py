"""The operations of people on jobs, executions and questions, which the API, the command line and chats share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from arvis.domain.conversations import Conversation, ConversationVersion, EarlierEffects
from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Wait
from arvis.domain.messages import Address, Principal, Sender

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


@dataclass(frozen=True, slots=True)
class RewoundConversation:
    """A conversation whose active version has changed."""

    conversation: Conversation
    #: The version that is active now.
    version: ConversationVersion
    #: The effects of the turns that became inactive.
    effects: EarlierEffects


class Operations(Protocol):
    """The operations. Each method raises `NotFound` for an unknown id, and `Conflict` if the current state does not
    allow the operation."""

    async def retry_job(self, job_id: str) -> None: ...

    async def ask_anew(self, job_id: str, content: str, by: Principal) -> str:
        """Run a failed or cancelled turn again with a different text, and return the id of its new job. Also raise
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

    async def switch_memory(self, conversation_id: str, *, on: bool) -> None:
        """Turn memory on or off in the channel of a conversation."""
        ...

    async def earlier_effects(self, message_id: str, by: Principal) -> EarlierEffects:
        """Return the effects of a message's turn and of all later turns, which a rewind to the message does not
        undo."""
        ...

    async def answer_again(
        self, message_id: str, by: Principal, sender: Sender, *, content: str | None = None
    ) -> RewoundConversation:
        """Answer the turn of a message again in a new version of the conversation; `content` replaces the message's
        text. `sender` contains the limits of the login or key of `by`. Also raise `Forbidden` if `by` is a member and
        other people have written later messages, or if the author of a replaced text has more rights."""
        ...

    async def switch_version(self, conversation_id: str, version_id: str, by: Principal) -> RewoundConversation:
        """Make an inactive version of a conversation active. Also raise `Forbidden` if `by` is a member and other
        people have written in the versions."""
        ...

    async def branch_conversation(self, message_id: str, place: Address, by: Principal) -> Conversation:
        """Begin a conversation at `place` with copies of the messages up to and including the turn of this message.
        Also raise `Forbidden` if `by` is a member and other people have written these messages."""
        ...

    async def answer_wait(self, wait_id: str, answer: WaitAnswer, by: Principal) -> None:
        """Answer a question. Also raise `Forbidden` if the person `by` may not answer, and `Unprocessable` if the
        answer does not fit the question."""
        ...
