"""The plugins of an agent in its turns, and the texts that plugins add to the messages of a conversation.

For an agent without plugins, this module reads and changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ToolError
from arvis.domain.executions import Execution
from arvis.domain.markup import escape
from arvis.domain.messages import OutgoingFile
from arvis.domain.plugins import Addition, AgentInput, AttributeSpec, CommandReply, Item, NextMessage, PluginBlock
from arvis.domain.quotations import is_forward
from arvis.domain.runs import RunResult
from arvis.domain.taint import Label
from arvis.domain.text import split_command
from arvis.engine.graph import End, NodeContext
from arvis.engine.state import changes
from arvis.graphs.context import TurnContext, TurnMessages, load_turn_messages
from arvis.llm.tokens import estimate_tokens
from arvis.plugins import Guarded, Plugins
from arvis.ports.plugin import PluginPlace, PluginTurn
from arvis.ports.store import Store, Transaction
from arvis.prompt import NO_EXTRAS, Extras, first_zone, reply_format
from arvis.services.activity import active_agents_block, activities
from arvis.tags import read
from arvis.tasks.state import BY_DAEMON, AgentState, RunTask, WorkOutcome, WorkState, WorkStatus
from arvis.tasks.task import is_run
from arvis.tools.workspace import outgoing_file

# -- additions expire in the history -----------------------------------------------------------------------------------
#
# For each part of an addition (such as the time, or the files of a workspace), the plugin decides if the model gets the
# part in the current turn, and for how many messages the history keeps the part. So each message has two copies: the
# displayed copy for the turn that answers the message, and the stored copy for later turns.


#: The lifetime of each part of a message: the number of messages for which the part is kept, including its own message.
#: None means permanently.
Policy = tuple[int | None, ...]

_NEWLINE = "\n"


@dataclass(frozen=True, slots=True)
class Kept:
    """The stored copy of a message: its parts, and in `policy` the lifetime of each part. If `policy` is None, nothing
    was ever added to the message."""

    content: tuple[str, ...]
    policy: Policy | None = None

    @property
    def text(self) -> str:
        return "".join(self.content)

    @property
    def added(self) -> str:
        """Return the added text: all parts after the first one, which is the original."""
        return "".join(self.content[1:])

    def to_json(self) -> dict[str, Any]:
        return {"content": list(self.content), "policy": None if self.policy is None else list(self.policy)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Kept:
        policy = data["policy"]
        return cls(tuple(data["content"]), None if policy is None else tuple(policy))


def display_copy(original: Sequence[str], additions: Sequence[Addition]) -> tuple[str, ...]:
    """Return the copy of a message that the model gets in the turn that answers the message."""
    return (*original, *(part for part, _ in _parts(additions, shown=True)))


def persistent_copy(original: Sequence[str], additions: Sequence[Addition]) -> Kept:
    """Return the copy of a message for later turns. The original text is kept permanently. A heading is kept as long as
    any item under it."""
    if not additions:
        return Kept(tuple(original))
    added = list(_parts(additions, shown=False))
    content = (*original, *(part for part, _ in added))
    return Kept(content, (*(None for _ in original), *(lasts for _, lasts in added)))


def clean(messages: Sequence[Kept]) -> list[Kept]:
    """Return the messages, oldest first, without expired parts and without messages that have no part left. The age of
    a message is the number of newer messages that have a policy."""
    cleaned: list[Kept] = []
    age = 0
    for message in reversed(messages):
        if message.policy is None:
            cleaned.append(message)
            continue
        if (left := _younger(message.content, message.policy, age)).content:
            cleaned.append(left)
        age += 1
    cleaned.reverse()
    return cleaned


def _parts(additions: Sequence[Addition], *, shown: bool) -> Iterator[tuple[str, int | None]]:
    """Yield each heading and each part of each item, together with its lifetime. A newline follows every item."""
    for addition in additions:
        chosen = [item for item in addition.items if (item.shown if shown else item.kept)]
        if chosen:
            yield addition.heading, _longest(chosen)
        for item in chosen:
            yield from ((part, item.lasts) for part in (*item.content, _NEWLINE))


def _longest(items: Sequence[Item]) -> int | None:
    lasts = [item.lasts for item in items]
    return None if None in lasts else max(each for each in lasts if each is not None)


def _younger(content: Sequence[str], policy: Policy, age: int) -> Kept:
    left = [(part, lasts) for part, lasts in zip(content, policy, strict=True) if lasts is None or lasts > age]
    return Kept(tuple(part for part, _ in left), tuple(lasts for _, lasts in left))


# Additions are stored beside the messages (docs/adr/0026). A stored copy contains only the additions: its first part is
# empty, because the message row contains the text of the person.


#: The maximum number of stored additions that are read for a prompt.
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Added:
    """The additions to one message."""

    #: The added text for the turn that answers the message.
    shown: str
    #: The copy for later turns.
    kept: Kept
    #: True if the text is untrusted.
    outside: bool

    @classmethod
    def of(cls, additions: Sequence[Addition]) -> Added:
        shown = "".join(display_copy(("",), additions))
        return cls(shown, persistent_copy(("",), additions), any(each.outside for each in additions))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Added:
        return cls(data["shown"], Kept.from_json(data["kept"]), data["outside"])

    def to_json(self) -> dict[str, Any]:
        return {"shown": self.shown, "kept": self.kept.to_json(), "outside": self.outside}


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The additions for a prompt, without expired ones."""

    #: The additions, by the id of the message.
    texts: Mapping[str, str] = field(default_factory=dict)
    #: True if some of the texts are untrusted.
    outside: bool = False
    #: The additions to store, by the id of the message.
    put: Mapping[str, Added] = field(default_factory=dict)
    #: The ids of the messages whose stored additions are deleted.
    drop: Collection[str] = ()


def load_added(tx: Transaction, conversation_id: str) -> dict[str, Added]:
    """Return the stored additions of a conversation, by the id of the message."""
    return {message: Added.from_json(data) for message, data in tx.plugin_additions.of(conversation_id, MOST_ROWS)}


def cleaned(
    known: Mapping[str, Added], new: Mapping[str, Added], current: Collection[str], past: Collection[str]
) -> Cleaned:
    """Remove expired additions from a conversation, and return the additions for the prompt of a turn. `known` are the
    stored additions. `new` are the additions to messages of the turn that had no stored additions. `current` are the
    ids of the turn's messages, and `past` the ids of the messages before the turn. Additions to other messages are
    dropped, because no later prompt contains these messages."""
    found = {message: known.get(message) or new[message] for message in sorted({*known, *new}) if message in current}
    found |= {message: added for message, added in known.items() if message in past}
    order = sorted(found)
    after = dict(zip(order, clean([found[message].kept for message in order]), strict=True))
    left = {message: Added(found[message].shown, after[message], found[message].outside) for message in order}
    texts = {message: each.shown if message in current else each.kept.added for message, each in left.items()}
    return Cleaned(
        texts={message: text for message, text in texts.items() if text},
        outside=any(left[message].outside for message, text in texts.items() if text),
        put={message: each for message, each in left.items() if known.get(message) != each},
        drop=[message for message in known if message not in left],
    )


def keep_added(tx: Transaction, conversation_id: str, found: Cleaned) -> None:
    for message, added in found.put.items():
        tx.plugin_additions.put(message, conversation_id, added.to_json())
    for message in found.drop:
        tx.plugin_additions.drop(message)


_Messages = TypeVar("_Messages", bound=TurnMessages)


@dataclass(frozen=True, slots=True)
class Brought:
    """The parts of a prompt that plugins add. `promise` contains, as JSON, the plugins that read the reply and the
    attributes that the reply must have. It is None if the agent has no plugins."""

    extras: Extras = NO_EXTRAS
    promise: Mapping[str, Any] | None = None


NOTHING = Brought()


@dataclass(frozen=True, slots=True)
class _Share:
    """The blocks and attributes of one plugin."""

    blocks: tuple[PluginBlock, ...]
    attributes: tuple[AttributeSpec, ...]


class Extending:
    """The interface of a turn to the agent's plugins. `sessions` is the directory that contains the folders of the
    conversations. `zone` is the time zone of the daemon."""

    def __init__(self, *, store: Store, plugins: Plugins, sessions: Path, zone: str) -> None:
        self._store = store
        self._plugins = plugins
        self._sessions = sessions
        self._zone = zone

    async def equip(self, turn: _Messages, task: RunTask | None) -> _Messages:
        """Return the turn with the tools of the agent's plugins. In a run, add only the tools that its task allows."""
        if not turn.agent.plugins:
            return turn
        brought = [name for plugin in await self._plugins.find(turn.agent.plugins) for name in await plugin.tools()]
        allowed = task.tools if task is not None else None
        more = [name for name in brought if allowed is None or name in allowed]
        return replace(turn, agent=replace(turn.agent, tools=tuple(dict.fromkeys((*turn.agent.tools, *more)))))

    async def open(self, context: NodeContext, turn: TurnContext) -> TurnContext | End:
        """Return the turn with the tools of the plugins, before its prompt is built. If the message is a command of a
        plugin, run the command. Then either end the turn with the plugin's answer (`End`), or replace the message by
        the text that the command returns."""
        if not turn.agent.plugins:
            return turn
        turn = await self.equip(turn, WorkState.from_json(context.state).run)
        spoken = split_command(turn.current[-1].content) if _may_be_command(context, turn) else None
        if spoken is None:
            return turn
        name, argument = spoken
        plugin = await self._plugin_of(turn.agent, name)
        if plugin is None:
            return turn
        message, replied = turn.current[-1], await plugin.command(self._turn(context, turn), name, argument)
        taint = WorkState.from_json(context.state).taint | {Label.TOOLS}
        match replied:
            case CommandReply(text):
                shown = escape(text)
                outcome = WorkOutcome(WorkStatus.DONE, shown)
                value = RunResult(shown, "", "", "").to_json() | {"outcome": outcome.to_json()}
                return End(value, **changes(WorkState, taint=taint, read=BY_DAEMON))
            case AgentInput(text):
                said = text.lstrip("/")
                context.record(_replace_text, message.id, said)
                return replace(turn, current=[replace(message, content=said)], taint=turn.taint | {Label.TOOLS})

    async def bring(self, context: NodeContext, turn: TurnContext) -> Brought:
        """Return the parts of the prompt that the plugins add."""
        if not turn.agent.plugins:
            return NOTHING
        plugins = await self._plugins.find(turn.agent.plugins)
        asked = self._turn(context, turn)
        shares = await asyncio.gather(*(_share(plugin, asked) for plugin in plugins))
        blocks = [block for share in shares for block in share.blocks]
        attributes = [spec for share in shares for spec in share.attributes]
        if (form := reply_format(attributes)) is not None:
            blocks.append(form)
        texts, outside = await self._added(context, turn, plugins, asked)
        promise = {
            "plugins": [plugin.name for plugin in plugins],
            "required": [spec.name for spec in attributes if spec.required],
        }
        outside = outside or any(block.outside for block in blocks)
        return Brought(Extras(blocks, texts, outside), promise)

    async def read_reply(
        self, context: NodeContext, promise: Mapping[str, Any] | None, content: str
    ) -> tuple[OutgoingFile, ...]:
        """Let the plugins read the last reply of a turn, and return the files that they send with it. Problems, such as
        missing attributes, are noted in the timeline. `promise`: see `Brought`."""
        if promise is None:
            return ()
        asked, reply = await self._store.read(load_turn_messages, context.execution), read(content)
        place = self._place(context, asked.agent)
        found = [
            await plugin.read_response(place, reply.attributes, reply.visible)
            for plugin in await self._plugins.find(promise["plugins"])
        ]
        problems = [f"{name} is missing" for name in promise["required"] if name not in reply.attributes]
        problems += [problem for each in found for problem in each.problems]
        files, failures = [], []
        for path in dict.fromkeys(path for each in found for path in each.files):
            try:
                files.append(await outgoing_file(self._store, place.workspace, path))
            except ToolError as refused:
                failures.append(f"{path[:200]}: {refused}")
        if problems or failures:
            context.record(_note, context.execution, problems, failures, context.now())
        return tuple(files)

    async def _added(
        self, context: NodeContext, turn: TurnContext, plugins: Sequence[Guarded], asked: PluginTurn
    ) -> tuple[Mapping[str, str], bool]:
        """Return the additions to the messages of the prompt, by message id. The second value is True if some additions
        are untrusted. A run has no additions, because its input is not a message of the conversation."""
        if is_run(context.execution):
            return {}, False
        known = await self._store.read(load_added, turn.conversation.id)
        new = {}
        for message in turn.current:
            if message.id not in known:
                found = [await plugin.addition(asked, message) for plugin in plugins]
                if additions := [each for each in found if each is not None]:
                    new[message.id] = Added.of(additions)
        current, past = {message.id for message in turn.current}, {message.id for message in turn.history}
        left = cleaned(known, new, current, past)
        if left.put or left.drop:
            context.record(keep_added, turn.conversation.id, left)
        return left.texts, left.outside

    async def _plugin_of(self, agent: Agent, command: str) -> Guarded | None:
        """Return the agent's first plugin with this command, or None."""
        for plugin in await self._plugins.find(agent.plugins):
            if any(each.name == command for each in await plugin.commands()):
                return plugin
        return None

    def _place(self, context: NodeContext, agent: Agent) -> PluginPlace:
        state = WorkState.from_json(context.state)
        return PluginPlace(
            agent=agent,
            conversation_id=state.conversation,
            address=state.address,
            workspace=workspace_of(self._sessions, state.conversation),
            zone=first_zone(agent.timezone, self._zone),
        )

    def _turn(self, context: NodeContext, turn: TurnContext) -> PluginTurn:
        place, agent_id = self._place(context, turn.agent), turn.agent.id

        async def working() -> Sequence[str]:
            return await self._store.read(_working, agent_id, context.now())

        return PluginTurn(
            agent=place.agent,
            conversation_id=place.conversation_id,
            address=place.address,
            workspace=place.workspace,
            zone=place.zone,
            execution_id=context.execution.id,
            principal_id=context.execution.principal_id,
            agents=turn.agents,
            working=working,
            direct=turn.conversation.direct,
            next_message=NextMessage.TOOL_RESPONSE
            if AgentState.from_json(context.state).rounds.count
            else NextMessage.USER_MESSAGE,
            now=context.now(),
        )


def workspace_of(sessions: Path, conversation_id: str) -> Path:
    return sessions / conversation_id / "workspace"


async def _share(plugin: Guarded, turn: PluginTurn) -> _Share:
    await plugin.ready(turn)
    blocks, tools = await plugin.blocks(turn), await plugin.tools()
    if blocks and tools and not blocks[0].tools:
        offered = tuple(name for name in tools if name in turn.agent.tools)
        blocks = (replace(blocks[0], tools=offered), *blocks[1:])
    return _Share(tuple(blocks), await plugin.attributes(turn))


def _may_be_command(context: NodeContext, turn: TurnContext) -> bool:
    """Return True if the turn answers a single message without files, which a person wrote, and has no rounds yet."""
    alone = len(turn.current) == 1 and not turn.current[0].attachments and not is_forward(turn.current[0].quotations)
    state = AgentState.from_json(context.state)
    return alone and not state.rounds.count and state.run is None and not state.task


# -- transaction scripts -----------------------------------------------------------------------------------------------


def _working(tx: Transaction, agent_id: str, now: int) -> list[str]:
    """Return one line for each other agent that is working now."""
    return active_agents_block(activities(tx, now), agent_id).splitlines()[1:]


def _replace_text(tx: Transaction, message_id: str, text: str) -> None:
    tx.incoming.replace_text(message_id, text, estimate_tokens(text))
    tx.messages.label(message_id, frozenset({Label.TOOLS}))


def _note(tx: Transaction, execution: Execution, problems: Sequence[str], failures: Sequence[str], now: int) -> None:
    """Note the problems of a reply in the timeline. A file that could not be sent is also an incident, because the
    agent may have announced it."""
    asked = [message.id for message in tx.messages.of_turn(execution.id)]
    for problem in (*problems, *failures):
        tx.timeline.note(asked, "reply_problem", {"problem": problem}, now)
    for failure in failures:
        tx.incidents.add(
            WorkState.from_json(execution.state).conversation,
            f"A file was not sent with your last answer. {failure}",
            now,
        )
