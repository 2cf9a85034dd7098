"""Agents over HTTP: list, create, change, pause, delete, bind to channels, and restore earlier versions.

Viewers may read, and operators may pause and resume. Only owners may change an agent, because its tools run with the
owners' rights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.agents import COMPLETIONS, ON_NEW_MESSAGE, SLUG, Agent, AgentStatus, AgentVersion, Binding, Permission
from arvis.domain.effort import EFFORTS
from arvis.domain.errors import Unprocessable
from arvis.domain.messages import Respond
from arvis.domain.money import MICROS
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, UsageBy
from arvis.ports.store import Store, Transaction
from arvis.services import agents
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import FLAG, PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.identity import OPERATE, OWN, READ
from arvis.web.http.models import CLEARING, MEMBER, About, Body, Page, Texts, Time, View, Whole
from arvis.web.http.schema import LABEL, one_of

# Requests and responses for agents. The rules for values are in `arvis.domain.agents`.

_RESPOND = "The group messages that the agent answers; null: the bot's setting."
_OBSERVE = "The number of other messages that it reads as context; null: the bot's setting."
_MODEL = "provider/model; null: the account's default model."
_GRAPH = "The graph that it runs: one of GET /api/graphs, or `workflow:SLUG`."
_FALLBACKS = "Models to try after `model`, as provider/model."
_TOOLS = "Names of tools, or `server.*`."
_CONTEXT = "The maximum size of its prompt in tokens; null: the model's context window."
_USERS = "The only people, besides owners, who may ask it; null: everyone; empty: only owners."
_NEW_MESSAGE = "The effect of a message that arrives while it works."
_PLUGINS = "Plugins that extend its prompts."
_CREDENTIALS = "Names of credentials that Arvis inserts into its requests."
_KNOWLEDGE = "Slugs of knowledge bases that it searches."
_SKILLS = "Names of skills that its prompt lists; `*`: all. Empty: triggers alone select skills."
_HELPERS = "Slugs of the agents to which it may hand over a conversation."
_EFFORT = "The reasoning effort of its model calls; null: the model's default."
_Completion = Annotated[str, About(**one_of(COMPLETIONS))]
_OnNewMessage = Annotated[str, About(**one_of(ON_NEW_MESSAGE))]
_Effort = Annotated[str, About(**one_of(EFFORTS))]


class BindingView(View):
    platform: str
    channel: str
    permission: Permission
    respond: Annotated[Respond | None, About(_RESPOND)]
    observe: Annotated[int | None, About(_OBSERVE)]


class NewBinding(Body):
    platform: str
    channel: str
    permission: Annotated[Permission | None, MEMBER] = None
    respond: Annotated[Respond | None, CLEARING, MEMBER, About(_RESPOND)] = None
    observe: Annotated[Whole | None, CLEARING, About(_OBSERVE)] = None

    def of(self, agent_id: str) -> Binding:
        return Binding(**self.sent(), agent_id=agent_id)


class AgentView(View):
    id: str
    slug: str
    name: str
    role: str
    description: str
    model: str | None
    graph: str
    status: AgentStatus


class AgentDetailView(AgentView):
    prompt: str
    fallbacks: Annotated[list[str], About(_FALLBACKS)]
    tools: Annotated[list[str], About(_TOOLS)]
    completion: _Completion
    context_tokens: Annotated[int | None, About(_CONTEXT)]
    timezone: str | None
    allow_users: Annotated[list[str] | None, About(_USERS)]
    on_new_message: Annotated[_OnNewMessage | None, About(_NEW_MESSAGE)]
    plugins: Annotated[list[str], About(_PLUGINS)]
    helpers: Annotated[list[str], About(_HELPERS)]
    skills: Annotated[list[str], About(_SKILLS)]
    credentials: Annotated[list[str], About(_CREDENTIALS)]
    knowledge: Annotated[list[str], About(_KNOWLEDGE)]
    effort: Annotated[_Effort | None, About(_EFFORT)]
    bindings: list[BindingView]

    @classmethod
    def of(cls, agent: Agent, bindings: Sequence[Binding]) -> Self:
        return cls.showing(agent, bindings=[BindingView.showing(binding) for binding in bindings])


class AgentVersionView(View):
    version: int
    at: Time
    by: Annotated[str, About("The id of a principal, or `configuration`.")]
    agent: AgentDetailView

    @classmethod
    def of(cls, version: AgentVersion) -> Self:
        return cls.showing(version, by=version.by_id, agent=AgentDetailView.of(version.agent, version.bindings))


class ChangedAgent(Body):
    """Omitted fields are unchanged."""

    name: str | None = None
    role: str | None = None
    description: str | None = None
    model: Annotated[str | None, CLEARING, About(_MODEL)] = None
    graph: Annotated[str | None, About(_GRAPH)] = None
    prompt: str | None = None
    fallbacks: Annotated[Texts | None, About(_FALLBACKS)] = None
    tools: Annotated[Texts | None, About(_TOOLS)] = None
    completion: _Completion | None = None
    context_tokens: Annotated[Whole | None, CLEARING, About(_CONTEXT)] = None
    timezone: Annotated[str | None, CLEARING] = None
    allow_users: Annotated[Texts | None, CLEARING, About(_USERS)] = None
    on_new_message: Annotated[_OnNewMessage | None, CLEARING, About(_NEW_MESSAGE)] = None
    plugins: Annotated[Texts | None, About(_PLUGINS)] = None
    helpers: Annotated[Texts | None, About(_HELPERS)] = None
    skills: Annotated[Texts | None, About(_SKILLS)] = None
    credentials: Annotated[Texts | None, About(_CREDENTIALS)] = None
    knowledge: Annotated[Texts | None, About(_KNOWLEDGE)] = None
    effort: Annotated[_Effort | None, CLEARING, About(_EFFORT)] = None


class NewAgent(ChangedAgent):
    slug: Annotated[str, About(pattern=f"^{SLUG.pattern}$")]
    name: Annotated[str | None, About("Default: the slug.")] = None
    bindings: list[NewBinding] | None = None

    def made(self) -> Agent:
        fields = self.sent()
        fields.pop("bindings", None)
        return agents.changed_agent(Agent(id="", slug=self.slug, name=self.slug), fields)


_DAY_MS = 86_400_000


class AgentSpanView(View):
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    errors: int


class AgentStatsView(View):
    week: AgentSpanView
    month: AgentSpanView
    last_active: Annotated[Time | None, About("The time of its newest message.")]


class AgentStatRoutes(Routes):
    def __init__(self, *, insights: Insights, store: Store, clock: Clock, zone: str) -> None:
        self._insights = insights
        self._store = store
        self._clock = clock
        self._zone = zone

    @route(
        "GET",
        "/api/agents/{agent}/stats",
        "Its calls and costs of the last 7 and 30 days",
        READ,
        {200: AgentStatsView},
    )
    async def _show(self, call: Call) -> Response:
        agent = await self._store.read(agents.find, call.id("agent"))
        if agent is None:
            raise agents.no_agent()
        newest = await self._insights.conversations(agent=agent.slug, limit=1, cursor=None)
        return answer(
            AgentStatsView(
                week=await self._span(agent, 7),
                month=await self._span(agent, 30),
                last_active=newest.items[0].last_message_at if newest.items else None,
            )
        )

    async def _span(self, agent: Agent, days: int) -> AgentSpanView:
        now = self._clock.now()
        report = await self._insights.usage(UsageBy.AGENT, now - days * _DAY_MS, now + 1, self._zone)
        sums = next((group.sums for group in report.groups if group.key == agent.id), None)
        if sums is None:
            return AgentSpanView(calls=0, input_tokens=0, output_tokens=0, cost_usd=0, errors=0)
        return AgentSpanView.showing(sums, cost_usd=sums.cost_micros / MICROS)


_ALL = "/api/agents"
_ONE = "/api/agents/{agent}"
_BINDINGS = f"{_ONE}/bindings"

#: The query parameter of the routes that can change the prompt.
_GATE = {"gate": {**FLAG, "description": "false: store a changed prompt even if it has not passed a required suite."}}
#: The maximum number of versions on a page. It is small because each version contains a whole prompt.
_MOST_VERSIONS = 20

#: A transaction script that changes an agent, such as `agents.update`.
Change = Callable[..., Agent]


class AgentRoutes(Routes):
    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock

    @route(
        "GET",
        _ALL,
        "List agents in order of creation",
        READ,
        {200: Page[AgentView]},
        query={"status": one_of(AgentStatus), "role": LABEL},
    )
    async def _list(self, call: Call) -> Response:
        status, role = call.choice("status", AgentStatus), call.query("role")
        known = await self._insights.agents(archived=status == AgentStatus.ARCHIVED)
        found = [agent for agent in known if status in {None, agent.status} and role in {None, agent.role}]
        return answer_page([AgentView.showing(agent) for agent in found], None)

    @route("GET", _ONE, "Show an agent, by id or slug", READ, {200: AgentDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(await self._agent(call))

    @route("POST", _ALL, "Create an agent", OWN, {201: AgentDetailView}, body=NewAgent, large=True)
    async def _create(self, call: Call) -> Response:
        body = await call.read(NewAgent)
        bindings = [binding.of("") for binding in body.bindings or ()]
        made = await self._store.write(
            agents.create, body.made(), bindings, by=await self._gate.principal_id(call.identity), now=self._clock.now()
        )
        return await self._shown(made, 201)

    @route(
        "PATCH",
        _ONE,
        "Change the fields in the body",
        OWN,
        {200: AgentDetailView},
        body=ChangedAgent,
        query=_GATE,
        large=True,
    )
    async def _update(self, call: Call) -> Response:
        changes = (await call.read(ChangedAgent)).sent()
        return await self._shown(
            await self._changed(call, partial(agents.update, gate=call.flag("gate", True)), changes)
        )

    @route("DELETE", _ONE, "Delete an agent; undo restores it", OWN, {200: AgentDetailView})
    async def _archive(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, agents.archive))

    @route("POST", f"{_ONE}/pause", "Pause an agent, so that it answers no messages", OPERATE, {200: AgentDetailView})
    async def _pause(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, agents.set_status, AgentStatus.PAUSED))

    @route("POST", f"{_ONE}/resume", "Resume an agent", OPERATE, {200: AgentDetailView})
    async def _resume(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, agents.set_status, AgentStatus.ACTIVE))

    @route("POST", f"{_ONE}/undo", "Restore the previous version", OWN, {200: AgentDetailView}, query=_GATE)
    async def _undo(self, call: Call) -> Response:
        return await self._shown(await self._changed(call, partial(agents.undo, gate=call.flag("gate", True))))

    @route(
        "GET",
        f"{_ONE}/versions",
        "List its versions, newest first",
        READ,
        {200: Page[AgentVersionView]},
        query={"limit": {**PAGING["limit"], "description": f"{_MOST_VERSIONS} at most."}},
    )
    async def _versions(self, call: Call) -> Response:
        agent = await self._agent(call)
        versions = await self._store.read(agents.versions, agent.id, min(call.limit, _MOST_VERSIONS))
        return answer_page([AgentVersionView.of(version) for version in versions], None)

    @route("GET", _BINDINGS, "List the channels that it is bound to", READ, {200: Page[BindingView]})
    async def _bindings(self, call: Call) -> Response:
        bindings = await self._store.read(_bindings_of, (await self._agent(call)).id)
        return answer_page([BindingView.showing(binding) for binding in bindings], None)

    @route("POST", _BINDINGS, "Bind it to a channel", OWN, {201: AgentDetailView}, body=NewBinding)
    async def _bind(self, call: Call) -> Response:
        agent = await self._agent(call)
        binding = (await call.read(NewBinding)).of(agent.id)
        await self._store.write(
            agents.bind, binding, by=await self._gate.principal_id(call.identity), now=self._clock.now()
        )
        return await self._shown(agent, 201)

    @route(
        "DELETE",
        _BINDINGS,
        "Remove it from a channel",
        OWN,
        {200: AgentDetailView},
        query={"platform": LABEL, "channel": LABEL},
    )
    async def _unbind(self, call: Call) -> Response:
        platform, channel = call.query("platform"), call.query("channel")
        if platform is None or channel is None:
            raise Unprocessable("`platform` and `channel` are required.", fix="Name the channel in the query.")
        agent = await self._agent(call)
        binding = Binding(platform, channel, agent.id, Permission.FULL)
        await self._store.write(
            agents.unbind, binding, by=await self._gate.principal_id(call.identity), now=self._clock.now()
        )
        return await self._shown(agent)

    async def _changed(self, call: Call, change: Change, *arguments: Any) -> Agent:
        agent = await self._agent(call)
        return await self._store.write(
            change, agent.id, *arguments, by=await self._gate.principal_id(call.identity), now=self._clock.now()
        )

    async def _agent(self, call: Call) -> Agent:
        agent = await self._store.read(agents.find, call.id("agent"))
        if agent is None:
            raise agents.no_agent()
        return agent

    async def _shown(self, agent: Agent, status: int = 200) -> Response:
        return answer(AgentDetailView.of(agent, await self._store.read(_bindings_of, agent.id)), status)


def _bindings_of(tx: Transaction, agent_id: str) -> Sequence[Binding]:
    return tx.agents.bindings(agent_id)
