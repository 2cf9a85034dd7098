"""Runs a script in a transaction with all repositories, and claims jobs in the same commit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import cache
from typing import Any, TypeVar

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import StoreError
from arvis.domain.jobs import Job, Pool
from arvis.domain.messages import Delivery
from arvis.ports.job_store import Claimer, JobStore, Slots
from arvis.ports.store import Transaction
from arvis.store.repositories.accounts import SqlAccounts, SqlCooldowns, SqlVariables
from arvis.store.repositories.agents import SqlAgents
from arvis.store.repositories.api_requests import SqlCompletionRequests, SqlIdempotencyKeys
from arvis.store.repositories.automation import SqlOccurrences, SqlProjects, SqlSchedules, SqlSkills, SqlWebhooks
from arvis.store.repositories.changes import SqlAudit, SqlDelegations, SqlVersions
from arvis.store.repositories.chunks import SqlChunks
from arvis.store.repositories.conversation_versions import SqlConversationVersions
from arvis.store.repositories.conversations import (
    SqlCalibrations,
    SqlCompactions,
    SqlConversations,
    SqlHandoverThreads,
    SqlPluginAdditions,
)
from arvis.store.repositories.credentials import SqlCredentials
from arvis.store.repositories.deliveries import SqlChannelStatuses, SqlDrafts, SqlIncidents, SqlParts
from arvis.store.repositories.embeddings import SqlEmbeddings
from arvis.store.repositories.erasures import SqlErasures
from arvis.store.repositories.evaluations import SqlEvaluations
from arvis.store.repositories.executions import SqlExecutions, SqlWaits
from arvis.store.repositories.identities import SqlIdentities
from arvis.store.repositories.interchange import SqlInterchange
from arvis.store.repositories.jobs import SqlJobs
from arvis.store.repositories.knowledge import SqlKnowledge
from arvis.store.repositories.memory import SqlFacts, SqlStates
from arvis.store.repositories.message_index import SqlMessageIndex
from arvis.store.repositories.messages import SqlDeliveries, SqlFiles, SqlMessages
from arvis.store.repositories.money import SqlClients, SqlSpending, SqlUsage
from arvis.store.repositories.notifications import SqlNotifications
from arvis.store.repositories.people import SqlAllowances, SqlApiKeys, SqlLogins, SqlPairings, SqlPrincipals, SqlUsers
from arvis.store.repositories.platforms import SqlBots, SqlEvents, SqlIncomingRows, SqlOverheard
from arvis.store.repositories.reactions import SqlReactions
from arvis.store.repositories.settings import SqlKeyValues, SqlRoleLeases, SqlSettings
from arvis.store.repositories.timeline import SqlTimeline
from arvis.store.repositories.workflows import SqlWorkflowRuns, SqlWorkflows
from arvis.store.sql.session import Notices, Session

R = TypeVar("R")

#: Objects with one of these attributes do their work later: coroutines, generators and other iterators.
_LATER = ("__await__", "__next__", "__anext__")


def store_closed() -> StoreError:
    """Return the error for a call after the store was closed. Without the error, the caller would wait forever."""
    return StoreError(
        "The store is closed",
        why="Arvis is stopping",
        fix="You need not do anything: the work resumes after the next start.",
    )


def run_script(script: Callable[[Transaction], R], transaction: Transaction) -> R:
    """Run the script and return its result. Raise `TypeError` if the result is a coroutine or an iterator, because it
    would do its work after the commit."""
    try:
        result = script(transaction)
    except StopIteration as stop:
        # A future does not accept `StopIteration` as its error, so the script's caller would wait forever.
        raise RuntimeError("a script raised StopIteration") from stop
    # A cursor of either database is refused, too, because a cursor is an iterator.
    kind: Any = type(result)
    if _works_later(kind):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(
            f"a script returned a {type(result).__name__}, which would do its work after the commit; return a value"
        )
    return result


@cache
def _works_later(kind: type[object]) -> bool:
    return any(hasattr(kind, later) for later in _LATER)


@dataclass(slots=True)
class Claim:
    """A claim of jobs in a commit. Its creator must call `settle` exactly once."""

    claimer: Claimer
    ended: Sequence[str]
    due_at: int | None
    sent: Sequence[Delivery]
    topics: Collection[str]
    #: The slots that were reserved for the claim, or None if the commit claims no jobs.
    reserved: Slots | None
    jobs: Sequence[Job] = ()

    def settle(self, *, committed: bool) -> None:
        """If the commit happened, pass the claimed jobs to the queue. Otherwise free the reserved slots."""
        if self.reserved is not None:
            self.claimer.deliver(self.reserved, self.ended, self.jobs if committed else None)
        if committed and self.due_at is not None:
            self.claimer.due(self.due_at)
        if committed and self.sent:
            self.claimer.sent(self.sent)
        if committed and self.topics:
            self.claimer.changed(self.topics)


class CommitUnknown(Exception):
    """The error for a connection that broke during a commit, so that it is unknown whether the commit happened. The
    code that catches this exception must settle `claim`."""

    claim: Claim | None = None


def claim_and_commit(
    claimer: Claimer | None, notices: Notices, jobs: JobStore, commit: Callable[[], object]
) -> Sequence[Job]:
    """Commit, and return the jobs that were claimed in the same commit. Jobs are claimed if the head of a lane became
    ready or a slot became free."""
    if claimer is None:
        commit()
        return ()
    ended = tuple(notices.ended)
    reserved = claimer.reserve(ended, ready=Pool if notices.look else notices.pools) if notices.want_claim else None
    claim = Claim(claimer, ended, notices.due_at, notices.sent, notices.topics, reserved)
    try:
        if claim.reserved:
            claim.jobs = jobs.claim(claim.reserved, *claimer.lease())
        commit()
    except CommitUnknown as unknown:
        unknown.claim = claim
        raise
    except BaseException:
        claim.settle(committed=False)
        raise
    claim.settle(committed=True)
    return claim.jobs


class SqlTransaction:
    """Implements the port `Transaction` with a session. The object has no other state, so one object can serve all
    transactions of a connection."""

    def __init__(self, session: Session) -> None:  # noqa: PLR0915 - one statement for each repository
        self._session = session
        self.new_id = session.new_id
        self.jobs = SqlJobs(session)
        self.messages = SqlMessages(session)
        self.conversations = SqlConversations(session)
        self.principals = SqlPrincipals(session)
        self.agents = SqlAgents(session)
        self.executions = SqlExecutions(session)
        self.waits = SqlWaits(session)
        self.deliveries = SqlDeliveries(session)
        self.timeline = SqlTimeline(session)
        self.usage = SqlUsage(session)
        self.logins = SqlLogins(session)
        self.users = SqlUsers(session)
        self.api_keys = SqlApiKeys(session)
        self.settings = SqlSettings(session)
        self.kv = SqlKeyValues(session)
        self.role_leases = SqlRoleLeases(session)
        self.cooldowns = SqlCooldowns(session)
        self.accounts = SqlAccounts(session)
        self.variables, self.credentials = SqlVariables(session), SqlCredentials(session)
        self.spending = SqlSpending(session)
        self.clients = SqlClients(session)
        self.facts = SqlFacts(session)
        self.agent_state = SqlStates(session)
        self.compactions = SqlCompactions(session)
        self.calibrations = SqlCalibrations(session)
        self.audit = SqlAudit(session)
        self.schedules = SqlSchedules(session)
        self.delegations = SqlDelegations(session)
        self.versions = SqlVersions(session)
        self.skills = SqlSkills(session)
        self.events = SqlEvents(session)
        self.overheard = SqlOverheard(session)
        self.files = SqlFiles(session)
        self.incoming = SqlIncomingRows(session)
        self.pairings = SqlPairings(session)
        self.parts = SqlParts(session)
        self.drafts = SqlDrafts(session)
        self.channel_status = SqlChannelStatuses(session)
        self.incidents = SqlIncidents(session)
        self.reactions = SqlReactions(session)
        self.identities = SqlIdentities(session)
        self.bots = SqlBots(session)
        self.occurrences = SqlOccurrences(session)
        self.projects = SqlProjects(session)
        self.webhooks = SqlWebhooks(session)
        self.handover_threads = SqlHandoverThreads(session)
        self.plugin_additions = SqlPluginAdditions(session)
        self.idempotency = SqlIdempotencyKeys(session)
        self.workflows = SqlWorkflows(session)
        self.workflow_runs = SqlWorkflowRuns(session)

    @property
    def conversation_versions(self) -> SqlConversationVersions:
        return SqlConversationVersions(self._session)

    @property
    def notifications(self) -> SqlNotifications:
        return SqlNotifications(self._session)

    @property
    def allowances(self) -> SqlAllowances:
        return SqlAllowances(self._session)

    @property
    def message_index(self) -> SqlMessageIndex:
        return SqlMessageIndex(self._session)

    @property
    def embeddings(self) -> SqlEmbeddings:
        return SqlEmbeddings(self._session)

    @property
    def knowledge(self) -> SqlKnowledge:
        return SqlKnowledge(self._session)

    @property
    def chunks(self) -> SqlChunks:
        return SqlChunks(self._session)

    @property
    def evaluations(self) -> SqlEvaluations:
        return SqlEvaluations(self._session)

    @property
    def erasures(self) -> SqlErasures:
        return SqlErasures(self._session)

    @property
    def interchange(self) -> SqlInterchange:
        return SqlInterchange(self._session)

    @property
    def completions(self) -> SqlCompletionRequests:
        return SqlCompletionRequests(self._session)

    def held(self, key: Hashable, make: Callable[[], R]) -> R:
        return self._session.held_value(key, make)

    @property
    def alone(self) -> bool:
        return not self._session.locks_rows
