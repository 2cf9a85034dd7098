"""The transaction of a script: every repository over one session."""

from __future__ import annotations

from arvis.store.repositories.accounts import SqlAccounts, SqlCooldowns, SqlVariables
from arvis.store.repositories.agents import SqlAgents
from arvis.store.repositories.api_requests import SqlCompletionRequests, SqlIdempotencyKeys
from arvis.store.repositories.automation import SqlOccurrences, SqlProjects, SqlSchedules, SqlSkills, SqlWebhooks
from arvis.store.repositories.changes import SqlAudit, SqlDelegations, SqlVersions
from arvis.store.repositories.conversations import (
    SqlCalibrations,
    SqlCompactions,
    SqlConversations,
    SqlHandoverThreads,
    SqlPluginAdditions,
)
from arvis.store.repositories.deliveries import SqlChannelStatuses, SqlDrafts, SqlIncidents, SqlParts
from arvis.store.repositories.executions import SqlExecutions, SqlWaits
from arvis.store.repositories.jobs import SqlJobs
from arvis.store.repositories.memory import SqlFacts, SqlStates
from arvis.store.repositories.messages import SqlDeliveries, SqlFiles, SqlMessages
from arvis.store.repositories.money import SqlClients, SqlSpending, SqlUsage
from arvis.store.repositories.people import SqlAllowances, SqlApiKeys, SqlLogins, SqlPairings, SqlPrincipals, SqlUsers
from arvis.store.repositories.platforms import SqlBots, SqlEvents, SqlIncomingRows, SqlOverheard
from arvis.store.repositories.settings import SqlKeyValues, SqlRoleLeases, SqlSettings
from arvis.store.repositories.timeline import SqlTimeline
from arvis.store.repositories.workflows import SqlWorkflowRuns, SqlWorkflows
from arvis.store.sql.session import Session


class SqlTransaction:
    """`Transaction` over a session. One object serves a connection during its whole life: it holds no state."""

    def __init__(self, session: Session) -> None:
        self._session = session
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
        self.variables = SqlVariables(session)
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
    def allowances(self) -> SqlAllowances:
        return SqlAllowances(self._session)

    @property
    def completions(self) -> SqlCompletionRequests:
        return SqlCompletionRequests(self._session)

    def new_id(self) -> str:
        return self._session.new_id()
