"""Erases the content of a person or a channel, in steps that continue after a crash.

`begin_erasure` stores the request. The eraser first finds the rows that belong to the subject. Then it cancels the work
on these rows, and deletes the rows in batches, so that other scripts can write between two batches. Content that is
written after the step `stop` is new and is not erased. Each step may run again: it deletes the remaining rows and
ignores rows that no longer exist.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path

import structlog

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.erasures import ERASED_PROFILES, Channel, Erasure, ItemKind, Phase, Subject
from arvis.domain.errors import NotFound, StoreError, Unprocessable
from arvis.domain.events import Changed
from arvis.domain.executions import Execution
from arvis.domain.ids import first_id_at
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import Principal
from arvis.engine import lifecycle
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding
from arvis.tools.workspace import remove_folder
from arvis.turns.cancellation import CancelledTurn, announce_cancelled, cancel_turn

log = structlog.get_logger(__name__)

#: The interval (s) of the checks for new requests, and the pause (s) after an error.
LOOK_SECONDS = 5.0
#: The pause (s) after each batch, in which other scripts can write to the database.
REST_SECONDS = 0.02
#: The pause (s) after work was cancelled, and before each further attempt to empty the log of the database.
_SETTLE_SECONDS = 0.2
#: The maximum numbers of rows that one transaction deletes.
_MESSAGES, _EXECUTIONS, _FACTS, _OVERHEARD = 50, 20, 200, 500
_FACTS_AT_ONCE = 5_000
_STOPPED_AT_ONCE = 1_000
_MENTIONS = 100
#: The maximum number of conversations or files that are read at once.
_PAGE = 200
#: On a database that several processes share, a message may be committed after messages with higher ids. So the step
#: `stop` also searches the messages of this time (ms) before the request.
_OVERLAP_MS = 60_000
#: The maximum number of people, or of identities of a person, in one erasure.
MOST_PEOPLE = 100
#: The name that the timelines of cancelled turns show.
_BY = "an erasure"


def begin_erasure(tx: Transaction, people: Sequence[str], channel: Channel | None, by: str | None, now: int) -> Erasure:
    """Store a request to erase all content of these people (their ids) or of a channel. Return the open erasure if
    there is one for the same people or channel. Raise `NotFound` for an unknown person."""
    subject = _subject(tx, people, channel)
    if (known := tx.erasures.open_of(subject)) is not None:
        return known
    erasure = Erasure(tx.new_id(), subject.kind, Phase.FIND_MESSAGES, "", {}, (), by, now)
    tx.erasures.begin(erasure, subject)
    return erasure


def _subject(tx: Transaction, people: Sequence[str], channel: Channel | None) -> Subject:
    if bool(people) == (channel is not None):
        raise Unprocessable("An erasure needs either people or a channel.", fix="Send `people` or `channel`.")
    if channel is not None:
        return Subject(channel=channel)
    if len(people) > MOST_PEOPLE:
        raise Unprocessable(f"An erasure can have at most {MOST_PEOPLE} people.", fix="Start several erasures.")
    found: list[Principal] = []
    for person_id in dict.fromkeys(people):
        person = tx.principals.get(person_id)
        if person is None:
            raise NotFound("There is no such person.", fix="`arvis people list` lists the known people.")
        found += [identity for identity in tx.identities.of(person.id) if identity not in found]
    return Subject(tuple(found))


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one batch of a phase. `position` is the position of the next batch (None: the phase has ended), and
    `counts` are the numbers of deleted rows by name."""

    position: str | None = None
    counts: Mapping[str, int] | None = None
    cancelled: Collection[CancelledTurn] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """The parameters of the script of a phase. `now` is the current time (ms)."""

    tx: Transaction
    erasure: Erasure
    subject: Subject
    now: int


class Eraser:
    """The task that carries out erasures. One process does it for all processes. `sessions` is the parent of the
    folders of conversations, `purge_messages` removes the words of deleted messages from the search index,
    `erase_logs` removes texts from the log files of this process, and `remove_profiles` removes the browser profiles that
    `ERASED_PROFILES` names from the data folder of this process."""

    def __init__(
        self,
        *,
        store: Store,
        bus: EventBus,
        clock: Clock,
        sessions: Path,
        purge_messages: Callable[[Holding], Awaitable[None]],
        erase_logs: Callable[[], None],
        remove_profiles: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._sessions = sessions
        self._purge_messages = purge_messages
        self._erase_logs = erase_logs
        self._remove_profiles = remove_profiles

    async def run(self, holding: Holding) -> None:
        """Carry out erasures until cancelled."""
        while True:
            try:
                while (erasure := await self._store.read(_next_open)) is not None:
                    await self.erase(erasure, holding)
            except (StoreError, OSError) as error:
                log.warning("erasure_interrupted", error=repr(error), fix="no action is needed: Arvis tries again soon")
            await self._clock.sleep(LOOK_SECONDS)

    async def erase(self, erasure: Erasure, holding: Holding) -> Erasure:
        """Carry out the remaining steps of an erasure, and return its final state."""
        while erasure.phase is not Phase.DONE:
            match erasure.phase:
                case Phase.CONVERSATIONS if not erasure.position:
                    await self._remove_folders(erasure, holding)
                case Phase.FILES:
                    await self._remove_files(erasure)
                case Phase.INDEX if not erasure.position:
                    await self._clean_indexes(holding)
                case Phase.PAGES:
                    while not await self._store.overwrite_deleted():
                        await self._clock.sleep(_SETTLE_SECONDS)
                case Phase.LOGS:
                    await asyncio.to_thread(self._erase_logs)
                case _:
                    pass
            erasure = await self._slice(erasure, holding)
        log.info("erased", erasure=erasure.id, **erasure.counts)
        return erasure

    async def _slice(self, erasure: Erasure, holding: Holding) -> Erasure:
        after, step = await self._store.write(run_slice, holding, erasure.id, self._clock.now())
        for turn in step.cancelled:
            announce_cancelled(self._bus, turn)
        if after.phase is not erasure.phase:
            self._bus.publish(Changed(ChangeTopic.PEOPLE))
        # The tasks of cancelled jobs need a moment to end, before their files are removed.
        await self._clock.sleep(_SETTLE_SECONDS if step.cancelled else REST_SECONDS)
        return after

    # -- files -------------------------------------------------------------------------------------------------

    async def _remove_folders(self, erasure: Erasure, holding: Holding) -> None:
        """Remove the folders of conversations that are deleted, the person's files from the folders of other
        conversations, and the browser profiles of the agents of all these conversations. The other processes remove
        their folders and profiles when they learn of the erasure."""
        agents: set[str] = set()
        for kind in (ItemKind.CONVERSATION, ItemKind.SHARED):
            async for conversation_id in _items(self._store, erasure.id, kind):
                agents |= await self._store.read(_agents_of, conversation_id)
        await remove_folders(self._store, self._sessions, erasure.id)
        if agents:
            await self._store.write(_note_profiles, holding, erasure.id, agents, self._clock.now())
            await self._remove_profiles()

    async def _remove_files(self, erasure: Erasure) -> None:
        """Remove the files of deleted messages if no other message has them."""
        async for sha256 in _items(self._store, erasure.id, ItemKind.FILE):
            if await self._store.read(_erased_files, erasure.id, {sha256}):
                await self._store.delete_blob(sha256)

    async def _clean_indexes(self, holding: Holding) -> None:
        """Remove the words of deleted messages and facts from the search indexes."""
        await self._purge_messages(holding)
        begin = True
        while await self._store.write(_purge_facts, holding, begin=begin):
            begin = False
            await self._clock.sleep(REST_SECONDS)


async def remove_folders(store: Store, sessions: Path, erasure_id: str) -> None:
    """Remove the folders of deleted conversations below `sessions`, and the deleted files from the folders of other
    conversations. A second call changes nothing. Raise `OSError`."""
    async for conversation_id in _items(store, erasure_id, ItemKind.CONVERSATION):
        await asyncio.to_thread(remove_folder, sessions / conversation_id)
    async for conversation_id in _items(store, erasure_id, ItemKind.SHARED):
        held = await asyncio.to_thread(_hashes, sessions / conversation_id)
        erased = await store.read(_erased_files, erasure_id, set(held.values()))
        for file in [file for file, sha256 in held.items() if sha256 in erased]:
            await asyncio.to_thread(file.unlink, missing_ok=True)


async def _items(store: Store, erasure_id: str, kind: ItemKind) -> AsyncIterator[str]:
    after = ""
    while page := await store.read(_page, erasure_id, kind, after):
        for item in page:
            yield item
        after = page[-1]


def _hashes(folder: Path) -> dict[Path, str]:
    """Return the SHA-256 of each file in a folder. Links are not followed."""
    found = {}
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as content:
                found[file] = hashlib.file_digest(content, "sha256").hexdigest()
    return found


# -- scripts -------------------------------------------------------------------------------------------------------------


def _next_open(tx: Transaction) -> Erasure | None:
    return tx.erasures.next_open()


def _page(tx: Transaction, erasure_id: str, kind: ItemKind, after: str) -> Sequence[str]:
    return tx.erasures.items(erasure_id, kind, after=after, limit=_PAGE)


def _agents_of(tx: Transaction, conversation_id: str) -> set[str]:
    conversation = tx.erasures.conversation(conversation_id)
    return set() if conversation is None else {conversation.agent_id}


def _note_profiles(tx: Transaction, holding: Holding, erasure_id: str, agents: Collection[str], now: int) -> None:
    """Note that the browser profiles of these agents must be removed. Forget the notes of agents that no longer exist."""
    holding.check(tx)
    known = json.loads(tx.kv.get(ERASED_PROFILES) or "{}") | dict.fromkeys(agents, erasure_id)
    existing = {agent.id for agent in tx.agents.all()}
    kept = {agent: erasure for agent, erasure in sorted(known.items()) if agent in existing}
    tx.kv.put(ERASED_PROFILES, json.dumps(kept), now)


def _erased_files(tx: Transaction, erasure_id: str, files: Collection[str]) -> set[str]:
    """Return the files (SHA-256) among `files` that the erasure deletes: files of deleted messages that no other
    message has."""
    return {
        sha256
        for sha256 in files
        if tx.erasures.has_item(erasure_id, ItemKind.FILE, sha256) and not tx.erasures.file_is_used(sha256)
    }


def _purge_facts(tx: Transaction, holding: Holding, *, begin: bool) -> bool:
    holding.check(tx)
    return tx.erasures.purge_facts(begin=begin)


def run_slice(tx: Transaction, holding: Holding, erasure_id: str, now: int) -> tuple[Erasure, Step]:
    """Run one batch of the current phase, and store the position. Return the erasure as stored, and the result of the
    batch."""
    holding.check(tx)
    erasure = tx.erasures.get(erasure_id)
    if erasure is None or erasure.phase is Phase.DONE:
        raise NotFound(f"There is no open erasure {erasure_id}.")
    subject = tx.erasures.subject(erasure_id)
    slice_of = _SLICES.get(erasure.phase)
    step = Step() if slice_of is None else slice_of(Slice(tx, erasure, subject, now))
    counts = dict(erasure.counts)
    for name, number in (step.counts or {}).items():
        counts[name] = counts.get(name, 0) + number
    after = replace(erasure, counts=counts, position=step.position or "")
    if erasure.phase is Phase.MEMORY and step.position is None:
        after = replace(after, mentions=tuple(tx.erasures.mentions(subject, _MENTIONS)))
    if step.position is None:
        after = replace(after, phase=erasure.phase.following)
    if after.phase is Phase.DONE:
        after = replace(after, ended_at=now)
        tx.erasures.forget_items(erasure_id, folders=tx.alone)
    tx.erasures.save(after)
    return after, step


def _find_messages(part: Slice) -> Step:
    return Step(part.tx.erasures.find_messages(part.erasure.id, part.subject, part.erasure.position))


def _find_executions(part: Slice) -> Step:
    return Step(part.tx.erasures.find_executions(part.erasure.id, part.subject, part.erasure.position))


def _stop(part: Slice) -> Step:
    """Cancel the work of the subject, close its conversations and delete the memory and the cases of evaluations in one
    commit, so that no later turn uses the content."""
    since = first_id_at(max(part.erasure.created_at - _OVERLAP_MS, 0))
    _find_since(part.tx, part.erasure.id, part.subject, since)
    cases = part.tx.erasures.erase_cases(part.erasure.id, part.subject)
    cancelled = _cancel_work(part.tx, part.erasure.id, part.now)
    for conversation_id in part.tx.erasures.items(part.erasure.id, ItemKind.CONVERSATION, limit=1_000_000):
        part.tx.conversations.close(conversation_id, part.now)
    for conversation_id in part.tx.erasures.items(part.erasure.id, ItemKind.SHARED, limit=1_000_000):
        part.tx.erasures.empty_conversation(conversation_id)
    _find_since(part.tx, part.erasure.id, part.subject, since)  # also find the notices of the cancelled turns
    facts = 0
    while facts < _FACTS_AT_ONCE and (gone := part.tx.erasures.erase_facts(part.erasure.id, part.subject, _FACTS)):
        facts += gone
    values = part.tx.erasures.erase_values(part.erasure.id, part.subject)
    counts = {"facts": facts, "values": values, **({"cases": cases} if cases else {})}
    return Step(counts=counts, cancelled=cancelled)


def _find_since(tx: Transaction, erasure_id: str, subject: Subject, since: str) -> None:
    following: str | None = since
    while following is not None:
        following = tx.erasures.find_messages(erasure_id, subject, following)
    tx.erasures.divide_conversations(erasure_id, subject)
    tx.erasures.find_automation(erasure_id, subject)
    following = since
    while following is not None:
        following = tx.erasures.find_executions(erasure_id, subject, following)


def _cancel_work(tx: Transaction, erasure_id: str, now: int) -> list[CancelledTurn]:
    """Cancel each live execution of the subject, together with its root execution, for which it works."""
    found = [tx.executions.get(each) for each in tx.erasures.live_executions(erasure_id, _STOPPED_AT_ONCE)]
    roots: dict[str, Execution] = {}
    for execution in filter(None, found):
        root = lifecycle.root_of(tx, execution)
        roots[root.id] = root
    for root in roots.values():
        lifecycle.hold_children(tx, root.id)
    tx.jobs.lock(sorted({root.lane for root in roots.values()}))
    return [cancel_turn(tx, root_id, _BY, now) for root_id in roots]


def _erase_memory(part: Slice) -> Step:
    gone = part.tx.erasures.erase_facts(part.erasure.id, part.subject, _FACTS)
    values = part.tx.erasures.erase_values(part.erasure.id, part.subject)
    return Step("next" if gone else None, {"facts": gone, "values": values})


def _erase_jobs(part: Slice) -> Step:
    """Delete jobs. A job that still waits or runs, such as a delivery, is cancelled first."""
    following, jobs = part.tx.erasures.find_jobs(part.erasure.id, part.subject, part.erasure.position)
    part.tx.jobs.lock(sorted({lane for _, lane in jobs}))
    live = [job.id for job_id, _ in jobs if (job := part.tx.jobs.get(job_id)) is not None and job.status in _LIVE_JOBS]
    for job_id in live:
        part.tx.jobs.cancel(job_id, part.now)
    gone = part.tx.erasures.erase_jobs(jobs)
    return Step(following, {"jobs": gone}, [CancelledTurn([], live)] if live else ())


def _erase_messages(part: Slice) -> Step:
    ids = part.tx.erasures.newest_messages(part.erasure.id, part.erasure.position, _MESSAGES)
    if not ids:
        return Step()
    part.tx.erasures.erase_messages(part.erasure.id, ids)
    return Step(ids[-1], {"messages": len(ids)})


def _erase_quotations(part: Slice) -> Step:
    following, gone = part.tx.erasures.erase_quotations(part.erasure.id, part.subject, part.erasure.position)
    return Step(following, {"quotations": gone} if gone else None)


def _erase_executions(part: Slice) -> Step:
    cases, cancelled = 0, list[CancelledTurn]()
    if not part.erasure.position:
        # A case may have been recorded and evaluated after the step `stop`, while its messages were still there.
        cases = part.tx.erasures.erase_cases(part.erasure.id, part.subject)
        cancelled = _cancel_work(part.tx, part.erasure.id, part.now)
    ids = part.tx.erasures.items(part.erasure.id, ItemKind.EXECUTION, after=part.erasure.position, limit=_EXECUTIONS)
    for execution_id in ids:
        # Children have higher ids, so a later batch contains them.
        part.tx.erasures.remember(part.erasure.id, ItemKind.EXECUTION, part.tx.erasures.children(execution_id))
        part.tx.erasures.remember(part.erasure.id, ItemKind.FILE, _pictures(part.tx, execution_id))
        part.tx.erasures.erase_execution(execution_id)
    counts = {"executions": len(ids), **({"cases": cases} if cases else {})}
    return Step(ids[-1] if ids else None, counts, cancelled)


def _pictures(tx: Transaction, execution_id: str) -> frozenset[str]:
    """Return the hashes of the pictures that the tools of an execution have shown."""
    results = [effect.result for effect in tx.executions.effects(execution_id)]
    shown = [result.get("pictures", ()) for result in results if isinstance(result, Mapping)]
    return frozenset(sha256 for pictures in shown for _, _, sha256 in pictures)


def _erase_conversations(part: Slice) -> Step:
    """Delete conversations. Their messages were deleted in an earlier phase."""
    ids = part.tx.erasures.items(part.erasure.id, ItemKind.CONVERSATION, after=part.erasure.position, limit=_MESSAGES)
    gone = 0
    for conversation_id in ids:
        conversation = part.tx.erasures.conversation(conversation_id)
        if conversation is not None:
            part.tx.erasures.empty_conversation(conversation_id)
            part.tx.erasures.erase_conversation(conversation)
            gone += 1
    if not ids and part.subject.channel is not None:
        part.tx.erasures.erase_channel(part.subject.channel)
    return Step(ids[-1] if ids else None, {"conversations": gone})


def _erase_overheard(part: Slice) -> Step:
    gone = part.tx.erasures.erase_overheard(part.subject, _OVERHEARD)
    part.tx.erasures.erase_events(part.erasure.id)
    return Step("next" if gone else None, {"overheard": gone})


def _erase_people(part: Slice) -> Step:
    # A retrieval about the person may have been added after the step `executions`.
    cases = part.tx.erasures.erase_cases(part.erasure.id, part.subject)
    automation = part.tx.erasures.erase_automation(part.erasure.id, part.subject)
    people = sum(
        part.tx.erasures.erase_person(person, first_id_at(part.erasure.created_at)) for person in part.subject.people
    )
    counts = {"automation": automation, "people": people, **({"cases": cases} if cases else {})}
    return Step(counts=counts)


def _anonymise(part: Slice) -> Step:
    return Step(part.tx.erasures.anonymise_usage(part.subject, part.erasure.position))


def _erase_words(part: Slice) -> Step:
    """Remove words that a concurrent transaction has added for messages that were already deleted."""
    if part.tx.alone:
        return Step()
    ids = part.tx.erasures.newest_messages(part.erasure.id, part.erasure.position, _MESSAGES)
    part.tx.erasures.erase_words(ids)
    return Step(ids[-1] if ids else None)


_LIVE_JOBS = frozenset({JobStatus.PENDING, JobStatus.RUNNING})

#: The scripts of the phases. All other phases only change files.
_SLICES: Mapping[Phase, Callable[[Slice], Step]] = {
    Phase.FIND_MESSAGES: _find_messages,
    Phase.FIND_EXECUTIONS: _find_executions,
    Phase.STOP: _stop,
    Phase.MEMORY: _erase_memory,
    Phase.JOBS: _erase_jobs,
    Phase.MESSAGES: _erase_messages,
    Phase.QUOTATIONS: _erase_quotations,
    Phase.EXECUTIONS: _erase_executions,
    Phase.CONVERSATIONS: _erase_conversations,
    Phase.OVERHEARD: _erase_overheard,
    Phase.PEOPLE: _erase_people,
    Phase.RECEIPTS: _anonymise,
    Phase.INDEX: _erase_words,
}
