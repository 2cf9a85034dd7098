"""Repositories of summaries, versions of conversations, calibrations of token estimates, handover threads, texts that
plugins add to messages, and reactions.

Handover threads and the texts of plugins need no locks. Only the running turn of a conversation writes them, the turns
of one conversation run one at a time, and a turn that has lost its lease cannot commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from arvis.domain.conversations import Compaction, ConversationVersion
from arvis.domain.dataclass import dataclass
from arvis.domain.messages import PastMessage, StoredMessage
from arvis.domain.reactions import Feedback, Rating
from arvis.ports.pages import Page


class HandoverThreads(Protocol):
    """Small JSON objects of a conversation, each stored under a name. An example is the thread of a helper agent."""

    def get(self, conversation_id: str, name: str) -> Mapping[str, Any] | None: ...

    def put(self, conversation_id: str, name: str, data: Mapping[str, Any], now: int) -> None: ...

    def names(self, conversation_id: str) -> list[str]: ...

    def drop_all(self, conversation_id: str) -> None: ...


class PluginAdditions(Protocol):
    """The texts that plugins added to messages, as JSON. They are stored because later prompts contain them too."""

    def put(self, message_id: str, conversation_id: str, data: Mapping[str, Any]) -> None: ...

    def of(self, conversation_id: str, limit: int) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return (message id, additions) for the newest `limit` messages with additions, newest first."""
        ...

    def drop(self, message_id: str) -> None: ...

    def drop_all(self, conversation_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Size:
    """The number and the tokens of a conversation's messages that belong to ended turns and are not replaced by a
    summary."""

    messages: int
    tokens: int


class Compactions(Protocol):
    def size(self, conversation_id: str) -> Size:
        """Return the size of a conversation. The query counts the messages each time, because a stored sum could become
        wrong."""
        ...

    def oldest(self, conversation_id: str, limit: int) -> list[PastMessage]:
        """Return the oldest `limit` messages that belong to ended turns and are not replaced by a summary, oldest
        first."""
        ...

    def add(self, compaction: Compaction, message_ids: Sequence[str]) -> bool:
        """Store a summary, so that it replaces the messages `message_ids` in prompts. `message_ids` must be all
        messages of the summary's turns, except messages that another summary replaces. Otherwise return False and
        change nothing."""
        ...

    def get(self, compaction_id: str) -> Compaction | None: ...

    def summaries(self, conversation_id: str, limit: int) -> Sequence[Compaction]:
        """Return the newest `limit` summaries that are not restored, oldest first."""
        ...

    def restore(self, compaction_id: str, now: int) -> int | None:
        """Mark an active summary as restored, so that prompts contain its messages again. Return the number of these
        messages, or None if the summary is not active."""
        ...

    def postpone(self, conversation_id: str, turns: int, *, planned_only: bool = False) -> None:
        """Postpone the compaction of this conversation until `turns` more turns have ended. With `planned_only`, a
        prompt that has no space left still causes a compaction."""
        ...

    def is_postponed(self, conversation_id: str, *, planned: bool) -> bool:
        """Return whether compaction is postponed. `planned` is True for a compaction that is due although prompts still
        have space, and False for a compaction that a prompt without space needs now."""
        ...

    def forget(self, before: int, limit: int, now: int) -> int:
        """Mark active summaries as final if they were created before the time `before`, at most `limit` summaries.
        Delete the texts of the messages that they replace. Return the number of these summaries."""
        ...


class ConversationVersions(Protocol):
    """The versions of conversations, and the messages of inactive versions. The caller must have locked the lane of the
    conversation."""

    def add(self, version: ConversationVersion) -> None: ...

    def get(self, version_id: str) -> ConversationVersion | None: ...

    def beginning_with(self, message_id: str) -> ConversationVersion | None:
        """Return the version that begins with this message."""
        ...

    def active_of(self, point_id: str) -> ConversationVersion | None:
        """Return the active version of a point."""
        ...

    def of(self, conversation_id: str, limit: int) -> Sequence[ConversationVersion]:
        """Return the first `limit` versions of a conversation, in the order of their creation."""
        ...

    def messages_from(self, conversation_id: str, turn: int, limit: int) -> Sequence[StoredMessage]:
        """Return the first `limit` messages of the active turns from `turn` on, in order, with their rounds."""
        ...

    def summaries_from(self, conversation_id: str, turn: int) -> Sequence[Compaction]:
        """Return the summaries that are not restored and contain turns from `turn` on."""
        ...

    def deactivate(self, version: ConversationVersion, now: int) -> int:
        """Move the active turns from the version's point on to this version. Return the number of their messages. No
        summary may contain these turns."""
        ...

    def activate(self, version: ConversationVersion) -> int:
        """Move the messages of an inactive version back to the conversation. Return their number."""
        ...

    def outlived(self, before: int, limit: int) -> Sequence[ConversationVersion]:
        """Return the first `limit` versions that became inactive before this time."""
        ...

    def forget(self, version: ConversationVersion) -> None:
        """Delete the texts of an inactive version, the version, and the points within it. Also delete each
        point that then has only one version; the messages of this version remain."""
        ...


@dataclass(frozen=True, slots=True)
class Calibration:
    """The measured values for estimating the tokens of a model."""

    #: `provider/model`.
    model: str
    #: The numbers that `arvis.llm.tokens` has learned. The first numbers are the tokens per letter, per word, and so
    #: on; the other numbers are needed to continue learning.
    weights: tuple[float, ...]
    #: The number of calls from which the values were learned.
    samples: int
    #: The model's context window in tokens, if the vendor reported it.
    most: int | None = None


class Calibrations(Protocol):
    def all(self) -> Sequence[Calibration]: ...

    def get(self, model: str) -> Calibration | None: ...

    def put(self, calibration: Calibration, now: int) -> None: ...


class Reactions(Protocol):
    """Reactions to messages of bots, and feedback on answers."""

    def add(self, message: StoredMessage, principal_id: str, emoji: str, text: str, now: int) -> None:
        """Store a reaction, unless it is already stored. `text` is the line for the next prompt of the conversation.
        Of the reactions that no prompt has reported yet, only the newest are stored."""
        ...

    def remove(self, message_id: str, principal_id: str, emoji: str) -> None: ...

    def mark_reported(self, conversation_id: str, execution_id: str, upto: str) -> None:
        """Store that the prompt of this turn reported the reactions up to the id `upto`."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` reactions from before this time; return their number."""
        ...

    def rate(self, message_id: str, principal_id: str, rating: Rating, now: int) -> None:
        """Store a person's rating of an answer; it replaces an earlier rating of this person."""
        ...

    def unrate(self, message_id: str, principal_id: str, rating: Rating | None = None) -> bool:
        """Remove a person's rating of an answer. If `rating` is given, keep any other rating. Return False if no rating
        was removed."""
        ...

    def feedback(self, message_id: str) -> Sequence[Feedback]: ...


class CompactionInsights(Protocol):
    async def compaction(self, compaction_id: str) -> Compaction | None: ...

    async def compactions(self, conversation_id: str, *, limit: int, cursor: str | None) -> Page[Compaction]:
        """Return the summaries of one conversation with any status, newest first."""
        ...

    async def compacted_messages(self, compaction_id: str) -> Sequence[PastMessage]:
        """Return the messages that a summary replaces, in order."""
        ...
