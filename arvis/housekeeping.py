"""Deletes expired data and makes backups about once an hour. One process does this housekeeping for all processes.

No other work waits for the housekeeping. If the database is unavailable, the next round tries again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Concatenate, ParamSpec

import structlog

from arvis.config.servers import STORED_SERVERS, stored_names
from arvis.domain.conversations import OBSERVED_MS, conversation_lane
from arvis.domain.dataclass import dataclass
from arvis.domain.erasures import ERASED_FOLDERS_MS
from arvis.domain.errors import StoreError
from arvis.domain.ids import first_id_at
from arvis.domain.money import day_of
from arvis.domain.tools import ACCEPTED_TOOLS, TOOL_LOGIN_ATTEMPTS, TOOL_LOGINS
from arvis.domain.webhooks import KNOWN_CALLS_MS
from arvis.memory.decay import decay
from arvis.ports.api_requests import KEYS_KEPT_MS
from arvis.ports.api_requests import REQUESTS_KEPT_MS as COMPLETIONS_KEPT_MS
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

P = ParamSpec("P")

log = structlog.get_logger(__name__)

ROUND_SECONDS = 3600.0
#: The pause (s) after each batch of rows, in which other scripts can write to the database.
REST_SECONDS = 0.05
#: The maximum number of rows that one statement deletes.
SLICE = 500
#: The time (ms) for which the ids of events are kept. With these ids, Arvis recognises events that a platform repeats.
KNOWN_EVENTS_MS = 7 * 86_400_000
#: The time (ms) for which the usage of personal limits is kept. It is longer than the period of any of these limits.
KNOWN_ALLOWANCES_MS = 2 * 86_400_000
#: The maximum number of summaries in a batch. A summary may replace a few hundred messages, and the words of these
#: messages are removed from the search index at the same time.
ARCHIVES = 1


@dataclass(frozen=True, slots=True)
class KeepTimes:
    """The times (ms) for which rows are kept."""

    finished_jobs: int
    #: The history of messages: executions, timeline entries, sums of spending, runs of schedules, reported incidents,
    #: ended notifications, evaluations.
    history: int
    #: The messages that a summary replaced, inactive versions of conversations, and deleted facts.
    compacted: int
    deliveries: int
    usage: int
    audit: int
    #: Replaced and faded facts, and the changes of facts.
    facts: int


class Housekeeping:
    """The task that does the housekeeping in rounds. `back_up` makes a backup if one is due, and returns the seconds
    until the next backup is due (None: this process makes no backups). `tool_servers` are the names of the configured
    tool servers."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        keep: KeepTimes,
        tool_servers: Collection[str],
        back_up: Callable[[], Awaitable[float]] | None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._keep = keep
        self._tool_servers = tool_servers
        self._back_up = back_up

    async def run(self, holding: Holding) -> None:
        """Run rounds until cancelled."""
        while True:
            now, keep = self._clock.now(), self._keep
            await self._do(prune, holding, now - keep.finished_jobs, now - keep.history, now)
            await self._do(prune_records, holding, keep, now)
            await self._do(forget, holding, now - keep.compacted, now)
            await self._do(forget_versions, holding, now - keep.compacted)
            await self._do(erase, holding, now - keep.compacted)
            await self._do(fade, holding, now)
            await self._do(forget_tools, holding, self._tool_servers)
            await self._clock.sleep(min(ROUND_SECONDS, await self._save()))

    async def _do(self, duty: Callable[Concatenate[Transaction, P], bool], *args: P.args, **kwargs: P.kwargs) -> None:
        """Run the script `duty`, which handles one batch, until it returns False. Log a `StoreError` instead of raising
        it."""
        try:
            while await self._store.write(duty, *args, **kwargs):
                await self._clock.sleep(REST_SECONDS)
        except StoreError as error:
            log.warning("duty_failed", duty=duty.__name__, error=error.what, why=error.why)

    async def _save(self) -> float:
        """Make a backup if one is due. Return the seconds until the next backup is due."""
        return ROUND_SECONDS if self._back_up is None else await self._back_up()


def prune(tx: Transaction, holding: Holding, jobs_before: int, history_before: int, now: int) -> bool:
    """Delete expired jobs, executions, timeline entries and other rows, at most one batch of each table. Return True if
    more expired rows may be left."""
    holding.check(tx)
    # The sums of spending are stored by days of the configured time zone, but this script compares them with a day of
    # UTC. The sums of a day may therefore be deleted up to a day too early or too late.
    first, day = first_id_at(history_before), day_of(history_before, "UTC")
    tx.allowances.prune(now - KNOWN_ALLOWANCES_MS)
    tx.workflow_runs.prune(history_before, SLICE // 5)
    gone = (
        tx.jobs.prune(jobs_before, SLICE),
        tx.executions.prune(history_before, SLICE // 5),
        tx.timeline.prune(history_before, SLICE),
        tx.spending.prune(first, day, now, SLICE),
        tx.pairings.prune(history_before, SLICE),
        tx.identities.prune(history_before, SLICE),
        tx.drafts.prune(jobs_before, SLICE),
        tx.events.prune(now - KNOWN_EVENTS_MS, SLICE),
        tx.overheard.prune(now - OBSERVED_MS, SLICE),
        tx.webhooks.prune_calls(now - KNOWN_CALLS_MS, SLICE),
        tx.idempotency.prune(now - KEYS_KEPT_MS, SLICE),
        tx.completions.prune(now - COMPLETIONS_KEPT_MS, SLICE),
        tx.occurrences.prune(history_before, SLICE),
    )
    return gone[0] == SLICE or gone[1] == SLICE // 5 or max(gone[2:]) >= SLICE


def prune_records(tx: Transaction, holding: Holding, keep: KeepTimes, now: int) -> bool:
    """Delete expired deliveries, incidents, reactions, usage, audit entries, facts, notifications and evaluations, at
    most one batch of each. Return True if more expired rows may be left."""
    holding.check(tx)
    tx.erasures.prune_items(now - ERASED_FOLDERS_MS)
    gone = (
        tx.deliveries.prune(now - keep.deliveries, SLICE),
        tx.incidents.prune(now - keep.history, SLICE),
        tx.reactions.prune(now - keep.history, SLICE),
        tx.usage.prune(now - keep.usage, SLICE),
        tx.audit.prune(now - keep.audit, SLICE),
        tx.facts.prune(now - keep.facts, SLICE),
        tx.notifications.prune(now - keep.history, SLICE),
        tx.evaluations.prune(now - keep.history, SLICE),
    )
    return max(gone) >= SLICE


def forget(tx: Transaction, holding: Holding, before: int, now: int) -> bool:
    """Delete the messages that one batch of summaries has replaced. The summaries were made before the time `before`.
    Return True if more such summaries may be left."""
    holding.check(tx)
    return tx.compactions.forget(before, ARCHIVES, now) == ARCHIVES


def forget_versions(tx: Transaction, holding: Holding, before: int) -> bool:
    """Delete the texts of one batch of the versions of conversations that became inactive before this time.
    Return True if more such versions may be left."""
    holding.check(tx)
    versions = tx.conversation_versions
    found = versions.outlived(before, ARCHIVES)
    for each in found:
        # A person may switch to the version until the lane is locked.
        tx.jobs.lock([conversation_lane(each.conversation_id)])
        current = versions.get(each.id)
        if current is not None and not current.active:
            versions.forget(current)
    return len(found) == ARCHIVES


def fade(tx: Transaction, holding: Holding, now: int) -> bool:
    """Lower the confidence of one batch of the unused facts. Return True if more such facts may be left."""
    holding.check(tx)
    return decay(tx, now, SLICE // 5) == SLICE // 5


def forget_tools(tx: Transaction, holding: Holding, servers: Collection[str]) -> bool:
    """Delete the accepted tool descriptions and the logins of all servers, except `servers` and the servers that were
    added at run time. Return False, because one call deletes all of them."""
    holding.check(tx)
    added = stored_names(tx.kv.get(STORED_SERVERS))
    for prefix in (ACCEPTED_TOOLS, TOOL_LOGINS, TOOL_LOGIN_ATTEMPTS):
        tx.kv.delete_others(prefix, {*servers, *added})
    return False


def erase(tx: Transaction, holding: Holding, before: int) -> bool:
    """Erase one batch of the facts that people deleted before this time. Return True if more such facts may be left."""
    holding.check(tx)
    return tx.facts.erase(before, SLICE // 5) == SLICE // 5
