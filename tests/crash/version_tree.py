"""The versions of one conversation as its user knows them, and the rules that judge a conversation by them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from tests.crash.history import tokens_in

#: The messages of all conversations with their order: `turn` if they are active, else `version_turn`. Questions are left out.
MESSAGES: LiteralString = """
    SELECT id, conversation_id, role, content, version_id, coalesce(turn, version_turn) AS place, turn, answered_by
    FROM messages WHERE role IN ('user', 'assistant') AND wait_id IS NULL ORDER BY coalesce(turn, version_turn), position"""
VERSIONS: LiteralString = "SELECT id, conversation_id, point_id, message_id, active FROM conversation_versions"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message of a person with its reply."""

    message_id: str
    token: str
    reply: str


@dataclass(slots=True)
class Tree:
    """The active exchanges of a conversation, and the inactive ones by their version."""

    path: list[Exchange] = field(default_factory=list)
    inactive: dict[str, list[Exchange]] = field(default_factory=dict)
    #: Version -> its point and its first message.
    versions: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def prefix(self) -> list[tuple[str, str]]:
        return [(each.token, each.reply) for each in self.path]

    def place_of(self, message_id: str) -> int | None:
        """Return the place of a message in the active exchanges."""
        return next((at for at, each in enumerate(self.path) if each.message_id == message_id), None)

    def switchable(self) -> list[str]:
        """Return the inactive versions whose point is in the active exchanges."""
        points = {point for point, message in self.versions.values() if self.place_of(message) is not None}
        return [each for each in self.inactive if self.versions[each][0] in points]

    def rewind(self, at: int, new: Row, shown: Sequence[Row]) -> None:
        """Make the exchanges from this place on inactive. `new` is the version that began, `shown` are all versions."""
        first = self.path[at].message_id
        for each in shown:
            self.versions[each["id"]] = (each["pointId"], each["messageId"])
        old = next(version for version, (_, message) in self.versions.items() if message == first)
        self.inactive[old] = self.path[at:]
        del self.path[at:]
        assert self.versions[new["id"]][0] == self.versions[old][0]

    def switch(self, chosen: str) -> None:
        point = self.versions[chosen][0]
        active = next(each for each in self.versions if self._is_active(each, point))
        at = self.place_of(self.versions[active][1])
        assert at is not None
        self.inactive[active] = self.path[at:]
        self.path[at:] = self.inactive.pop(chosen)

    def _is_active(self, version: str, point: str) -> bool:
        return self.versions[version][0] == point and self.place_of(self.versions[version][1]) is not None

    def active_of(self, point: str) -> str | None:
        """Return the active version of a point, if the point is a part of the active exchanges."""
        return next((each for each in self.versions if self._is_active(each, point)), None)


def offences(tree: Tree, messages: Sequence[Row], versions: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield each broken rule with its details, for the rows of a conversation with these versions."""
    expected: dict[str, tuple[Exchange, str | None]] = {each.message_id: (each, None) for each in tree.path}
    expected |= {each.message_id: (each, version) for version, them in tree.inactive.items() for each in them}
    asked = {row["id"]: row for row in messages if row["role"] == "user"}
    replies = {row["id"]: row for row in messages if row["role"] == "assistant"}
    for lost in expected.keys() - asked.keys():
        yield "no exchange is lost", f"{expected[lost]}"
    for extra in asked.keys() - expected.keys():
        yield "no message is asked twice", f"{dict(asked[extra])}"
    for message_id in asked.keys() & expected.keys():
        row, (exchange, version) = asked[message_id], expected[message_id]
        reply = replies.pop(row["answered_by"], None)
        if row["version_id"] != version:
            yield "a message is in its version", f"{exchange} is in {row['version_id']}, not in {version}"
        if (row["turn"] is None) != (version is not None):
            yield "only active messages have a turn", f"{dict(row)}"
        if reply is None or reply["content"] != exchange.reply or tokens_in(reply["content"]) != (exchange.token,):
            yield "a reply belongs to its message", f"{exchange} has the reply {reply and dict(reply)}"
        elif (reply["version_id"], reply["place"]) != (row["version_id"], row["place"]):
            yield "a reply is in the version of its message", f"{dict(row)} has the reply {dict(reply)}"
    for left in replies.values():
        yield "a message has one reply", f"{dict(left)}"
    order = [row["id"] for row in messages if row["role"] == "user" and row["version_id"] is None]
    if order != [each.message_id for each in tree.path]:
        yield "active messages are in order", f"{order} instead of {tree.path}"
    yield from _offences_of_versions(tree, versions)


def _offences_of_versions(tree: Tree, versions: Sequence[Row]) -> Iterator[tuple[str, str]]:
    known = {row["id"]: (row["point_id"], row["message_id"]) for row in versions}
    if known != tree.versions:
        yield "each rewind makes one version", f"{known} instead of {tree.versions}"
    active = Counter(row["point_id"] for row in versions if row["active"])
    for point in {row["point_id"] for row in versions}:
        if active[point] != 1:
            yield "one version of a point is active", f"{active[point]} of the point {point}"
    for row in versions:
        shown = tree.active_of(row["point_id"])
        if row["active"] and shown is not None and shown != row["id"]:
            yield "the chosen version is active", f"{row['id']} instead of {shown}"


def rows_of(data: Path, database: str | None) -> tuple[list[Row], list[Row]]:
    """Return the messages and versions of all conversations of the stopped daemon."""
    if database is None:
        with closing(sqlite3.connect(f"file:{data / 'arvis.db'}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return [*map(dict, connection.execute(MESSAGES))], [*map(dict, connection.execute(VERSIONS))]
    with psycopg.connect(database, row_factory=dict_row) as server:
        return [*server.execute(MESSAGES)], [*server.execute(VERSIONS)]
