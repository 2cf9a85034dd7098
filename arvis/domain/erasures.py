"""Erasures: requests to delete the content of a person or of a channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Principal

#: The `kv` key of a JSON object. Under the id of each agent whose browser profiles were erased, the object contains the
#: id of the newest of these erasures. Each process compares the object with the erasures that it has carried out in its
#: data folder.
ERASED_PROFILES = "erased browser profiles"
#: The time (ms) after an erasure in which other processes remove their folders and the texts of their logs.
ERASED_FOLDERS_MS = 90 * 86_400_000


class ErasureKind(StrEnum):
    PERSON = "person"
    CHANNEL = "channel"


class Phase(StrEnum):
    """The steps of an erasure, in order. Each step may run again after a crash."""

    #: Find the messages, and then the executions, that belong to the person or channel.
    FIND_MESSAGES = "find_messages"
    FIND_EXECUTIONS = "find_executions"
    #: Cancel the work, close the conversations, and delete the memory, in one commit.
    STOP = "stop"
    MEMORY = "memory"
    JOBS = "jobs"
    MESSAGES = "messages"
    #: Remove quotations of the erased messages, and of the person, from messages of others.
    QUOTATIONS = "quotations"
    EXECUTIONS = "executions"
    CONVERSATIONS = "conversations"
    OVERHEARD = "overheard"
    PEOPLE = "people"
    RECEIPTS = "receipts"
    FILES = "files"
    INDEX = "index"
    #: Overwrite the bytes of deleted rows in the files of the database.
    PAGES = "pages"
    LOGS = "logs"
    DONE = "done"

    @property
    def following(self) -> Phase:
        phases = list(Phase)
        return phases[min(phases.index(self) + 1, len(phases) - 1)]


class ItemKind(StrEnum):
    """The kinds of items that an erasure stores until its end."""

    PERSON = "person"
    CHANNEL = "channel"
    MESSAGE = "message"
    #: A conversation that is deleted, because no other person wrote in it.
    CONVERSATION = "conversation"
    #: A conversation in which other people wrote, too.
    SHARED = "shared"
    EXECUTION = "execution"
    SCHEDULE = "schedule"
    WEBHOOK = "webhook"
    #: The hash of a file.
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel with all its threads."""

    platform: str
    connector: str
    channel: str


@dataclass(frozen=True, slots=True)
class Subject:
    """The people or the channel whose content is erased. One of the fields is empty."""

    people: Sequence[Principal] = ()
    channel: Channel | None = None

    @property
    def kind(self) -> ErasureKind:
        return ErasureKind.PERSON if self.channel is None else ErasureKind.CHANNEL


@dataclass(frozen=True, slots=True)
class Erasure:
    """The state of an erasure. Times in ms. `position` is the last id that the present step has handled. `mentions` are
    the ids of facts that other people wrote and that contain the person's name."""

    id: str
    kind: ErasureKind
    phase: Phase
    position: str
    counts: Mapping[str, int]
    mentions: Sequence[str]
    by_id: str | None
    created_at: int
    ended_at: int | None = None
