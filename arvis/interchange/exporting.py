"""Writes the records of the installation, of one person, or of one channel into the file of an export."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from collections.abc import Collection as Several
from typing import IO, TypeVar

from arvis.domain import agents as domain
from arvis.domain.conversations import Conversation
from arvis.domain.dataclass import dataclass
from arvis.domain.erasures import Channel
from arvis.domain.errors import NotFound
from arvis.domain.knowledge import Collection
from arvis.domain.memory import EVERYWHERE, Fact, State
from arvis.domain.messages import Attachment, FileState, Role, StoredMessage
from arvis.domain.past_rounds import PastRound
from arvis.domain.quotations import Quotation
from arvis.domain.schedules import Schedule, ScheduleKind
from arvis.interchange import format as records
from arvis.interchange import knowledge
from arvis.interchange.archive import Writer
from arvis.interchange.conversations import installation_of
from arvis.interchange.format import KINDS, Manifest, PersonRef, Place, Record
from arvis.interchange.knowledge import unpacked
from arvis.interchange.suites import suites
from arvis.ports.clock import Clock
from arvis.ports.personal_data import ExportScope
from arvis.ports.store import Store, Transaction

_ROWS = 200
_MOST_SCHEDULES = 100_000
#: The kinds of records that belong to a person or channel. The other kinds belong to the installation.
PERSONAL = ("people", "schedules", "memory", "values", "conversations", "overheard")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice:
    """The records to export. `person` is the id of the person whose data is exported, and `channel` the channel. Without
    both, everything is exported."""

    kinds: Several[str] = tuple(KINDS)
    person: str | None = None
    channel: Channel | None = None

    @property
    def partial(self) -> bool:
        return self.person is not None or self.channel is not None


class Exporter:
    """Reads the records in small transactions while the daemon works. The manifest contains `program`, the name of the
    exporting program."""

    def __init__(self, *, store: Store, clock: Clock, program: str) -> None:
        self._store = store
        self._clock = clock
        self._program = program

    async def write(self, target: IO[bytes], choice: Choice) -> Manifest:
        """Write the archive. Raise `NotFound` if the person does not exist, or if the channel has no records."""
        scope = await self._store.read(_scope, choice)
        kinds = [kind for kind in KINDS if kind in choice.kinds and (not choice.partial or kind in PERSONAL)]
        writer, files = Writer(target), dict[str, str]()
        for kind in kinds:
            async for record, needed in self._records(kind, scope):
                await asyncio.to_thread(writer.add, kind, record)
                files |= needed
        for sha256, blob in sorted(files.items()):
            data = await self._bytes(sha256, blob)
            if data is not None:
                await asyncio.to_thread(writer.add_file, sha256, data)
        source = await self._store.write(installation_of, self._clock.now())
        manifest = Manifest(program=self._program, source=source, exported_at=self._clock.now())
        await asyncio.to_thread(writer.close, manifest)
        return manifest.model_copy(update={"counts": writer.counts})

    async def _bytes(self, sha256: str, blob: str) -> bytes | None:
        """Return the bytes of a file, or None if they were lost. `blob` is the hash of the stored bytes, which are
        compressed unless `blob` equals `sha256`, the hash of the file."""
        data = await self._store.get_blob(blob)
        return data if data is None or blob == sha256 else await asyncio.to_thread(unpacked, data, sha256)

    async def _records(self, kind: str, scope: ExportScope) -> AsyncIterator[tuple[Record, Mapping[str, str]]]:
        """Yield the records of a kind, each with a map from the hashes of its files to the hashes of their stored
        bytes."""
        if kind == "conversations":
            async for _, conversation in self._slices(_conversations, scope):
                yield await self._conversation(conversation, scope)
        elif kind == "knowledge":
            for collection in await self._store.read(lambda tx: tx.knowledge.collections()):
                yield await self._knowledge_base(collection)
        elif kind in _SLICES:
            async for _, record in self._slices(_SLICES[kind], scope):
                yield record, {}
        else:
            for record in await self._store.read(_WHOLE[kind], scope):
                yield record, {}

    async def _slices(
        self, script: Callable[[Transaction, str, ExportScope], Sequence[tuple[str, T]]], scope: ExportScope
    ) -> AsyncIterator[tuple[str, T]]:
        """Yield the rows of all batches that `script` returns. A row is a pair of an id and a record. Each batch begins
        after the last id of the previous one."""
        after = ""
        while rows := await self._store.read(script, after, scope):
            for row in rows:
                yield row
            after = rows[-1][0]

    async def _knowledge_base(self, collection: Collection) -> tuple[Record, Mapping[str, str]]:
        documents, after = list[knowledge.Exported](), ""
        while rows := await self._store.read(knowledge.documents_of, collection.id, after):
            documents += [document for _, document in rows]
            after = rows[-1][0]
        head = knowledge.head_of(collection)
        files = {each.record.sha256: each.blob for each in documents if each.record.sha256}
        return head.model_copy(update={"documents": [each.record for each in documents]}), files

    async def _conversation(self, conversation: Conversation, scope: ExportScope) -> tuple[Record, Mapping[str, str]]:
        """Return a conversation, and the files of its messages. Include inactive versions only if the data of a person
        or channel is exported."""
        messages = await self._messages(conversation, scope.people, inactive=False)
        if scope != ExportScope():
            messages += await self._messages(conversation, scope.people, inactive=True)
            messages.sort(key=lambda message: message.id)
        head = await self._store.read(_head, conversation, scope.people)
        files = {file.sha256: file.sha256 for message in messages for file in message.files}
        return head.model_copy(update={"messages": messages}), files

    async def _messages(
        self, conversation: Conversation, people: Sequence[str] | None, *, inactive: bool
    ) -> list[records.Message]:
        found, after = list[records.Message](), ""
        while rows := await self._store.read(_messages, conversation.id, after, people, inactive=inactive):
            found += rows
            after = rows[-1].id
        return found


def _scope(tx: Transaction, choice: Choice) -> ExportScope:
    """Return the subject of the export. Raise `NotFound` if it does not exist."""
    if choice.person is not None:
        person = tx.principals.get(choice.person)
        if person is None:
            raise NotFound("There is no such person.", fix="`arvis people list` lists the known people.")
        return ExportScope(people=tuple(each.id for each in tx.identities.of(person.id)))
    scope = ExportScope(channel=choice.channel)
    if scope.channel is not None and not tx.interchange.conversations("", scope, 1):
        raise NotFound(
            "There is no conversation in this channel.",
            fix="Open *Conversations* in the dashboard: each conversation names its channel.",
        )
    return scope


# -- scripts of whole tables ---------------------------------------------------------------------------------------------


def _skills(tx: Transaction, _: ExportScope) -> list[Record]:
    # An import trusts the skills of an export, so the export contains only skills that an owner has trusted.
    return [records.Skill(slug=each.slug, text=each.text) for each in tx.skills.all() if each.trusted is not None]


def _workflows(tx: Transaction, _: ExportScope) -> list[Record]:
    found: list[Record] = []
    for workflow in tx.workflows.all():
        version = tx.workflows.version(workflow.id, workflow.version)
        if version is not None:
            found.append(
                records.Workflow(
                    slug=workflow.slug,
                    name=workflow.name,
                    description=workflow.description,
                    enabled=workflow.enabled,
                    document=dict(version.document),
                )
            )
    return found


def _agents(tx: Transaction, _: ExportScope) -> list[Record]:
    shown = [agent for agent in tx.agents.all() if agent.status is not domain.AgentStatus.ARCHIVED]
    return [_agent(tx, agent) for agent in shown]


def _agent(tx: Transaction, agent: domain.Agent) -> Record:
    names = records.Agent.model_fields.keys() - {"bindings"}
    fields = {name: getattr(agent, name) for name in names}
    lists = {name: list(value) for name, value in fields.items() if isinstance(value, tuple)}
    bindings = [
        records.Binding(platform=each.platform, channel=each.channel, permission=each.permission)
        for each in tx.agents.bindings(agent.id)
    ]
    return records.Agent.model_validate({**fields, **lists, "status": agent.status.value, "bindings": bindings})


def _schedules(tx: Transaction, scope: ExportScope) -> list[Record]:
    found = [each for kind in ScheduleKind for each in tx.schedules.all(kind, _MOST_SCHEDULES)]
    shown = [each for each in found if _belongs(each, scope)]
    return [record for each in sorted(shown, key=lambda each: each.id) if (record := _schedule(tx, each)) is not None]


def _belongs(schedule: Schedule, scope: ExportScope) -> bool:
    people, channel = scope.people, scope.channel
    if channel is not None:
        here = (schedule.platform, schedule.channel) == (channel.platform, channel.channel)
        return here and schedule.connector in {"", channel.connector}
    return people is None or not {schedule.principal_id, schedule.author_id}.isdisjoint(people)


def _schedule(tx: Transaction, schedule: Schedule) -> Record | None:
    agent = tx.agents.get(schedule.agent_id)
    if agent is None:
        return None
    script = None if schedule.script is None else {k: v for k, v in schedule.script.items() if k != "headers"}
    return records.Schedule(
        kind=schedule.kind,
        agent=agent.slug,
        name=schedule.name,
        schedule=schedule.schedule,
        timezone=schedule.timezone,
        prompt=schedule.prompt,
        place=_place(schedule.platform, schedule.connector, schedule.channel, schedule.thread),
        missed=schedule.missed,
        script=script,
        graph=_graph(tx, schedule.graph),
        max_cycles=schedule.max_cycles,
        model=schedule.model,
        effort=schedule.effort,
        enabled=schedule.enabled,
        person=_ref(tx, schedule.principal_id),
    )


def _graph(tx: Transaction, graph: str | None) -> str | None:
    """Return the name of a graph. In the name of a workflow's graph, the workflow's slug replaces its id."""
    prefix, colon, workflow_id = (graph or "").partition(":")
    workflow = tx.workflows.get(workflow_id) if colon else None
    return graph if workflow is None else f"{prefix}:{workflow.slug}"


# -- scripts of batches ------------------------------------------------------------------------------------------------


def _people(tx: Transaction, after: str, scope: ExportScope) -> list[tuple[str, Record]]:
    return [
        (each.id, records.Person(platform=each.platform, user_id=each.user_id, name=each.name[:300]))
        for each in tx.interchange.people(after, scope, _ROWS)
    ]


def _memory(tx: Transaction, after: str, scope: ExportScope) -> list[tuple[str, Record]]:
    return [(fact.id, _fact(tx, fact)) for fact in tx.interchange.facts(after, scope, _ROWS)]


def _fact(tx: Transaction, fact: Fact) -> Record:
    person, place = _subject(tx, fact.scope)
    return records.Fact(
        agent=_slug(tx, fact.agent_id),
        person=person,
        place=place,
        category=fact.category,
        content=fact.content,
        taint=sorted(fact.taint),
        author=_ref(tx, fact.author_id),
        created_at=fact.created_at,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
        expires_at=fact.expires_at,
    )


def _values(tx: Transaction, after: str, scope: ExportScope) -> list[tuple[str, Record]]:
    return [(position, _value(tx, value)) for position, value in tx.interchange.values(after, scope, _ROWS)]


def _value(tx: Transaction, value: State) -> Record:
    person, place = _subject(tx, value.scope)
    return records.Value(
        agent=_slug(tx, value.agent_id),
        person=person,
        place=place,
        key=value.key,
        value=value.value,
        taint=sorted(value.taint),
        author=_ref(tx, value.author_id),
        updated_at=value.updated_at,
    )


def _subject(tx: Transaction, scope: str) -> tuple[PersonRef | None, Place | None]:
    """Return the person or the place to which a scope of memory belongs."""
    kind, _, rest = scope.partition(":")
    if kind == "room":
        platform, connector, others = rest.split(":", 2)
        channel, _, thread = others.rpartition(":")
        return None, _place(platform, connector, channel, thread)
    return (_ref(tx, rest) if kind == "principal" and scope != EVERYWHERE else None), None


def _slug(tx: Transaction, agent_id: str) -> str:
    agent = tx.agents.get(agent_id)
    return agent_id if agent is None else agent.slug


def _overheard(tx: Transaction, after: str, scope: ExportScope) -> list[tuple[str, Record]]:
    return [
        (
            position,
            records.Overheard(
                id=each.event_id,
                place=_place(each.address.platform, each.address.connector, each.address.channel, each.address.thread),
                user_id=each.user_id,
                name=each.user_name[:300],
                content=each.content,
                created_at=each.created_at,
            ),
        )
        for position, each in tx.interchange.overheard(after, scope, _ROWS)
    ]


def _conversations(tx: Transaction, after: str, scope: ExportScope) -> list[tuple[str, Conversation]]:
    return [(each.id, each) for each in tx.interchange.conversations(after, scope, _ROWS)]


def _messages(
    tx: Transaction, conversation_id: str, after: str, people: Sequence[str] | None, *, inactive: bool
) -> list[records.Message]:
    rows = tx.interchange.messages(conversation_id, after, people, _ROWS, inactive=inactive)
    return [_message(tx, message, people).model_copy(update={"inactive": inactive}) for message in rows]


def _message(tx: Transaction, message: StoredMessage, people: Sequence[str] | None) -> records.Message:
    return records.Message(
        id=message.id,
        role=message.role,
        content=message.content,
        created_at=message.created_at,
        person=_ref(tx, message.principal_id),
        name=message.user_name[:300],
        reply_to=message.reply_to,
        turn=message.turn,
        taint=sorted(message.taint),
        files=[_file(each) for each in message.attachments if each.state is FileState.STORED and each.sha256],
        rounds=[_round(each) for each in message.rounds],
        quotations=[_quotation(each) for each in message.quotations],
        feedback=_feedback(tx, message, people),
    )


def _feedback(tx: Transaction, message: StoredMessage, people: Sequence[str] | None) -> list[records.Feedback]:
    """Return the ratings of a reply: all ratings, or those of the exported person."""
    found = tx.reactions.feedback(message.id) if message.role is Role.ASSISTANT else []
    return [
        records.Feedback(person=ref, rating=each.rating, at=each.at)
        for each in found
        if (people is None or each.principal_id in people) and (ref := _ref(tx, each.principal_id)) is not None
    ]


def _quotation(each: Quotation) -> records.Quotation:
    return records.Quotation(
        kind=each.kind,
        writer=each.writer,
        text=each.text,
        author=each.author[:300],
        author_id=each.author_id[:300],
        message=each.message_id,
        partial=each.partial,
        adds=sorted(each.adds),
    )


def _round(past: PastRound) -> records.Round:
    calls = [
        records.ToolCall(
            name=call.name[:300],
            arguments=dict(call.arguments),
            output=call.output.within(call.output.characters),
            failed=call.failed,
            secret=call.secret,
        )
        for call in past.calls
    ]
    return records.Round(text=past.text, calls=calls)


def _file(file: Attachment) -> records.File:
    return records.File(
        filename=file.filename[:300] or "file",
        content_type=file.content_type or "application/octet-stream",
        size=file.size,
        sha256=file.sha256,
    )


def _head(tx: Transaction, conversation: Conversation, people: Sequence[str] | None) -> records.Conversation:
    """Return a conversation without its messages. If the data of one person is exported, the summaries of conversations
    with other people are left out."""
    address = conversation.address
    summaries = tx.interchange.summaries(conversation.id) if people is None or conversation.direct else []
    return records.Conversation(
        id=conversation.id,
        agent=_slug(tx, conversation.agent_id),
        place=_place(address.platform, address.connector, address.channel, address.thread),
        direct=conversation.direct,
        created_at=conversation.created_at,
        summaries=[
            records.Summary(
                first_turn=each.first_turn, last_turn=each.last_turn, text=each.summary, created_at=each.created_at
            )
            for each in summaries
        ],
    )


def _place(platform: str, connector: str, channel: str, thread: str) -> Place:
    return Place(platform=platform, connector=connector, channel=channel, thread=thread)


def _ref(tx: Transaction, person_id: str | None) -> PersonRef | None:
    person = tx.principals.get(person_id) if person_id is not None else None
    return None if person is None else PersonRef(platform=person.platform, user_id=person.user_id)


_WHOLE: dict[str, Callable[[Transaction, ExportScope], list[Record]]] = {
    "skills": _skills,
    "workflows": _workflows,
    "agents": _agents,
    "schedules": _schedules,
    "evaluations": lambda tx, _: suites(tx),
}
_SLICES: dict[str, Callable[[Transaction, str, ExportScope], list[tuple[str, Record]]]] = {
    "people": _people,
    "memory": _memory,
    "values": _values,
    "overheard": _overheard,
}
