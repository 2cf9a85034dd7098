"""Memory over HTTP: the facts that agents keep, their sources, and corrections by people.

A chat key sees, deletes and undoes only facts about its own person. Viewers may read all facts; owners and operators
may change them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from starlette.responses import Response

from arvis.domain.agents import Agent
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.memory import EVERYWHERE, Category, Fact, FactStatus, NewFact, State, asked_words, principal_scope
from arvis.memory import Refused, confirm, forget, remember, undo
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.memory import FactChange
from arvis.ports.store import Store, Transaction
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import ANYONE, OPERATE, READ, SEND
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import (
    INTEGER,
    LABEL,
    NUMBER,
    OK,
    STRING,
    TIME,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
    page_schema,
)
from arvis.web.http.views import Json, page_view

_SCOPE = re.compile(r"agent|principal:[A-Za-z0-9_-]{1,64}|room:[^:]{1,50}:[^:]{1,200}:.{1,600}")

AGENT: Schema = {**LABEL, "description": "Its slug or id."}
SCOPE: Schema = {
    **STRING,
    "description": "principal:ID, room:PLATFORM:CONNECTOR:CHANNEL:THREAD, or agent (everywhere).",
}
TAINT: Schema = {**array(STRING), "description": "Its unconfirmed sources; empty: confirmed."}
FACT = object_schema(
    {
        "id": STRING,
        "number": INTEGER,
        "agent": STRING,
        "scope": SCOPE,
        "category": one_of(Category),
        "content": STRING,
        "taint": TAINT,
        "authorId": optional(STRING),
        "messageId": optional(STRING),
        "executionId": optional(STRING),
        "confidence": {**NUMBER, "minimum": 0, "maximum": 1},
        "status": one_of(FactStatus),
        "supersededBy": optional(STRING),
        "accessedAt": TIME,
        "accessCount": INTEGER,
        "expiresAt": optional(TIME),
        "createdAt": TIME,
        "updatedAt": TIME,
    }
)
FACT_CHANGE = object_schema(
    {
        "id": STRING,
        "change": STRING,
        "replacedById": {**optional(STRING), "description": "The fact that replaced it."},
        "undoes": {**optional(STRING), "description": "The change that this change undid."},
        "changedById": STRING,
        "at": TIME,
    }
)
FACT_DETAIL = object_schema({**FACT["properties"], "changes": array(FACT_CHANGE)})
NEW_FACT = object_schema(
    {"agent": AGENT, "content": STRING, "category": one_of(Category), "scope": {**SCOPE, "default": EVERYWHERE}},
    required=("agent", "content"),
)
KEPT = object_schema(
    {
        **FACT["properties"],
        "outcome": {
            **STRING,
            "description": "added, refreshed (the fact was known) or superseded (it replaced an older fact).",
        },
        "previousId": {**optional(STRING), "description": "The fact that it replaced."},
    }
)
UNDO = object_schema({"agent": AGENT, "scope": {**SCOPE, "default": EVERYWHERE}}, required=("agent",))
UNDONE = object_schema({"undone": STRING})
STATE = object_schema(
    {
        "agent": STRING,
        "scope": SCOPE,
        "key": STRING,
        "value": STRING,
        "taint": TAINT,
        "authorId": optional(STRING),
        "messageId": optional(STRING),
        "updatedAt": TIME,
    }
)
FILTERS: Mapping[str, Schema] = {
    "agent": AGENT,
    "scope": SCOPE,
    "category": one_of(Category),
    "status": {**one_of(FactStatus), "description": "Default: active."},
    "q": {**STRING, "description": "Search words. Best matches first, on one page."},
}


def fact_view(fact: Fact, agents: Mapping[str, str]) -> Json:
    """Return a fact. `agents` maps agent ids to slugs; a deleted agent is shown by its id."""
    return {
        "id": fact.id,
        "number": fact.number,
        "agent": agents.get(fact.agent_id, fact.agent_id),
        "scope": fact.scope,
        "category": fact.category,
        "content": fact.content,
        "taint": sorted(fact.taint),
        "authorId": fact.author_id,
        "messageId": fact.message_id,
        "executionId": fact.execution_id,
        "confidence": fact.confidence / 1000,
        "status": fact.status,
        "supersededBy": fact.superseded_by,
        "accessedAt": fact.accessed_at,
        "accessCount": fact.access_count,
        "expiresAt": fact.expires_at,
        "createdAt": fact.created_at,
        "updatedAt": fact.updated_at,
    }


def fact_detail_view(fact: Fact, changes: Sequence[FactChange], agents: Mapping[str, str]) -> Json:
    return {**fact_view(fact, agents), "changes": [_change_view(change) for change in changes]}


def state_view(state: State, agents: Mapping[str, str]) -> Json:
    return {
        "agent": agents.get(state.agent_id, state.agent_id),
        "scope": state.scope,
        "key": state.key,
        "value": state.value,
        "taint": sorted(state.taint),
        "authorId": state.author_id,
        "messageId": state.message_id,
        "updatedAt": state.updated_at,
    }


def named_scope(fields: Fields) -> str | None:
    scope = fields.label("scope", most=1000)
    if scope is not None and not _SCOPE.fullmatch(scope):
        raise unusable("scope", "must be agent, principal:ID or room:PLATFORM:CONNECTOR:CHANNEL:THREAD")
    return scope


def named_category(fields: Fields) -> Category:
    text = fields.text("category") or Category.LEARNED_PATTERN
    if text not in {str(member) for member in Category}:
        raise unusable("category", "must be one of " + ", ".join(Category))
    return Category(text)


def _change_view(change: FactChange) -> Json:
    return {
        "id": change.id,
        "change": change.change,
        "replacedById": change.other_id,
        "undoes": change.undoes,
        "changedById": change.by_id,
        "at": change.at,
    }


_ALL = "/api/memory"
_ONE = "/api/memory/{fact}"
_STATES = "/api/memory/states"


class MemoryRoutes:
    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        found, states = {**PAGING, **FILTERS}, {"agent": AGENT, "scope": SCOPE}
        added = {200: KEPT, 201: KEPT}
        return [
            Endpoint(
                "GET", _ALL, "List facts, newest first", ANYONE, self._list, {200: page_schema(FACT)}, query=found
            ),
            Endpoint("POST", _ALL, "Add a fact to an agent's memory", OPERATE, self._add, added, body=NEW_FACT),
            Endpoint(
                "GET",
                _STATES,
                "List values by agent, scope and key",
                ANYONE,
                self._states,
                {200: page_schema(STATE)},
                query={**PAGING, **states},
            ),
            Endpoint(
                "DELETE",
                _STATES,
                "Delete a value",
                SEND,
                self._remove_state,
                {200: OK},
                query={**states, "key": LABEL},
            ),
            Endpoint(
                "POST",
                f"{_ALL}/undo",
                "Undo the newest change of a scope",
                SEND,
                self._undo,
                {200: UNDONE},
                body=UNDO,
            ),
            Endpoint("GET", _ONE, "Show a fact and its changes", ANYONE, self._show, {200: FACT_DETAIL}),
            Endpoint("DELETE", _ONE, "Delete a fact; undo restores it", SEND, self._forget, {200: OK}),
            Endpoint("POST", f"{_ONE}/confirm", "Confirm a fact", OPERATE, self._confirm, {200: FACT_DETAIL}),
        ]

    async def _list(self, call: Call) -> Response:
        asked, category = call.query("q"), call.choice("category", Category)
        status, words = call.choice("status", FactStatus), asked_words(asked or "")
        if asked and not words:
            return answer(page_view([], None))
        page = await self._insights.facts(
            agent=call.query("agent"),
            scope=await self._scope(call, call.query("scope")),
            category=Category(category) if category else None,
            status=FactStatus(status or FactStatus.ACTIVE),
            words=words,
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        agents = await self._slugs()
        return answer(page_view([fact_view(fact, agents) for fact in page.items], page.next_cursor))

    async def _add(self, call: Call) -> Response:
        fields = await call.fields()
        agent = await self._agent(fields.label("agent"))
        by_id = await self._gate.principal_id(call.identity)
        new = NewFact(
            agent_id=agent.id,
            scope=named_scope(fields) or EVERYWHERE,
            category=named_category(fields),
            content=fields.required_text("content"),
            author_id=by_id,
        )
        match await self._store.write(remember, new, by_id=by_id, now=self._clock.now()):
            case Refused(problem, fix):
                raise Unprocessable(problem, fix=fix)
            case kept:
                outcome = {"outcome": kept.kind, "previousId": kept.old.id if kept.old else None}
                shown = {**fact_view(kept.fact, {agent.id: agent.slug}), **outcome}
                return answer(shown, 200 if kept.old and kept.old.id == kept.fact.id else 201)

    async def _show(self, call: Call) -> Response:
        return await self._shown(await self._fact(call))

    async def _forget(self, call: Call) -> Response:
        fact = await self._fact(call)
        if (
            await self._store.write(
                forget, fact.id, by_id=await self._gate.principal_id(call.identity), now=self._clock.now()
            )
            is None
        ):
            raise Conflict("This fact has been deleted already.", fix="Undo the deletion to restore it.")
        return answer({"ok": True})

    async def _confirm(self, call: Call) -> Response:
        fact = await self._fact(call)
        confirmed = await self._store.write(
            confirm, fact.id, by_id=await self._gate.principal_id(call.identity), now=self._clock.now()
        )
        if confirmed is None:
            raise Conflict(f"This fact is {fact.status}.", fix="Only active facts can be confirmed.")
        return await self._shown(confirmed)

    async def _undo(self, call: Call) -> Response:
        fields = await call.fields()
        agent = await self._agent(fields.label("agent"))
        scope = await self._scope(call, named_scope(fields)) or EVERYWHERE
        by_id = await self._gate.principal_id(call.identity)
        undone = await self._store.write(undo, agent.id, [scope], by_id=by_id, now=self._clock.now())
        if undone is None:
            raise Conflict("There is nothing to undo.", fix="Look at the facts: GET /api/memory.")
        return answer({"undone": undone})

    async def _states(self, call: Call) -> Response:
        page = await self._insights.states(
            agent=call.query("agent"),
            scope=await self._scope(call, call.query("scope")),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        agents = await self._slugs()
        return answer(page_view([state_view(state, agents) for state in page.items], page.next_cursor))

    async def _remove_state(self, call: Call) -> Response:
        agent, key = await self._agent(call.query("agent")), call.query("key") or ""
        scope = await self._scope(call, call.query("scope")) or EVERYWHERE
        if not await self._store.write(_remove_state, agent.id, scope, key):
            raise NotFound("There is no such key.", fix="Look it up: GET /api/memory/states.")
        return answer({"ok": True})

    async def _shown(self, fact: Fact) -> Response:
        changes = await self._insights.fact_changes(fact.id)
        return answer(fact_detail_view(fact, changes, await self._slugs()))

    async def _fact(self, call: Call) -> Fact:
        """Return the fact if the caller may see it."""
        fact = await self._insights.fact(call.id("fact"))
        if fact is None or await self._scope(call, fact.scope) != fact.scope:
            raise NotFound("There is no such fact.", fix="Look it up: `arvis memory list`, GET /api/memory.")
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
            raise NotFound("There is no such agent.", fix="Look it up: GET /api/agents.")
        return agent

    async def _slugs(self) -> Mapping[str, str]:
        return {agent.id: agent.slug for agent in await self._insights.agents()}


def _find_agent(tx: Transaction, named: str) -> Agent | None:
    return tx.agents.by_slug(named) or tx.agents.get(named)


def _remove_state(tx: Transaction, agent_id: str, scope: str, key: str) -> bool:
    return tx.agent_state.remove(agent_id, scope, key)
