"""Graph `reset`: after a conversation is closed, the plugins delete their data about the conversation, and its folder
is removed. The messages of the conversation are kept.

The reset is a separate execution in the lane of the closed conversation. So a running turn keeps the folder until the
turn ends, a crash only restarts the reset, and the next conversation does not wait for the reset.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation
from arvis.domain.dataclass import dataclass
from arvis.domain.jobs import NewJob, Priority
from arvis.engine import lifecycle
from arvis.engine.graph import Decision, End, Graph, NodeContext
from arvis.engine.state import changes
from arvis.graphs.agent.plugins import workspace_of
from arvis.plugins import Plugins
from arvis.ports.plugin import PluginPlace
from arvis.ports.store import Store, Transaction
from arvis.prompt import first_zone
from arvis.tasks.state import WorkState
from arvis.tools.workspace import remove_folder

GRAPH = "reset"


@dataclass(frozen=True, slots=True)
class ResetState(WorkState):
    #: Id of the closed conversation.
    closed: str = ""


def begin_reset(tx: Transaction, conversation: Conversation, principal_id: str | None, now: int) -> None:
    """Store the execution of the reset and its job. The job waits for the jobs that are in the lane already."""
    state = changes(ResetState, closed=conversation.id, agent=conversation.agent_id, address=conversation.address)
    execution = lifecycle.begin(
        tx,
        tx.new_id(),
        GRAPH,
        state,
        lane=conversation.lane,
        priority=Priority.BACKGROUND,
        principal_id=principal_id,
        now=now,
    )
    tx.jobs.add(NewJob.advance(execution.id, conversation.lane, Priority.BACKGROUND, principal_id=principal_id), now)


def reset_graph(*, store: Store, plugins: Plugins, sessions: Path, zone: str) -> Graph:
    """Return the graph. `zone` is the time zone of the daemon, for agents without one."""
    node = _Reset(store=store, plugins=plugins, sessions=sessions, zone=zone)
    return Graph(name=GRAPH, start="reset", nodes={"reset": node.forget}, edges={})


class _Reset:
    def __init__(self, *, store: Store, plugins: Plugins, sessions: Path, zone: str) -> None:
        self._store = store
        self._plugins = plugins
        self._sessions = sessions
        self._zone = zone

    async def forget(self, context: NodeContext) -> Decision:
        """Reset the plugins, remove the folder and delete the plugins' additions; a repeated visit does no harm. Raise
        `OSError` if the folder cannot be removed: the queue then retries the job."""
        state = ResetState.from_json(context.state)
        conversation_id = state.closed
        workspace = workspace_of(self._sessions, conversation_id)
        agent = await self._store.read(_agent, state.agent)
        if agent is not None and agent.plugins:
            place = PluginPlace(
                agent=agent,
                conversation_id=conversation_id,
                address=state.address,
                workspace=workspace,
                zone=first_zone(agent.timezone, self._zone),
            )
            for plugin in await self._plugins.find(agent.plugins):
                await plugin.reset(place)
        await asyncio.to_thread(remove_folder, workspace)
        context.record(_drop, conversation_id)
        return End({})


# -- transaction scripts -----------------------------------------------------------------------------------------------


def _agent(tx: Transaction, agent_id: str) -> Agent | None:
    return tx.agents.get(agent_id)


def _drop(tx: Transaction, conversation_id: str) -> None:
    tx.handover_threads.drop_all(conversation_id)
    tx.plugin_additions.drop_all(conversation_id)
