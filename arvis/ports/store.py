"""The port of the store: transaction scripts and the repositories of a transaction.

A script is a plain function of a `Transaction`. It may be run again (a group that rolled back, a deadlock), so it has
no outside effect; it never catches a database error; a returned value commits, an exception rolls back. All times are
integer milliseconds, all ids sortable text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from arvis.ports.allowances import Allowances
from arvis.ports.changes import Audit, Delegations, Versions
from arvis.ports.compactions import Calibrations, Compactions
from arvis.ports.completions import CompletionRequests
from arvis.ports.idempotency import IdempotencyKeys
from arvis.ports.job_store import Claimer, JobStore
from arvis.ports.logins import ApiKeys, Logins, Users
from arvis.ports.memory import Facts, States
from arvis.ports.money import Clients, Spending
from arvis.ports.people import Principals
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
from arvis.ports.projects import Projects
from arvis.ports.repositories import (
    Accounts,
    Agents,
    Conversations,
    Cooldowns,
    Deliveries,
    Executions,
    KeyValues,
    Messages,
    RoleLeases,
    Settings,
    Timeline,
    Usage,
    Variables,
    Waits,
)
from arvis.ports.schedules import Occurrences, Schedules
from arvis.ports.skills import Skills
from arvis.ports.threads import HandoverThreads, PluginAdditions
from arvis.ports.webhooks import Webhooks
from arvis.ports.workflows import WorkflowRuns, Workflows

P = ParamSpec("P")
R = TypeVar("R")


class Transaction(Protocol):
    @property
    def jobs(self) -> JobStore: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def conversations(self) -> Conversations: ...
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
    def allowances(self) -> Allowances: ...
    @property
    def completions(self) -> CompletionRequests: ...
    @property
    def workflow_runs(self) -> WorkflowRuns: ...

    def new_id(self) -> str:
        """Return a new sortable id (26 characters)."""
        ...


class Store(Protocol):
    @property
    def shared(self) -> bool:
        """True if other processes may write the same database."""
        ...

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a script and return its result after the commit. A cancelled write may still be committed. Raises
        `Unavailable` if nothing was written and the script may be retried later; other errors of the database are
        final."""
        ...

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a read-only script in one snapshot."""
        ...

    def attend(self, claimer: Claimer | None) -> None:
        """Set the queue for which commits that add or settle jobs also claim jobs (None: no queue)."""
        ...

    async def wait_for_change(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until another process changed the queue; return whether it did. A store
        without other writing processes only waits."""
        ...

    async def put_blob(self, data: bytes) -> str:
        """Store bytes under their SHA-256; they are on disk when this returns."""
        ...

    async def get_blob(self, sha256: str) -> bytes | None:
        """Return stored bytes; None if they were deleted."""
        ...
