"""Imports the records of a checked archive.

An import can be repeated, because it recognises the records that it has imported before: agents, skills, workflows and
knowledge bases by their slugs, schedules by agent, kind and name, facts by their text, values by agent and key, suites
and their cases by their names, documents by their locations, and conversations by the id that is computed from the
source and the id there. Existing records are not changed, unless `replace` is set.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from arvis.domain import agents as domain
from arvis.domain.conversations import OBSERVED_MS
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ArvisError
from arvis.domain.memory import EVERYWHERE, NewFact, State, asked_words, principal_scope, room_scope
from arvis.domain.messages import Address
from arvis.domain.platforms import OverheardMessage
from arvis.domain.schedules import Schedule
from arvis.domain.taint import taint_of
from arvis.domain.text import storable
from arvis.interchange import format as records
from arvis.interchange import knowledge
from arvis.interchange.archive import Contents
from arvis.interchange.conversations import add_messages, add_summaries, missing_messages, open_conversation
from arvis.interchange.format import KINDS, PersonRef, Place, Record
from arvis.interchange.suites import put_suite
from arvis.memory.service import MOST_FACTS, MOST_LETTERS, Refused, put_state
from arvis.ports.automation import StoredSkill
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.services import agents, schedules
from arvis.skills.importing import put_skill
from arvis.skills.skill import Source, read_skill
from arvis.workflows import service as workflows


class Action(StrEnum):
    CREATE = "create"
    #: The existing record is completed or replaced.
    UPDATE = "update"
    UNCHANGED = "unchanged"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one record. `why` is the reason why a record was skipped or imported only in part."""

    kind: str
    name: str
    action: Action
    why: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an import or of its rehearsal. `asks` are steps that the person who imports must do afterwards."""

    outcomes: Sequence[Outcome]
    asks: Sequence[str]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of an import. `by` is the id of the person who imports. If `replace` is True, imported agents, skills,
    workflows, values, documents and cases replace existing ones."""

    by: str
    schedules: schedules.Rules
    replace: bool = False


class _Rehearsed(Exception):
    """The signal that ends the transaction of a rehearsal, so that the transaction is rolled back."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes


class ArchiveImporter:
    """Imports archives into the store."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def rehearse(self, contents: Contents, rules: Rules) -> Report:
        """Return the result that an import would have, without storing anything."""
        try:
            await self._store.write(_rehearse, contents, rules, self._clock.now())
        except _Rehearsed as rehearsed:
            return Report(rehearsed.outcomes, _asks(contents, rehearsed.outcomes))
        raise AssertionError("a rehearsal always raises")

    async def run(self, contents: Contents, rules: Rules) -> Report:
        """Import the records, each in its own transaction. After a crash, another import adds the records that are
        missing."""
        files = _files_of_messages(contents)
        for sha256, data in contents.files.items():
            if sha256 in files:
                await self._store.put_blob(data)
        outcomes, places = list[Outcome](), dict[str, str]()
        for kind, record in _all(contents):
            match record:
                case records.Conversation():
                    outcomes.append(await self._conversation(contents, record, places))
                case records.KnowledgeBase():
                    outcomes.append(await self._knowledge_base(contents, record, rules))
                case _:
                    now = self._clock.now()
                    outcomes.append(await self._store.write(_import, kind, record, places, rules=rules, now=now))
        return Report(outcomes, _asks(contents, outcomes))

    async def _knowledge_base(self, contents: Contents, record: records.KnowledgeBase, rules: Rules) -> Outcome:
        """Import a knowledge base. Each document is stored in its own transaction."""
        begun = await self._store.write(_begin_knowledge, record, rules, self._clock.now())
        if isinstance(begun, Outcome):
            return begun
        skipped = list[tuple[str, str]]()
        for document in begun.missing:
            file = knowledge.file_of(document, contents.files)
            why: str | None = file if isinstance(file, str) else None
            if not isinstance(file, str):
                packed = b"" if file is None else await asyncio.to_thread(zlib.compress, contents.files[file.sha256])
                stored = None if file is None else replace(file, blob=await self._store.put_blob(packed))
                now = self._clock.now()
                why = await self._store.write(
                    knowledge.put_document, record.slug, document, stored, by=rules.by, now=now
                )
                if stored is not None and why is None:
                    # Store the bytes again, because the deletion of another document with the same content may have
                    # removed them.
                    await self._store.put_blob(packed)
            if why is not None:
                skipped.append((document.location, why))
        return _outcome_of_knowledge(record, begun, skipped)

    async def _conversation(self, contents: Contents, record: records.Conversation, places: dict[str, str]) -> Outcome:
        """Import a conversation, and add its id to `places`. Its messages are stored in batches of `SLICE` messages."""
        now, source = self._clock.now(), contents.manifest.source
        found = await self._store.write(_begin_conversation, source, record, now)
        if found is None:
            return _outcome_of(record, None, 0)
        places[record.id] = found
        missing = await self._store.read(missing_messages, source, record, found)
        for start in range(0, len(missing), SLICE):
            await self._store.write(add_messages, source, record, found, missing[start : start + SLICE])
        await self._store.write(add_summaries, source, record, found, now)
        return _outcome_of(record, found, len(missing))


SLICE = 200
#: The maximum number of overheard messages in a place after an import. When the bot stores the next overheard message
#: there, it deletes the oldest ones above its own limit.
_MOST_OVERHEARD = 1_000


def _outcome_of(record: records.Conversation, found: str | None, missing: int) -> Outcome:
    name = f"{record.place.platform}:{record.place.channel} {record.id}"
    if found is None:
        return Outcome("conversations", name, Action.SKIP, f"there is no agent {record.agent}")
    if not missing:
        return Outcome("conversations", name, Action.UNCHANGED)
    whole = missing == len(record.messages)
    return Outcome("conversations", name, Action.CREATE if whole else Action.UPDATE)


def _active(record: records.Conversation) -> records.Conversation:
    """Return the conversation without the messages of inactive versions."""
    return record.model_copy(update={"messages": [each for each in record.messages if not each.inactive]})


def _all(contents: Contents) -> Iterator[tuple[str, Record]]:
    for kind in KINDS:
        for record in contents.records[kind]:
            yield kind, _active(record) if isinstance(record, records.Conversation) else record


# -- scripts -------------------------------------------------------------------------------------------------------------


def _rehearse(tx: Transaction, contents: Contents, rules: Rules, now: int) -> None:
    source, outcomes, places = contents.manifest.source, list[Outcome](), dict[str, str]()
    for kind, record in _all(contents):
        match record:
            case records.Conversation():
                found = _begin_conversation(tx, source, record, now)
                missing = missing_messages(tx, source, record, found) if found else []
                places |= {record.id: found} if found else {}
                outcomes.append(_outcome_of(record, found, len(missing)))
            case records.KnowledgeBase():
                outcomes.append(_rehearse_knowledge(tx, contents, record, rules, now))
            case _:
                outcomes.append(_import(tx, kind, record, places, rules=rules, now=now))
    raise _Rehearsed(outcomes)


def _begin_knowledge(
    tx: Transaction, record: records.KnowledgeBase, rules: Rules, now: int
) -> knowledge.Begun | Outcome:
    try:
        return knowledge.begin(tx, record, by=rules.by, overwrite=rules.replace, now=now)
    except ArvisError as error:
        return Outcome("knowledge", record.slug, Action.SKIP, " ".join(filter(None, [error.what, error.why])))


def _rehearse_knowledge(
    tx: Transaction, contents: Contents, record: records.KnowledgeBase, rules: Rules, now: int
) -> Outcome:
    begun = _begin_knowledge(tx, record, rules, now)
    if isinstance(begun, Outcome):
        return begun
    skipped = list[tuple[str, str]]()
    for document in begun.missing:
        file = knowledge.file_of(document, contents.files)
        put = file if isinstance(file, str) else None
        if not isinstance(file, str):
            put = knowledge.put_document(tx, record.slug, document, file, by=rules.by, now=now)
        if put is not None:
            skipped.append((document.location, put))
    return _outcome_of_knowledge(record, begun, skipped)


def _outcome_of_knowledge(
    record: records.KnowledgeBase, begun: knowledge.Begun, skipped: Sequence[tuple[str, str]]
) -> Outcome:
    why = "; ".join(filter(None, [begun.why, knowledge.reason(skipped)]))
    if begun.changed is None:
        return Outcome("knowledge", record.slug, Action.CREATE, why)
    changed = begun.changed or len(skipped) < len(begun.missing)
    unchanged = Action.SKIP if why else Action.UNCHANGED
    return Outcome("knowledge", record.slug, Action.UPDATE if changed else unchanged, why)


def _files_of_messages(contents: Contents) -> set[str]:
    """Return the hashes of the files of messages. Files of knowledge bases are left out, because their bytes are stored
    in another form."""
    return {
        file.sha256
        for record in contents.records["conversations"]
        if isinstance(record, records.Conversation)
        for message in record.messages
        for file in message.files
    }


def _begin_conversation(tx: Transaction, source: str, record: records.Conversation, now: int) -> str | None:
    agent = agents.find(tx, record.agent)
    return None if agent is None else open_conversation(tx, source, record, agent.id, now)


def _import(
    tx: Transaction, kind: str, record: Record, places: Mapping[str, str], *, rules: Rules, now: int
) -> Outcome:
    """Import one record. If the installation refuses the record, skip it and return the reason. `places` contains the
    ids of the imported conversations, by their ids in the file."""
    name = _name_of(record)
    try:
        if isinstance(record, records.Suite):
            action, why = _import_suite(tx, record, rules, places, now)
        else:
            action, why = _IMPORTS[kind](tx, record, rules, now)
    except ArvisError as error:
        return Outcome(kind, name, Action.SKIP, " ".join(filter(None, [error.what, error.why])))
    return Outcome(kind, name, action, why)


def _name_of(record: Record) -> str:
    match record:
        case records.Person(platform=platform, user_id=user_id):
            return f"{platform}:{user_id}"
        case records.Schedule(agent=agent, name=name):
            return f"{agent}: {name}"
        case records.Overheard(id=event, place=place):
            return f"{place.platform}:{place.channel} {event}"
        case records.Value(agent=agent, key=key):
            return f"{agent}: {key}"
        case records.Fact(agent=agent, content=content):
            return f"{agent}: {content[:60]}"
        case records.Suite(name=name):
            return name
        case _:
            return str(getattr(record, "slug", ""))


Result = tuple[Action, str]
_NEW: Result = (Action.CREATE, "")
_SAME: Result = (Action.UNCHANGED, "")
_REPLACED: Result = (Action.UPDATE, "")
_DIFFERS: Result = (
    Action.SKIP,
    "a different version exists already; `--replace` replaces the existing version",
)


def _import_person(tx: Transaction, record: records.Person, _rules: Rules, now: int) -> Result:
    if tx.principals.find(record.platform, record.user_id) is not None:
        return _SAME
    tx.principals.seen(record.platform, record.user_id, storable(record.name), None, now)
    return _NEW


def _import_skill(tx: Transaction, record: records.Skill, rules: Rules, now: int) -> Result:
    skill = read_skill(record.text, stem=None, source=Source.IMPORTED)
    known = tx.skills.get(skill.slug)
    if known is not None and known.text == storable(record.text):
        return _SAME
    if known is not None and known.files:
        return (
            Action.SKIP,
            "the existing skill has files, which an import would delete; delete the existing skill first",
        )
    if known is not None and not rules.replace:
        return _DIFFERS
    text = storable(record.text)
    row = StoredSkill(skill.slug, text, "text", rules.by, created_at=now, updated_at=now, trusted=skill.hash)
    put_skill(tx, row)
    return _NEW if known is None else _REPLACED


def _import_workflow(tx: Transaction, record: records.Workflow, rules: Rules, now: int) -> Result:
    checked = workflows.check_document(record.document)
    known = tx.workflows.by_slug(record.slug)
    wanted = workflows.Wanted(
        name=record.name, slug=record.slug, description=record.description, enabled=record.enabled, checked=checked
    )
    if known is None:
        workflows.create(tx, wanted, now, by=rules.by)
        return _NEW
    version = tx.workflows.version(known.id, known.version)
    if version is not None and version.document == checked.document:
        return _SAME
    if not rules.replace:
        return _DIFFERS
    workflows.update(tx, known.id, replace(wanted, slug=None), now, by=rules.by)
    return _REPLACED


def _import_agent(tx: Transaction, record: records.Agent, rules: Rules, now: int) -> Result:
    wanted = domain.Agent(id="", slug=record.slug, name=record.name)
    fields = {name: getattr(record, name) for name in type(record).model_fields.keys() - {"slug", "status", "bindings"}}
    known = tx.agents.by_slug(record.slug)
    if known is not None:
        same = agents.changed_agent(known, fields) == known
        if same or not rules.replace:
            return _SAME if same else _DIFFERS
        # The owner who imports has asked to replace the agent, so the changed prompt is stored even if a suite has not
        # passed.
        agents.update(tx, known.id, fields, by=rules.by, now=now, gate=False)
        return _REPLACED
    made = agents.changed_agent(wanted, fields)
    free = [each for each in record.bindings if tx.agents.binding_at(each.platform, each.channel) is None]
    bindings = [domain.Binding(each.platform, each.channel, "", each.permission) for each in free]
    agents.create(tx, replace(made, status=domain.AgentStatus(record.status)), bindings, by=rules.by, now=now)
    taken = len(record.bindings) - len(free)
    return (
        Action.CREATE,
        f"{taken} of its channels were not bound, because they belong to other agents" if taken else "",
    )


def _import_schedule(tx: Transaction, record: records.Schedule, rules: Rules, now: int) -> Result:
    kind, agent = record.kind, agents.find(tx, record.agent)
    if agent is None:
        return Action.SKIP, f"there is no agent {record.agent}"
    if tx.schedules.named(agent.id, kind, record.name) is not None:
        return _SAME
    place = record.place
    wanted = Schedule(
        id="", kind=kind, agent_id=agent.id, name=record.name, schedule=record.schedule, timezone=record.timezone,
        prompt=record.prompt, platform=place.platform, connector=place.connector, channel=place.channel,
        thread=place.thread, script=record.script, missed=record.missed, enabled=False,
        principal_id=_person(tx, record.person) or rules.by, author_id=rules.by, last_run=None, next_run=None,
        created_at=now, updated_at=now, graph=record.graph, max_cycles=record.max_cycles,
        model=record.model, effort=record.effort,
    )  # fmt: skip
    schedules.add_schedule(tx, wanted, rules.schedules, now)
    return _NEW


def _import_fact(tx: Transaction, record: records.Fact, rules: Rules, now: int) -> Result:
    agent = agents.find(tx, record.agent)
    if agent is None:
        return Action.SKIP, f"there is no agent {record.agent}"
    scope = _scope(tx, record.person, record.place)
    if scope is None:
        return Action.SKIP, "the file does not contain the person whom this fact is about"
    content = storable(record.content)
    words = asked_words(content)
    ended = [] if record.valid_until is None else tx.facts.past(agent.id, [scope], words, now, MOST_FACTS)
    if tx.facts.same(agent.id, scope, content) or any(fact.content == content for fact in ended):
        return _SAME
    if record.expires_at is not None and record.expires_at <= now:
        return Action.SKIP, "it has expired"
    if not content.strip() or len(content) > MOST_LETTERS:
        return (
            Action.SKIP,
            f"a fact must have 1 to {MOST_LETTERS:,} characters, and this one has {len(content.strip()):,}",
        )
    if tx.facts.count(agent.id, scope) >= MOST_FACTS:
        return Action.SKIP, f"{agent.slug} already has {MOST_FACTS} facts {_about(record)}, which is the limit"
    author = _person(tx, record.author) or rules.by
    new = NewFact(
        agent.id, scope, record.category, content, taint=taint_of(" ".join(record.taint)), author_id=author,
        expires_at=record.expires_at, valid_from=record.valid_from, valid_until=record.valid_until,
    )  # fmt: skip
    tx.facts.note(tx.facts.add(new, now), "added", by_id=rules.by, now=now)
    return _NEW


def _import_value(tx: Transaction, record: records.Value, rules: Rules, _now: int) -> Result:
    agent = agents.find(tx, record.agent)
    if agent is None:
        return Action.SKIP, f"there is no agent {record.agent}"
    scope = _scope(tx, record.person, record.place)
    if scope is None:
        return Action.SKIP, "the file does not contain the person to whom this value belongs"
    known = tx.agent_state.get(agent.id, scope, record.key)
    if known is not None and known.value == storable(record.value).strip():
        return _SAME
    if known is not None and not rules.replace:
        return _DIFFERS
    author, taint = _person(tx, record.author) or rules.by, taint_of(" ".join(record.taint))
    value = State(agent.id, scope, record.key, record.value, taint, author, None, record.updated_at)
    stored = put_state(tx, value)
    if isinstance(stored, Refused):
        return Action.SKIP, stored.problem
    return _NEW if known is None else _REPLACED


def _import_overheard(tx: Transaction, record: records.Overheard, _rules: Rules, now: int) -> Result:
    if record.created_at < now - OBSERVED_MS:
        return Action.SKIP, "it is too old to be context of a conversation"
    place = record.place
    message = OverheardMessage(
        address=Address(place.platform, place.connector, place.channel, place.thread),
        event_id=record.id,
        platform_ref=None,
        user_id=record.user_id,
        user_name=storable(record.name),
        content=storable(record.content),
        created_at=record.created_at,
    )
    return _NEW if tx.overheard.add(message, _MOST_OVERHEARD) else _SAME


def _import_suite(tx: Transaction, record: records.Suite, rules: Rules, places: Mapping[str, str], now: int) -> Result:
    if agents.find(tx, record.agent) is None:
        return Action.SKIP, f"there is no agent {record.agent}"
    changed, why = put_suite(tx, record, places, overwrite=rules.replace, now=now)
    if changed is None:
        return Action.CREATE, why
    unchanged = Action.SKIP if why else Action.UNCHANGED
    return Action.UPDATE if changed else unchanged, why


def _about(record: records.Fact) -> str:
    if record.person is not None:
        return f"about the person {record.person.platform}:{record.person.user_id}"
    place = record.place
    return "for all conversations" if place is None else f"about the place {place.platform}:{place.channel}"


def _scope(tx: Transaction, person: PersonRef | None, place: Place | None) -> str | None:
    if person is not None:
        known = _person(tx, person)
        return None if known is None else principal_scope(known)
    if place is not None:
        return room_scope(Address(place.platform, place.connector, place.channel, place.thread))
    return EVERYWHERE


def _person(tx: Transaction, ref: PersonRef | None) -> str | None:
    person = None if ref is None else tx.principals.find(ref.platform, ref.user_id)
    return None if person is None else person.id


_IMPORTS: Mapping[str, Callable[[Transaction, Any, Rules, int], Result]] = {
    "people": _import_person,
    "skills": _import_skill,
    "workflows": _import_workflow,
    "agents": _import_agent,
    "schedules": _import_schedule,
    "memory": _import_fact,
    "values": _import_value,
    "overheard": _import_overheard,
}


def _asks(contents: Contents, outcomes: Collection[Outcome]) -> list[str]:
    """Return the steps that the person must do after the import, because the import cannot do them."""
    new = {(each.kind, each.name) for each in outcomes if each.action is Action.CREATE}
    made = [record for kind, record in _all(contents) if (kind, _name_of(record)) in new]
    models = sorted({record.model for record in made if isinstance(record, records.Agent) and record.model})
    platforms = {each.platform for record in made if isinstance(record, records.Agent) for each in record.bindings}
    platforms |= {record.place.platform for record in made if isinstance(record, records.Schedule)}
    asks = []
    if models:
        asks.append(f"Add accounts for the models {', '.join(models)}: `arvis accounts create`.")
    if bots := sorted(platforms - {"web"}):
        asks.append(f"Add bots for {', '.join(bots)}: `arvis bots create`.")
    if any(isinstance(record, records.Schedule) for record in made):
        asks.append(
            "The imported schedules are off. When the other program has stopped, turn them on: `arvis schedules update`."
        )
    return asks
