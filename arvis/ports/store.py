"""The interface of the store: transaction scripts, and the repositories that a transaction contains.

A script is a plain function with a `Transaction` as its first argument. If it returns, its changes are committed; if it
raises an exception, they are rolled back. The store may run a script again, for example after a deadlock, so a script
must not change anything outside the database, and must not catch a database error.

All times are integer milliseconds. All ids are texts that sort by creation time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from arvis.ports.api_requests import CompletionRequests, IdempotencyKeys
from arvis.ports.automation import Occurrences, Projects, Schedules, Skills, Webhooks
from arvis.ports.changes import Audit, Delegations, Versions
from arvis.ports.conversations import (
    Calibrations,
    Compactions,
    ConversationVersions,
    HandoverThreads,
    PluginAdditions,
    Reactions,
)
from arvis.ports.credentials import Credentials
from arvis.ports.embeddings import Embeddings
from arvis.ports.evaluations import Evaluations
from arvis.ports.job_store import Claimer, JobStore
from arvis.ports.knowledge import Chunks, Knowledge
from arvis.ports.memory import Facts, States
from arvis.ports.money import Clients, Spending
from arvis.ports.notifications import Notifications
from arvis.ports.people import Allowances, ApiKeys, Identities, Logins, Principals, Users
from arvis.ports.personal_data import Erasures, Interchange
from arvis.ports.platforms import (
    Bots,
    ChannelStatuses,
    Drafts,
    Events,
    Files,
    Incidents,
    IncomingRows,
    Overheard,
    Pairings,
    Parts,
)
from arvis.ports.repositories import (
    Accounts,
    Agents,
    Conversations,
    Cooldowns,
    Deliveries,
    Executions,
    KeyValues,
    MessageIndex,
    Messages,
    RoleLeases,
    Settings,
    Timeline,
    Usage,
    Variables,
    Waits,
)
from arvis.ports.workflows import WorkflowRuns, Workflows

P = ParamSpec("P")
R = TypeVar("R")


class Transaction(Protocol):
    def held(self, key: Hashable, make: Callable[[], R]) -> R:
        """Return the result of `make`, which must depend only on `key` and on rows that it reads in this transaction.
        The result may be kept in memory for later transactions until one of these rows changes, so it must be
        immutable. A result that contains many rows has a property `rows`, so that these rows count towards the
        limit of the cache."""
        ...

    @property
    def alone(self) -> bool:
        """True if no other process uses the database."""
        ...

    @property
    def jobs(self) -> JobStore: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def conversations(self) -> Conversations: ...
    @property
    def message_index(self) -> MessageIndex: ...
    @property
    def principals(self) -> Principals: ...
    @property
    def agents(self) -> Agents: ...
    @property
    def executions(self) -> Executions: ...
    @property
    def waits(self) -> Waits: ...
    @property
    def deliveries(self) -> Deliveries: ...
    @property
    def timeline(self) -> Timeline: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def logins(self) -> Logins: ...
    @property
    def users(self) -> Users: ...
    @property
    def api_keys(self) -> ApiKeys: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def kv(self) -> KeyValues: ...
    @property
    def role_leases(self) -> RoleLeases: ...
    @property
    def cooldowns(self) -> Cooldowns: ...
    @property
    def accounts(self) -> Accounts: ...
    @property
    def variables(self) -> Variables: ...
    @property
    def credentials(self) -> Credentials: ...
    @property
    def spending(self) -> Spending: ...
    @property
    def clients(self) -> Clients: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def agent_state(self) -> States: ...
    @property
    def compactions(self) -> Compactions: ...
    @property
    def conversation_versions(self) -> ConversationVersions: ...
    @property
    def calibrations(self) -> Calibrations: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def schedules(self) -> Schedules: ...
    @property
    def delegations(self) -> Delegations: ...
    @property
    def versions(self) -> Versions: ...
    @property
    def skills(self) -> Skills: ...
    @property
    def events(self) -> Events: ...
    @property
    def overheard(self) -> Overheard: ...
    @property
    def files(self) -> Files: ...
    @property
    def incoming(self) -> IncomingRows: ...
    @property
    def pairings(self) -> Pairings: ...
    @property
    def parts(self) -> Parts: ...
    @property
    def drafts(self) -> Drafts: ...
    @property
    def channel_status(self) -> ChannelStatuses: ...
    @property
    def incidents(self) -> Incidents: ...
    @property
    def reactions(self) -> Reactions: ...
    @property
    def identities(self) -> Identities: ...
    @property
    def bots(self) -> Bots: ...
    @property
    def occurrences(self) -> Occurrences: ...
    @property
    def projects(self) -> Projects: ...
    @property
    def webhooks(self) -> Webhooks: ...
    @property
    def handover_threads(self) -> HandoverThreads: ...
    @property
    def plugin_additions(self) -> PluginAdditions: ...
    @property
    def idempotency(self) -> IdempotencyKeys: ...
    @property
    def workflows(self) -> Workflows: ...
    @property
    def notifications(self) -> Notifications: ...
    @property
    def allowances(self) -> Allowances: ...
    @property
    def completions(self) -> CompletionRequests: ...
    @property
    def interchange(self) -> Interchange: ...
    @property
    def embeddings(self) -> Embeddings: ...
    @property
    def knowledge(self) -> Knowledge: ...
    @property
    def chunks(self) -> Chunks: ...
    @property
    def evaluations(self) -> Evaluations: ...
    @property
    def erasures(self) -> Erasures: ...
    @property
    def workflow_runs(self) -> WorkflowRuns: ...

    def new_id(self) -> str:
        """Return a new id of 26 characters."""
        ...


class Store(Protocol):
    @property
    def shared(self) -> bool:
        """Return whether other processes may write to the same database."""
        ...

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a script and return its result after the commit. If the caller is cancelled, the commit may still happen.
        Raise `Unavailable` if nothing was written and the caller may retry later. After other errors of the database, a
        retry is useless."""
        ...

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a read-only script in one snapshot."""
        ...

    def attend(self, claimer: Claimer | None) -> None:
        """Set the queue of this process. From then on, each commit that adds or ends a job also claims the next jobs
        for this queue. None removes the queue."""
        ...

    async def wait_for_change(self, timeout: float) -> bool:
        """Wait until another process changes the queue, at most `timeout` seconds. Return whether another process
        changed it. If no other process can write, wait for the whole time and return False."""
        ...

    async def put_blob(self, data: bytes) -> str:
        """Store bytes, and return their SHA-256 after they are on disk."""
        ...

    async def get_blob(self, sha256: str) -> bytes | None:
        """Return the bytes with this SHA-256; None if they are not stored."""
        ...

    async def delete_blob(self, sha256: str) -> None:
        """Delete the bytes with this SHA-256. The caller has checked that no row refers to them."""
        ...

    async def overwrite_deleted(self) -> bool:
        """Overwrite the bytes of deleted rows in the files of the database, as far as the database can do this while it
        is in use. Drop the texts that are held in memory. Return False if another reader of the database prevents this
        now."""
        ...
