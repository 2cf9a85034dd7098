"""Erasures over SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence

from arvis.domain.conversations import Conversation
from arvis.domain.dataclass import replace
from arvis.domain.embeddings import SubjectKind
from arvis.domain.erasures import Channel, Erasure, ErasureKind, ItemKind, Phase, Subject
from arvis.domain.memory import principal_scope
from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.quotations import is_forward, quotations_of, quotations_text
from arvis.domain.regex import regex
from arvis.store.repositories.conversations import conversation_of
from arvis.store.repositories.executions import EXECUTION_PARTS
from arvis.store.repositories.message_index import SqlMessageIndex
from arvis.store.repositories.people import SqlPrincipals
from arvis.store.sql.session import LAST, Row, Session, dump

#: The numbers of rows that one transaction examines.
_MESSAGES = 1_000
_EXECUTIONS = 200
_JOBS = 500
_USAGE = 2_000
#: The maximum number of items of one kind that are read for an erasure.
_MOST = 100_000
_HASH = regex(r"\b[0-9a-f]{64}\b")
_SHORTEST_NAME = 3
ERASED_SUMMARY = "(This summary was erased, because it included messages of a person whose data was erased.)"
_SUMMARY_TOKENS = 20
_MERGED_PAGES = 200
_NOTHING = 2


class SqlErasures:
    """Implements the port `Erasures` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def begin(self, erasure: Erasure, subject: Subject) -> None:
        self._session.execute(
            "add_erasure",
            id=erasure.id,
            kind=erasure.kind,
            phase=erasure.phase,
            position=erasure.position,
            counts=dump(dict(erasure.counts)),
            mentions=dump(list(erasure.mentions)),
            by_id=erasure.by_id,
            created_at=erasure.created_at,
        )
        self.remember(erasure.id, *_kept(subject))

    def get(self, erasure_id: str) -> Erasure | None:
        row = self._session.one("get_erasure", id=erasure_id)
        return erasure_of(row) if row else None

    def next_open(self) -> Erasure | None:
        row = self._session.one("open_erasure")
        return erasure_of(row) if row else None

    def open_of(self, subject: Subject) -> Erasure | None:
        kind, items = _kept(subject)
        found = [self._session.one("open_erasure_of", kind=kind, item=item) for item in items]
        same = {row["id"]: row for row in found if row is not None}
        # One open erasure must contain all of these people. Otherwise the request is for a different erasure.
        return erasure_of(found[0]) if None not in found and len(same) == 1 and found[0] is not None else None

    def before(self, erasure_id: str | None, limit: int) -> Sequence[Erasure]:
        return [erasure_of(row) for row in self._session.rows("list_erasures", before=erasure_id or LAST, limit=limit)]

    def save(self, erasure: Erasure) -> None:
        self._session.execute(
            "save_erasure",
            id=erasure.id,
            phase=erasure.phase,
            position=erasure.position,
            counts=dump(dict(erasure.counts)),
            mentions=dump(list(erasure.mentions)),
            ended_at=erasure.ended_at,
        )

    def subject(self, erasure_id: str) -> Subject:
        kept = [_person(item) for item in self.items(erasure_id, ItemKind.PERSON, limit=_MOST)]
        principals = SqlPrincipals(self._session)
        found = [(person, principals.get(person.id)) for person in kept]
        # Each identity is erased by its own id, even if it is linked to another identity.
        people = [person if known is None else replace(known, id=person.id) for person, known in found]
        channels = [Channel(*json.loads(item)) for item in self.items(erasure_id, ItemKind.CHANNEL, limit=1)]
        return Subject(people, channels[0] if channels else None)

    def items(self, erasure_id: str, kind: ItemKind, *, after: str = "", limit: int) -> Sequence[str]:
        rows = self._session.rows("erasure_items", erasure_id=erasure_id, kind=kind, after=after, limit=limit)
        return [row["item"] for row in rows]

    def has_item(self, erasure_id: str, kind: ItemKind, item: str) -> bool:
        return self._session.one("has_erasure_item", erasure_id=erasure_id, kind=kind, item=item) is not None

    def newest_messages(self, erasure_id: str, before: str, limit: int) -> Sequence[str]:
        rows = self._session.rows(
            "newest_erasure_items", erasure_id=erasure_id, kind=ItemKind.MESSAGE, before=before or LAST, limit=limit
        )
        return [row["item"] for row in rows]

    def remember(self, erasure_id: str, kind: ItemKind, items: Collection[str]) -> None:
        if items:
            rows = [{"erasure_id": erasure_id, "kind": kind, "item": item} for item in items]
            self._session.execute_many("add_erasure_item", rows)

    def forget_items(self, erasure_id: str, *, folders: bool) -> None:
        self._session.execute("drop_erasure_items" if folders else "drop_other_erasure_items", erasure_id=erasure_id)

    def ended_since(self, since: int) -> Sequence[str]:
        return [row["id"] for row in self._session.rows("ended_erasures", since=since)]

    def prune_items(self, before: int) -> None:
        self._session.execute("prune_erasure_items", before=before)

    # -- finding ---------------------------------------------------------------------------------------------

    def find_messages(self, erasure_id: str, subject: Subject, after: str) -> str | None:
        upto = self._end("end_of_messages", after, _MESSAGES)
        if upto is None:
            return None
        if subject.channel is None:
            rows = self._session.rows("messages_of_person", after=after, upto=upto, people=_ids(subject))
        else:
            rows = self._session.rows("messages_of_channel", after=after, upto=upto, **channel_fields(subject.channel))
        self.remember(erasure_id, ItemKind.MESSAGE, {row["id"] for row in rows})
        self.remember(erasure_id, ItemKind.SHARED, {row["conversation_id"] for row in rows} - {None})
        self.remember(erasure_id, ItemKind.EXECUTION, {row["execution_id"] for row in rows} - {None})
        return upto

    def divide_conversations(self, erasure_id: str, subject: Subject) -> None:
        for conversation_id in self.items(erasure_id, ItemKind.SHARED, limit=_MOST):
            another = {"conversation_id": conversation_id, "people": _ids(subject)}
            if subject.channel is None and self._session.one("another_person_in", **another) is not None:
                continue
            self.remember(erasure_id, ItemKind.CONVERSATION, [conversation_id])
            after = ""
            while rows := self._session.rows(
                "messages_in_conversation", conversation_id=conversation_id, after=after, limit=_MESSAGES
            ):
                self.remember(erasure_id, ItemKind.MESSAGE, {row["id"] for row in rows})
                self.remember(erasure_id, ItemKind.EXECUTION, {row["execution_id"] for row in rows} - {None})
                after = rows[-1]["id"]

    def find_executions(self, erasure_id: str, subject: Subject, after: str) -> str | None:
        upto = self._end("end_of_executions", after, _EXECUTIONS)
        if upto is None:
            return None
        rows = self._session.rows(
            "executions_to_erase", erasure_id=erasure_id, people=_ids(subject), after=after, upto=upto
        )
        self.remember(erasure_id, ItemKind.EXECUTION, {row["id"] for row in rows})
        return upto

    def find_automation(self, erasure_id: str, subject: Subject) -> None:
        for kind in _AUTOMATION:
            rows = self._session.rows(f"{kind}s_to_erase", erasure_id=erasure_id, **_owner(subject))
            self.remember(erasure_id, kind, {row["id"] for row in rows})
            for row in rows:
                begun = self._session.rows(f"executions_of_{kind}", id=row["id"])
                self.remember(erasure_id, ItemKind.EXECUTION, {each["id"] for each in begun})

    def live_executions(self, erasure_id: str, limit: int) -> Sequence[str]:
        rows = self._session.rows("live_executions_to_erase", erasure_id=erasure_id, limit=limit)
        return [row["id"] for row in rows]

    def children(self, execution_id: str) -> Sequence[str]:
        return [row["id"] for row in self._session.rows("children_to_erase", execution_id=execution_id)]

    def conversation(self, conversation_id: str) -> Conversation | None:
        row = self._session.one("conversation_to_erase", conversation_id=conversation_id)
        return conversation_of(row) if row else None

    def find_jobs(self, erasure_id: str, subject: Subject, after: str) -> tuple[str | None, Sequence[tuple[str, str]]]:
        upto = self._end("end_of_jobs", after, _JOBS)
        if upto is None:
            return None, []
        rows = self._session.rows("jobs_to_erase", erasure_id=erasure_id, people=_ids(subject), after=after, upto=upto)
        return upto, [(row["id"], row["lane"]) for row in rows]

    # -- memory ----------------------------------------------------------------------------------------------

    def erase_facts(self, erasure_id: str, subject: Subject, limit: int, *, authored: bool = True) -> int:
        wanted = _scopes(self._session, subject, authored=authored)
        rows = self._session.rows("facts_to_erase", erasure_id=erasure_id, limit=limit, **wanted)
        for row in rows:
            self._session.execute("drop_fact_words", number=row["number"])
            self._session.execute("drop_vectors", kind=SubjectKind.FACT, ids=dump([row["id"]]))
            self._session.execute("erase_fact_changes", id=row["id"])
            self._session.execute("erase_fact", id=row["id"])
        return len(rows)

    def erase_values(self, erasure_id: str, subject: Subject, *, authored: bool = True) -> int:
        wanted = _scopes(self._session, subject, authored=authored)
        return self._session.execute("erase_values", erasure_id=erasure_id, **wanted)

    def mentions(self, subject: Subject, limit: int) -> Sequence[str]:
        names = {name for person in subject.people for name in (person.name, person.user_id)}
        found: set[str] = set()
        for name in sorted(name for name in names if len(name) >= _SHORTEST_NAME):
            pattern = "%" + re.sub(r"([!%_])", r"!\1", name) + "%"
            rows = self._session.rows("facts_that_mention", pattern=pattern, limit=limit)
            found.update(row["id"] for row in rows)
        return sorted(found, reverse=True)[:limit]

    def purge_facts(self, *, begin: bool) -> bool:
        if self._session.locks_rows:
            return False
        before = self._changes()
        self._session.execute("merge_fact_index", pages=-_MERGED_PAGES if begin else _MERGED_PAGES)
        return self._changes() - before >= _NOTHING

    # -- messages and executions -------------------------------------------------------------------------------

    def erase_jobs(self, jobs: Sequence[tuple[str, str]]) -> int:
        gone = sum(self._session.execute("erase_job", id=job_id) for job_id, _ in jobs)
        self._session.execute_many("erase_notifications", [{"id": job_id} for job_id, _ in jobs])
        for lane in sorted({lane for _, lane in jobs}):
            self._session.execute("erase_idle_lane", lane=lane)
        return gone

    def erase_messages(self, erasure_id: str, message_ids: Sequence[str]) -> None:
        ids = {"ids": dump(list(message_ids))}
        rows = self._session.rows("files_of_messages", **ids)
        self.remember(erasure_id, ItemKind.FILE, {name for row in rows for name in _HASH.findall(row["files"])})
        self._session.execute("erase_summaries_of_turns", **ids, summary=ERASED_SUMMARY, tokens=_SUMMARY_TOKENS)
        index = SqlMessageIndex(self._session)
        index.remove(message_ids)
        for query in _MESSAGE_PARTS:
            self._session.execute(query, **ids)
        index.step_back()

    def erase_quotations(self, erasure_id: str, subject: Subject, after: str) -> tuple[str | None, int]:
        upto = self._end("end_of_messages", after, _MESSAGES)
        if upto is None:
            return None, 0
        people, gone = {(person.platform, person.user_id) for person in subject.people}, 0
        for row in self._session.rows("messages_with_quotations", after=after, upto=upto):
            known = quotations_of(row["quotations"])
            erased = [
                (row["platform"], each.author_id) in people
                or (each.message_id is not None and self._erases(erasure_id, each.message_id))
                for each in known
            ]
            if any(erased):
                # Keep the quotation that marks a message as forwarded. Otherwise the forwarded text would look like a
                # text of the person who sent it.
                kept = [
                    replace(each, author="", author_id="", ref=None, message_id=None) if lost else each
                    for each, lost in zip(known, erased, strict=True)
                    if not lost or is_forward([each])
                ]
                self._session.execute("put_quotations", id=row["id"], quotations=quotations_text(kept))
                gone += sum(erased)
        return upto, gone

    def _erases(self, erasure_id: str, message_id: str) -> bool:
        item = {"erasure_id": erasure_id, "kind": ItemKind.MESSAGE, "item": message_id}
        return self._session.one("is_erasure_item", **item) is not None

    def erase_words(self, message_ids: Sequence[str]) -> None:
        SqlMessageIndex(self._session).remove(message_ids)

    def erase_execution(self, execution_id: str) -> None:
        for query in (*_EXECUTION_TRACES, *EXECUTION_PARTS):
            self._session.execute(query, execution_id=execution_id)
        self._session.execute("erase_notifications", id=execution_id)

    def empty_conversation(self, conversation_id: str) -> None:
        for query in ("erase_threads", "erase_incidents", "erase_additions_of_conversation"):
            self._session.execute(query, conversation_id=conversation_id)

    def erase_conversation(self, conversation: Conversation) -> None:
        address = conversation.address
        self._session.execute("erase_compactions", conversation_id=conversation.id)
        self._session.execute("erase_conversation_versions", conversation_id=conversation.id)
        self._session.execute("erase_notifications", id=conversation.id)
        if address.thread:
            self._session.execute("erase_completions", thread=address.thread)
        self._session.execute("erase_idle_lane", lane=conversation.lane)
        self._session.execute("erase_idle_lane", lane=address.lane)
        self._session.execute("erase_conversation", conversation_id=conversation.id)
        self.erase_channel(Channel(address.platform, address.connector, address.channel))

    def erase_channel(self, channel: Channel) -> None:
        if self._session.one("conversations_in_channel", **channel_fields(channel)) is None:
            self._session.execute("erase_idle_channel", **channel_fields(channel))
            self._session.execute("erase_channel_status", **channel_fields(channel))
            lane = f"to:{channel.platform}:{channel.connector}:{channel.channel}:"
            self._session.execute(
                "erase_channel_counters", in_channel=f"bot_turns_in:{lane}", in_thread=f"bot_turns:{lane}"
            )

    def erase_overheard(self, subject: Subject, limit: int) -> int:
        if subject.channel is not None:
            return self._session.execute("overheard_in_channel", **channel_fields(subject.channel), limit=limit)
        return sum(
            self._session.execute("overheard_of_person", platform=person.platform, user_id=person.user_id, limit=limit)
            for person in subject.people
        )

    def erase_events(self, erasure_id: str) -> None:
        self._session.execute("erase_events", erasure_id=erasure_id)
        self._session.execute("erase_calls_of_executions", erasure_id=erasure_id)

    # -- people ------------------------------------------------------------------------------------------------

    def erase_automation(self, erasure_id: str, subject: Subject) -> int:
        gone = 0
        for kind, parts in _AUTOMATION.items():
            for row_id in self.items(erasure_id, kind, limit=_MOST):
                for query in parts:
                    self._session.execute(query, id=row_id)
                gone += 1
        return gone + self._session.execute("erase_projects", people=_ids(subject))

    def erase_cases(self, erasure_id: str, subject: Subject) -> int:
        rows = self._session.rows("cases_to_erase", erasure_id=erasure_id, people=_ids(subject))
        for suite_id in sorted({row["suite_id"] for row in rows}):
            used_by = self._session.rows("evaluations_of_suite", suite_id=suite_id)
            self.remember(erasure_id, ItemKind.EXECUTION, {row["id"] for row in used_by})
        for row in rows:
            self._session.execute("drop_results_of_case", case_id=row["id"])
            self._session.execute("drop_case", id=row["id"])
        return len(rows)

    def erase_person(self, person: Principal, since: str) -> bool:
        one = {"id": person.id}
        for query in _PERSONAL:
            self._session.execute(query, **one)
        self._session.execute("erase_pairings", platform=person.platform, user_id=person.user_id)
        self._session.execute("erase_idempotency_keys", user_id=person.user_id)
        if person.name:
            named = f'"by":{json.dumps(person.name, ensure_ascii=False)}'
            self._session.execute("erase_name_in_notes", named=named)
        stays = self._session.one("has_access", **one) or self._session.one("has_new_content", **one, after=since)
        if stays is not None:
            self._session.execute("erase_name", **one)
            return False
        self._session.execute("erase_sessions", **one)
        return self._session.execute("erase_person", **one) == 1

    def anonymise_usage(self, subject: Subject, after: str) -> str | None:
        upto = self._end("end_of_usage", after, _USAGE)
        if upto is not None:
            self._session.execute("anonymise_usage", after=after, upto=upto, people=_ids(subject))
        return upto

    # -- files -------------------------------------------------------------------------------------------------

    def file_is_used(self, sha256: str) -> bool:
        return any(
            self._session.one(query, sha256=sha256)
            for query in ("file_is_attached", "file_is_document", "file_is_sent")
        )

    def erase_blob(self, sha256: str) -> None:
        self._session.execute("erase_blob", sha256=sha256)

    def _end(self, query: str, after: str, limit: int) -> str | None:
        row = self._session.one(query, after=after, limit=limit)
        return row["id"] if row is not None else None

    def _changes(self) -> int:
        row = self._session.one("count_changes")
        return int(row["number"]) if row else 0


#: Queries that delete the rows of messages, in this order. A row is deleted before the rows to which it refers.
_MESSAGE_PARTS = (
    "erase_notes",
    "erase_parts",
    "erase_deliveries",
    "erase_additions",
    "erase_attachments",
    "erase_reactions",
    "erase_feedback",
    "erase_messages",
)
_EXECUTION_TRACES = (
    "erase_drafts",
    "erase_reservations",
    "erase_audit_of_execution",
    "erase_notes_of_execution",
    "anonymise_usage_of_execution",
    "anonymise_open_calls",
    "erase_report",
)
_AUTOMATION = {
    ItemKind.SCHEDULE: ("erase_schedule_runs", "erase_versions", "erase_schedule"),
    ItemKind.WEBHOOK: ("erase_webhook_calls", "erase_webhook"),
}
_PERSONAL = (
    "erase_audit_of_person",
    "erase_versions",
    "erase_allowances",
    "erase_spending",
    "erase_personal_reservations",
    "erase_link_requests",
    "erase_evaluator",
    "erase_reactions_of_person",
    "erase_feedback_of_person",
)


def _kept(subject: Subject) -> tuple[ItemKind, Sequence[str]]:
    if subject.channel is not None:
        channel = subject.channel
        return ItemKind.CHANNEL, [dump([channel.platform, channel.connector, channel.channel])]
    return ItemKind.PERSON, [dump([person.id, person.platform, person.user_id]) for person in subject.people]


def _person(item: str) -> Principal:
    person_id, platform, user_id = json.loads(item)
    return Principal(person_id, platform, user_id, "", PrincipalRole.MEMBER)


def _ids(subject: Subject) -> str:
    return dump([person.id for person in subject.people])


def channel_fields(channel: Channel) -> dict[str, str]:
    return {"platform": channel.platform, "connector": channel.connector, "channel": channel.channel}


def scopes_of_room(session: Session, channel: Channel) -> list[str]:
    """Return the scopes of memory of a channel and its threads that contain facts or values."""
    room = f"room:{channel.platform}:{channel.connector}:{channel.channel}:"
    return [row["scope"] for row in session.rows("scopes_of_room", room=room)]


def _owner(subject: Subject) -> dict[str, str]:
    """Return the parameters of the queries that select schedules and webhooks. If the subject is not a channel, the
    platform is empty, which matches no row."""
    return {"people": _ids(subject), **channel_fields(subject.channel or Channel("", "", ""))}


def _scopes(session: Session, subject: Subject, *, authored: bool) -> dict[str, str]:
    scopes = [principal_scope(person.id) for person in subject.people]
    if subject.channel is not None:
        scopes += scopes_of_room(session, subject.channel)
    return {"scopes": dump(scopes), "people": _ids(subject if authored else Subject())}


def erasure_of(row: Row) -> Erasure:
    return Erasure(
        id=row["id"],
        kind=ErasureKind(row["kind"]),
        phase=Phase(row["phase"]),
        position=row["position"],
        counts=json.loads(row["counts"]),
        mentions=tuple(json.loads(row["mentions"])),
        by_id=row["by_id"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
    )
