"""Memory over HTTP: the facts that agents store, their sources, and corrections by people.

A chat key can read and delete only facts about its own person, and undo only changes of such facts. Viewers may read
all facts; owners and operators may change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.agents import Agent
from arvis.domain.dataclass import replace
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.memory import EVERYWHERE, Category, Fact, FactStatus, NewFact, State, asked_words, principal_scope
from arvis.domain.regex import regex
from arvis.memory.service import Refused, Remembered, confirm, correct, forget, remember, undo
from arvis.ports.clock import Clock
from arvis.ports.embeddings import MeaningOf
from arvis.ports.insights import Insights
from arvis.ports.memory import FactChange
from arvis.ports.store import Store, Transaction
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import ANYONE, OPERATE, READ, SEND
from arvis.web.http.models import CLEARING, MEMBER, About, Body, Label, Moment, OkView, Page, Printable, Time, View
from arvis.web.http.requests import unusable
from arvis.web.http.schema import LABEL, STRING, Schema, one_of

_SCOPE = regex(r"agent|principal:[A-Za-z0-9_-]{1,64}|room:[^:]{1,50}:[^:]{1,200}:.{1,600}")

_AGENT = "Its slug or id."
_PLACE = "principal:ID, room:PLATFORM:CONNECTOR:CHANNEL:THREAD, or agent (everywhere)."
_EXPIRES = "The time (ms since the epoch) from which prompts do not contain it; null: its category decides."
_VALID_FROM = "The time (ms since the epoch) from which it is true; null: unknown."
_VALID_UNTIL = (
    "The time (ms since the epoch) until which it is true; null: unknown. Prompts contain it only while it is true."
)
_Scope = Annotated[str, About(_PLACE)]
_Taint = Annotated[list[str], About("Its unconfirmed sources; empty: confirmed.")]


class FactView(View):
    id: str
    number: int
    agent: str
    scope: _Scope
    category: Category
    content: str
    taint: _Taint
    author_id: str | None
    message_id: str | None
    execution_id: str | None
    confidence: Annotated[float, About(minimum=0, maximum=1)]
    status: FactStatus
    superseded_by: str | None
    accessed_at: Time
    access_count: Annotated[int, About("The number of uses, at most one per hour.")]
    expires_at: Time | None
    valid_from: Annotated[Time | None, About("The time from which it is true; null: unknown.")]
    valid_until: Annotated[Time | None, About("The time until which it is true; null: unknown.")]
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, fact: Fact, agents: Mapping[str, str], /, **others: Any) -> Self:
        """Return a fact. `agents` maps agent ids to slugs; a deleted agent is shown by its id."""
        return cls.showing(
            fact,
            agent=agents.get(fact.agent_id, fact.agent_id),
            taint=sorted(fact.taint),
            confidence=fact.confidence / 1000,
            **others,
        )


class FactChangeView(View):
    id: str
    change: str
    replaced_by_id: Annotated[str | None, About("The fact that replaced it.")]
    undoes: Annotated[str | None, About("The change that this change undid.")]
    changed_by_id: str
    at: Time

    @classmethod
    def of(cls, change: FactChange) -> Self:
        return cls.showing(change, replaced_by_id=change.other_id, changed_by_id=change.by_id)


class FactDetailView(FactView):
    changes: list[FactChangeView]
    replaces: Annotated[list[FactView], About("The facts that it replaced, newest first, with their own sources.")]


class StoredFactView(FactView):
    outcome: Annotated[str, About("added, refreshed (the fact was known) or superseded (it replaced an older fact).")]
    previous_id: Annotated[str | None, About("The fact that it replaced.")]


class UndoneFactView(View):
    undone: str


class StateView(View):
    agent: str
    scope: _Scope
    key: str
    value: str
    taint: _Taint
    author_id: str | None
    message_id: str | None
    updated_at: Time

    @classmethod
    def of(cls, state: State, agents: Mapping[str, str]) -> Self:
        return cls.showing(state, agent=agents.get(state.agent_id, state.agent_id), taint=sorted(state.taint))


class InScope(Body):
    agent: Annotated[Label, About(_AGENT)]
    scope: Annotated[Annotated[str, Printable(1000)] | None, About(_PLACE, default=EVERYWHERE)] = None

    def named_scope(self) -> str | None:
        if self.scope is not None and not _SCOPE.fullmatch(self.scope):
            raise unusable("scope", "must be agent, principal:ID or room:PLATFORM:CONNECTOR:CHANNEL:THREAD")
        return self.scope


class NewFactBody(InScope):
    content: str
    category: Annotated[Category | None, MEMBER] = None
    expires_at: Annotated[Moment | None, About(_EXPIRES)] = None
    valid_from: Annotated[Moment | None, About(_VALID_FROM)] = None
    valid_until: Annotated[Moment | None, About(_VALID_UNTIL)] = None


class ChangedFactBody(Body):
    content: Annotated[str | None, About("The correct text. It replaces the fact, which stays in the history.")] = None
    expires_at: Annotated[Moment | None, CLEARING, About(_EXPIRES)] = None
    valid_from: Annotated[Moment | None, CLEARING, About(_VALID_FROM)] = None
    valid_until: Annotated[Moment | None, CLEARING, About(_VALID_UNTIL)] = None


_ALL = "/api/memory"
_ONE = "/api/memory/{fact}"
_STATES = "/api/memory/states"
_OF_SCOPE: Mapping[str, Schema] = {
    "agent": {**LABEL, "description": _AGENT},
    "scope": {**STRING, "description": _PLACE},
}
_FILTERS: Mapping[str, Schema] = {
    **_OF_SCOPE,
    "category": one_of(Category),
    "status": {**one_of(FactStatus), "description": "Default: active."},
    "q": {**STRING, "description": "Search words. Best matches first, on one page."},
}


class MemoryRoutes(Routes):
    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock, meaning: MeaningOf) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock
        self._meaning = meaning

    @route("GET", _ALL, "List facts, newest first", ANYONE, {200: Page[FactView]}, query={**PAGING, **_FILTERS})
    async def _list(self, call: Call) -> Response:
        asked, category = call.query("q"), call.choice("category", Category)
        status, words = call.choice("status", FactStatus), asked_words(asked or "")
        if asked and not words:
            return answer_page([], None)
        # Neither a search by meaning nor a search by words finds inactive facts.
        is_active = status in {None, FactStatus.ACTIVE}
        page = await self._insights.facts(
            agent=call.query("agent"),
            scope=await self._scope(call, call.query("scope")),
            category=Category(category) if category else None,
            status=FactStatus(status or FactStatus.ACTIVE),
            words=words,
            limit=call.limit,
            cursor=call.query("cursor"),
            meaning=await self._meaning(asked) if asked and is_active else None,
        )
        agents = await self._slugs()
        return answer_page([FactView.of(fact, agents) for fact in page.items], page.next_cursor)

    @route(
        "POST",
        _ALL,
        "Add a fact to an agent's memory",
        OPERATE,
        {200: StoredFactView, 201: StoredFactView},
        body=NewFactBody,
    )
    async def _add(self, call: Call) -> Response:
        body = await call.read(NewFactBody)
        agent, by_id = await self._agent(body.agent), await self._gate.principal_id(call.identity)
        new = NewFact(
            agent_id=agent.id,
            scope=body.named_scope() or EVERYWHERE,
            category=body.category or Category.LEARNED_PATTERN,
            content=body.content,
            author_id=by_id,
            expires_at=body.expires_at,
            valid_from=body.valid_from,
            valid_until=body.valid_until,
        )
        match await self._store.write(remember, new, by_id=by_id, now=self._clock.now()):
            case Refused(problem, fix):
                raise Unprocessable(problem, fix=fix)
            case kept:
                old = kept.old.id if kept.old else None
                shown = StoredFactView.of(kept.fact, {agent.id: agent.slug}, outcome=kept.kind, previous_id=old)
                return answer(shown, 200 if old == kept.fact.id else 201)

    @route(
        "GET",
        _STATES,
        "List values by agent, scope and key",
        ANYONE,
        {200: Page[StateView]},
        query={**PAGING, **_OF_SCOPE},
    )
    async def _states(self, call: Call) -> Response:
        page = await self._insights.states(
            agent=call.query("agent"),
            scope=await self._scope(call, call.query("scope")),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        agents = await self._slugs()
        return answer_page([StateView.of(state, agents) for state in page.items], page.next_cursor)

    @route("DELETE", _STATES, "Delete a value", SEND, {200: OkView}, query={**_OF_SCOPE, "key": LABEL})
    async def _remove_state(self, call: Call) -> Response:
        agent, key = await self._agent(call.query("agent")), call.query("key") or ""
        scope = await self._scope(call, call.query("scope")) or EVERYWHERE
        if not await self._store.write(_remove_state, agent.id, scope, key):
            raise NotFound("There is no such key.", fix="GET /api/memory/states lists the keys.")
        return done()

    @route("POST", f"{_ALL}/undo", "Undo the newest change of a scope", SEND, {200: UndoneFactView}, body=InScope)
    async def _undo(self, call: Call) -> Response:
        body = await call.read(InScope)
        agent = await self._agent(body.agent)
        scope = await self._scope(call, body.named_scope()) or EVERYWHERE
        by_id = await self._gate.principal_id(call.identity)
        undone = await self._store.write(undo, agent.id, [scope], by_id=by_id, now=self._clock.now())
        if undone is None:
            raise Conflict("There is nothing to undo.", fix="GET /api/memory lists the facts.")
        return answer(UndoneFactView(undone=undone))

    @route("GET", _ONE, "Show a fact and its changes", ANYONE, {200: FactDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(await self._fact(call))

    @route(
        "PATCH",
        _ONE,
        "Correct a fact, or set when it expires and when it is true",
        SEND,
        {200: StoredFactView},
        body=ChangedFactBody,
    )
    async def _correct(self, call: Call) -> Response:
        fact, changes = await self._fact(call), (await call.read(ChangedFactBody)).sent()
        by_id = await self._gate.principal_id(call.identity)
        match await self._store.write(_correct, fact.id, changes, by_id=by_id, now=self._clock.now()):
            case None:
                what = "This fact cannot be corrected, because it was replaced or deleted, or has faded."
                raise Conflict(what, fix="Correct an active or ended fact instead.")
            case Refused(problem, fix):
                raise Unprocessable(problem, fix=fix)
            case kept:
                old = kept.old.id if kept.old else None
                return answer(StoredFactView.of(kept.fact, await self._slugs(), outcome=kept.kind, previous_id=old))

    @route("DELETE", _ONE, "Delete a fact; undo restores it", SEND, {200: OkView})
    async def _forget(self, call: Call) -> Response:
        fact = await self._fact(call)
        if (
            await self._store.write(
                forget, fact.id, by_id=await self._gate.principal_id(call.identity), now=self._clock.now()
            )
            is None
        ):
            raise Conflict("This fact has been deleted already.", fix="Undo the deletion to restore it.")
        return done()

    @route("POST", f"{_ONE}/confirm", "Confirm a fact", OPERATE, {200: FactDetailView})
    async def _confirm(self, call: Call) -> Response:
        fact = await self._fact(call)
        confirmed = await self._store.write(
            confirm, fact.id, by_id=await self._gate.principal_id(call.identity), now=self._clock.now()
        )
        if confirmed is None:
            raise Conflict(f"This fact is {fact.status}.", fix="Only active facts can be confirmed.")
        return await self._shown(confirmed)

    async def _shown(self, fact: Fact) -> Response:
        changes = await self._insights.fact_changes(fact.id)
        shown, agents = [FactChangeView.of(change) for change in changes], await self._slugs()
        replaced = [FactView.of(old, agents) for old in await self._insights.replaced_facts(fact.id)]
        return answer(FactDetailView.of(fact, agents, changes=shown, replaces=replaced))

    async def _fact(self, call: Call) -> Fact:
        """Return the fact if the caller may see it."""
        fact = await self._insights.fact(call.id("fact"))
        if fact is None or await self._scope(call, fact.scope) != fact.scope:
            raise NotFound("There is no such fact.", fix="`arvis memory list` and GET /api/memory list the facts.")
        return fact

    async def _scope(self, call: Call, wanted: str | None) -> str | None:
        """Return the requested scope. For a chat key it is always the scope of its own person."""
        if call.identity.role in READ:
            return wanted
        return principal_scope(await self._gate.principal_id(call.identity))

    async def _agent(self, named: str | None) -> Agent:
        if named is None:
            raise unusable("agent", "is missing")
        agent = await self._store.read(_find_agent, named)
        if agent is None:
            raise NotFound("There is no such agent.", fix="GET /api/agents lists the agents.")
        return agent

    async def _slugs(self) -> Mapping[str, str]:
        return {agent.id: agent.slug for agent in await self._insights.agents()}


def _correct(
    tx: Transaction, fact_id: str, changes: Mapping[str, Any], *, by_id: str, now: int
) -> Remembered | Refused | None:
    fact = tx.facts.get(fact_id)
    if fact is None or fact.status not in {FactStatus.ACTIVE, FactStatus.ENDED}:
        return None
    return correct(tx, fact, replace(fact, **changes), by_id=by_id, now=now)


def _find_agent(tx: Transaction, named: str) -> Agent | None:
    return tx.agents.by_slug(named) or tx.agents.get(named)


def _remove_state(tx: Transaction, agent_id: str, scope: str, key: str) -> bool:
    return tx.agent_state.remove(agent_id, scope, key)
