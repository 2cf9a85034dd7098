"""The repositories of erasures, and of exports and imports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from arvis.domain.conversations import Compaction, Conversation
from arvis.domain.dataclass import dataclass
from arvis.domain.erasures import Channel, Erasure, ItemKind, Subject
from arvis.domain.knowledge import Document
from arvis.domain.memory import Fact, State
from arvis.domain.messages import Address, Principal, StoredMessage
from arvis.domain.platforms import OverheardMessage


class Erasures(Protocol):
    """The repository of erasures and of the rows that they delete. Each method that deletes rows may be called again
    after a crash."""

    def begin(self, erasure: Erasure, subject: Subject) -> None: ...

    def get(self, erasure_id: str) -> Erasure | None: ...

    def next_open(self) -> Erasure | None:
        """Return the oldest erasure that has not ended."""
        ...

    def open_of(self, subject: Subject) -> Erasure | None:
        """Return an erasure of this subject that has not ended."""
        ...

    def before(self, erasure_id: str | None, limit: int) -> Sequence[Erasure]:
        """Return up to `limit` erasures, newest first. If `erasure_id` is not None, return only erasures that are older
        than this one."""
        ...

    def save(self, erasure: Erasure) -> None: ...

    def subject(self, erasure_id: str) -> Subject:
        """Return the subject. It is empty after the erasure has ended."""
        ...

    def items(self, erasure_id: str, kind: ItemKind, *, after: str = "", limit: int) -> Sequence[str]: ...

    def has_item(self, erasure_id: str, kind: ItemKind, item: str) -> bool: ...

    def newest_messages(self, erasure_id: str, before: str, limit: int) -> Sequence[str]:
        """Return the ids of messages that are stored for the erasure, newest first. Replies come before their
        questions."""
        ...

    def remember(self, erasure_id: str, kind: ItemKind, items: Collection[str]) -> None: ...

    def forget_items(self, erasure_id: str, *, folders: bool) -> None:
        """Delete the items of an erasure. If `folders` is False, keep the items that name folders and files, because
        other processes must still remove theirs."""
        ...

    def ended_since(self, since: int) -> Sequence[str]:
        """Return the ids of the erasures that ended at this time or later."""
        ...

    def prune_items(self, before: int) -> None:
        """Delete the items of the erasures that ended before this time."""
        ...

    def find_messages(self, erasure_id: str, subject: Subject, after: str) -> str | None:
        """Examine the next batch of messages. Store for the erasure which of them belong to the subject, with their
        conversations and executions. Return the id at which the next batch begins; None after the last batch."""
        ...

    def divide_conversations(self, erasure_id: str, subject: Subject) -> None:
        """Find the conversations in which no other person wrote, and store all their messages for the erasure."""
        ...

    def find_executions(self, erasure_id: str, subject: Subject, after: str) -> str | None:
        """Do the same as `find_messages` for executions."""
        ...

    def live_executions(self, erasure_id: str, limit: int) -> Sequence[str]: ...

    def children(self, execution_id: str) -> Sequence[str]:
        """Return the ids of the executions that work for this execution."""
        ...

    def conversation(self, conversation_id: str) -> Conversation | None: ...

    def erase_facts(self, erasure_id: str, subject: Subject, limit: int, *, authored: bool = True) -> int:
        """Delete facts about the subject and, if `authored` is True, facts that the people of the subject wrote. Return
        the number of deleted facts."""
        ...

    def erase_values(self, erasure_id: str, subject: Subject, *, authored: bool = True) -> int: ...

    def mentions(self, subject: Subject, limit: int) -> Sequence[str]:
        """Return the ids of facts whose text contains the name or the user id of a person of the subject."""
        ...

    def find_jobs(self, erasure_id: str, subject: Subject, after: str) -> tuple[str | None, Sequence[tuple[str, str]]]:
        """Examine the next batch of jobs. Return the id at which the next batch begins (None after the last batch), and
        the ids and lanes of the jobs that belong to the subject."""
        ...

    def erase_jobs(self, jobs: Sequence[tuple[str, str]]) -> int:
        """Delete these jobs, which must have ended, and lanes that have no other jobs."""
        ...

    def erase_messages(self, erasure_id: str, message_ids: Sequence[str]) -> None:
        """Delete messages with their deliveries and search words, and the summaries that include them. Store for the
        erasure the files of these messages."""
        ...

    def erase_words(self, message_ids: Sequence[str]) -> None:
        """Remove the search words of messages that were already deleted, on a database that other processes share."""
        ...

    def erase_execution(self, execution_id: str) -> None:
        """Delete an execution with all its parts, and make its receipts anonymous."""
        ...

    def empty_conversation(self, conversation_id: str) -> None:
        """Delete the data that agents and plugins have stored for a conversation in addition to its messages."""
        ...

    def erase_conversation(self, conversation: Conversation) -> None:
        """Delete a conversation that has no messages. Also delete its channel if it has no other conversation."""
        ...

    def erase_quotations(self, erasure_id: str, subject: Subject, after: str) -> tuple[str | None, int]:
        """Remove the quotations of erased messages, and the quotations of the subject's people, from the next batch of
        messages after the id `after`. Return the last id of the batch (None: there are no more messages), and the
        number of removed quotations."""
        ...

    def erase_overheard(self, subject: Subject, limit: int) -> int: ...

    def erase_events(self, erasure_id: str) -> None:
        """Delete the ids of platform events and of calls of webhooks that belong to deleted rows."""
        ...

    def find_automation(self, erasure_id: str, subject: Subject) -> None:
        """Store for the erasure which schedules and webhooks belong to the subject, and their executions."""
        ...

    def erase_automation(self, erasure_id: str, subject: Subject) -> int:
        """Delete the schedules and webhooks that are stored for the erasure, and the projects of the subject's people.
        Return the number of schedules, webhooks and projects."""
        ...

    def erase_cases(self, erasure_id: str, subject: Subject) -> int:
        """Delete the cases of evaluations that contain messages of the subject, with their results. Store for the
        erasure which executions of evaluations may have used these cases. Return the number of cases."""
        ...

    def erase_person(self, person: Principal, since: str) -> bool:
        """Delete the data about a person. Delete the person, too, unless the person can still log in, is blocked, has
        rights, or has written after the id `since`. In these cases, delete only the name of the person. Return True if
        the person was deleted."""
        ...

    def anonymise_usage(self, subject: Subject, after: str) -> str | None:
        """Remove the person from the receipts of the next batch. Return the id at which the next batch begins; None
        after the last batch."""
        ...

    def file_is_used(self, sha256: str) -> bool: ...

    def erase_blob(self, sha256: str) -> None:
        """Delete the bytes of a file from the database. On SQLite, this changes nothing, because files are stored
        outside of the database."""
        ...

    def erase_channel(self, channel: Channel) -> None:
        """Delete the counters and the status of a channel without messages."""
        ...

    def purge_facts(self, *, begin: bool) -> bool:
        """Remove the words of deleted facts from one part of their search index. Return True if other parts may still
        contain such words."""
        ...


@dataclass(frozen=True, slots=True)
class ExportScope:
    """The subject of an export: a person (`people` are the ids of all their identities), or a channel. If both are None,
    all records are exported."""

    people: Sequence[str] | None = None
    channel: Channel | None = None


class Interchange(Protocol):
    """The rows of an export or import, in batches."""

    def people(self, after: str, scope: ExportScope, limit: int) -> Sequence[Principal]: ...

    def facts(self, after: str, scope: ExportScope, limit: int) -> Sequence[Fact]: ...

    def values(self, after: str, scope: ExportScope, limit: int) -> Sequence[tuple[str, State]]:
        """Return pairs of a position, which is `after` of the next batch, and a value."""
        ...

    def overheard(self, after: str, scope: ExportScope, limit: int) -> Sequence[tuple[str, OverheardMessage]]:
        """Return pairs of an id, which is `after` of the next batch, and a message."""
        ...

    def conversations(self, after: str, scope: ExportScope, limit: int) -> Sequence[Conversation]: ...

    def in_place(self, agent_id: str, address: Address) -> Sequence[Conversation]:
        """Return the conversations of an agent in a place, including closed conversations."""
        ...

    def messages(
        self, conversation_id: str, after: str, people: Sequence[str] | None, limit: int, *, inactive: bool = False
    ) -> Sequence[StoredMessage]:
        """Return messages of these people and the replies to them; None: all messages. With `inactive`, return the
        messages of inactive versions, otherwise those of the active one."""
        ...

    def summaries(self, conversation_id: str) -> Sequence[Compaction]: ...

    def documents(self, collection_id: str, after: str, limit: int) -> Sequence[Document]:
        """Return the files and web pages of a knowledge base in the order of their ids."""
        ...

    def add_conversation(self, conversation: Conversation, *, turns: int, active: bool, last_message_at: int) -> None:
        """Add a conversation with its number of turns."""
        ...

    def add_summary(self, summary: Compaction) -> None:
        """Add a summary that replaces the messages of its turns, which must exist."""
        ...
