"""Rewind over HTTP: answer a message again, with the same or another text, and list and switch the versions of a
conversation. A key or session with the role `chat` may rewind only to messages of its person."""

from __future__ import annotations

import secrets
from typing import Annotated, Self

from starlette.responses import Response

from arvis.domain.conversations import ConversationVersion, EarlierEffects
from arvis.domain.money import MICROS
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations, RewoundConversation
from arvis.ports.store import Store
from arvis.web.auth.authorization import Authorizer, visible_talk
from arvis.web.http.endpoints import Call, Routes, answer, answer_page, route
from arvis.web.http.identity import ANYONE, SEND, address_for
from arvis.web.http.models import About, Body, Label, Page, Time, View
from arvis.web.http.requests import unusable

#: The maximum number of versions in a list.
_MOST_VERSIONS = 1_000


class EarlierEffectView(View):
    execution_id: str
    name: Annotated[str, About("The name of a tool, or the kind of an action, such as `remember`.")]
    detail: Annotated[str, About("The arguments of the call, or the report of the action, shortened.")]
    failed: Annotated[bool, About("True if the call reported an error. It may have changed something nevertheless.")]


class EarlierEffectsView(View):
    turns: Annotated[int, About("The number of turns that become inactive.")]
    sent: Annotated[int, About("The number of agents' messages on chat platforms, where they stay visible.")]
    cost_usd: float
    effects: list[EarlierEffectView]

    @classmethod
    def of(cls, found: EarlierEffects) -> Self:
        effects = [EarlierEffectView.showing(each) for each in found.effects]
        return cls.showing(found, cost_usd=found.cost_micros / MICROS, effects=effects)


class ConversationVersionView(View):
    id: str
    conversation_id: str
    point_id: Annotated[str, About("All versions that continue from the same point have the same value.")]
    message_id: Annotated[str, About("The first message of the version.")]
    active: bool
    created_at: Time

    @classmethod
    def of(cls, version: ConversationVersion) -> Self:
        return cls.showing(version)


class RewoundView(View):
    version: ConversationVersionView
    effects: Annotated[EarlierEffectsView, About("The effects of the turns that became inactive. They are not undone.")]

    @classmethod
    def of(cls, rewound: RewoundConversation) -> Self:
        return cls(version=ConversationVersionView.of(rewound.version), effects=EarlierEffectsView.of(rewound.effects))


class EditedMessage(Body):
    content: Annotated[str, About("The new text of the message.", minLength=1)]


class NewBranch(Body):
    channel_id: Annotated[Label | None, About("A channel without a conversation; default: a new one.")] = None


class BranchView(View):
    conversation_id: str
    channel_id: str
    agent: Annotated[str, About("The agent of the conversation, for `agent` of messages to the channel.")]


_MESSAGE, _VERSIONS = "/api/messages/{message}", "/api/conversations/{conversation}/versions"


class RewindRoutes(Routes):
    def __init__(self, *, insights: Insights, operations: Operations, store: Store, gate: Authorizer) -> None:
        self._insights = insights
        self._operations = operations
        self._store = store
        self._gate = gate

    @route(
        "GET",
        f"{_MESSAGE}/effects",
        "List the effects of a message's turn and of all later turns, which a rewind to the message does not undo",
        SEND,
        {200: EarlierEffectsView},
    )
    async def _effects(self, call: Call) -> Response:
        by = await self._gate.asker(call.identity)
        return answer(EarlierEffectsView.of(await self._operations.earlier_effects(call.id("message"), by)))

    @route(
        "POST",
        f"{_MESSAGE}/regenerate",
        "Answer the turn of a message or reply again, in a new version of the conversation",
        SEND,
        {200: RewoundView},
    )
    async def _regenerate(self, call: Call) -> Response:
        return await self._again(call, None)

    @route(
        "POST",
        f"{_MESSAGE}/edit",
        "Replace the text of a person's message and answer it again, in a new version of the conversation",
        SEND,
        {200: RewoundView},
        body=EditedMessage,
    )
    async def _edit(self, call: Call) -> Response:
        content = (await call.read(EditedMessage)).content
        if not content.strip():
            raise unusable("content", "must not be empty")
        return await self._again(call, content)

    @route(
        "GET",
        _VERSIONS,
        "List the versions of a conversation, in the order in which they began",
        ANYONE,
        {200: Page[ConversationVersionView]},
    )
    async def _versions(self, call: Call) -> Response:
        conversation_id = call.id("conversation")
        await visible_talk(self._insights, self._gate, call.identity, conversation_id)
        found = await self._store.read(lambda tx: tx.conversation_versions.of(conversation_id, _MOST_VERSIONS))
        return answer_page([ConversationVersionView.of(each) for each in found], None)

    @route(
        "POST",
        f"{_VERSIONS}/{{version}}/activate",
        "Switch to a version of a conversation; the version that was active before is kept",
        SEND,
        {200: RewoundView},
    )
    async def _activate(self, call: Call) -> Response:
        conversation_id = call.id("conversation")
        await visible_talk(self._insights, self._gate, call.identity, conversation_id)
        by = await self._gate.asker(call.identity)
        return answer(RewoundView.of(await self._operations.switch_version(conversation_id, call.id("version"), by)))

    @route(
        "POST",
        f"{_MESSAGE}/branch",
        "Begin a conversation in another channel with copies of all messages up to the end of this message's turn",
        SEND,
        {201: BranchView},
        body=NewBranch,
    )
    async def _branch(self, call: Call) -> Response:
        identity, named = call.identity, (await call.read(NewBranch)).channel_id
        place = address_for(identity, named or f"web-{identity.user_id}-branch-{secrets.token_hex(5)}")
        branch = await self._operations.branch_conversation(call.id("message"), place, await self._gate.asker(identity))
        agent = await self._store.read(lambda tx: tx.agents.get(branch.agent_id))
        slug = agent.slug if agent is not None else ""
        return answer(BranchView(conversation_id=branch.id, channel_id=place.channel, agent=slug), 201)

    async def _again(self, call: Call, content: str | None) -> Response:
        by, sender = await self._gate.asker(call.identity), self._gate.sender(call.identity)
        rewound = await self._operations.answer_again(call.id("message"), by, sender, content=content)
        return answer(RewoundView.of(rewound))
