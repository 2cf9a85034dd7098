"""One transaction as scripts see it: every repository over one session."""

from __future__ import annotations

from arvis.store.accounts import SqlAccounts, SqlRests
from arvis.store.agents import SqlAgents
from arvis.store.allowances import SqlAllowances
from arvis.store.attachments import SqlFiles
from arvis.store.audit import SqlAudit, SqlDelegations
from arvis.store.bots import SqlBots
from arvis.store.calibrations import SqlCalibrations
from arvis.store.compactions import SqlCompactions
from arvis.store.completions import SqlCompletionRequests
from arvis.store.conversations import SqlConversations
from arvis.store.events import SqlEvents, SqlIncomingRows, SqlObserved
from arvis.store.executions import SqlExecutions, SqlWaits
from arvis.store.idempotency import SqlIdempotencyKeys
from arvis.store.jobs import SqlJobs
from arvis.store.leases import SqlRoleLeases
from arvis.store.logins import SqlApiKeys, SqlLogins, SqlUsers
from arvis.store.memory import SqlFacts, SqlStates
from arvis.store.messages import SqlDeliveries, SqlMessages
from arvis.store.money import SqlClients, SqlSpending
from arvis.store.pairings import SqlPairings
from arvis.store.people import SqlPrincipals, SqlSettings
from arvis.store.projects import SqlProjects
from arvis.store.schedules import SqlOccurrences, SqlSchedules
from arvis.store.sending import SqlDrafts, SqlIncidents, SqlParts, SqlPlaces
from arvis.store.session import Session
from arvis.store.skills import SqlSkills
from arvis.store.threads import SqlAdditions, SqlThreads
from arvis.store.timeline import SqlTimeline
from arvis.store.usage import SqlUsage
from arvis.store.variables import SqlVariables
from arvis.store.versions import SqlVersions
from arvis.store.webhooks import SqlWebhooks
from arvis.store.workflows import SqlWorkflowRuns, SqlWorkflows


class SqlTransaction:
    """`Transaction` over a session. One object serves a connection for its whole life: it holds no state."""

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
        self.role_leases = SqlRoleLeases(session)
        self.rests = SqlRests(session)
        self.accounts = SqlAccounts(session)
        self.variables = SqlVariables(session)
        self.spending = SqlSpending(session)
        self.clients = SqlClients(session)
        self.facts = SqlFacts(session)
        self.states = SqlStates(session)
        self.compactions = SqlCompactions(session)
        self.calibrations = SqlCalibrations(session)
        self.audit = SqlAudit(session)
        self.schedules = SqlSchedules(session)
        self.delegations = SqlDelegations(session)
        self.versions = SqlVersions(session)
        self.skills = SqlSkills(session)
        self.events = SqlEvents(session)
        self.observed = SqlObserved(session)
        self.files = SqlFiles(session)
        self.incoming = SqlIncomingRows(session)
        self.pairings = SqlPairings(session)
        self.parts = SqlParts(session)
        self.drafts = SqlDrafts(session)
        self.places = SqlPlaces(session)
        self.incidents = SqlIncidents(session)
        self.bots = SqlBots(session)
        self.occurrences = SqlOccurrences(session)
        self.projects = SqlProjects(session)
        self.webhooks = SqlWebhooks(session)
        self.threads = SqlThreads(session)
        self.additions = SqlAdditions(session)
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
