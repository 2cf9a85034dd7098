"""List the agents and their present work. The work is not stored: an agent works while a job with a valid lease runs
for it. The work of a dead process therefore disappears when the leases of the process expire. The module contains
read-only transaction scripts, and the function that makes a prompt block from their result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Execution
from arvis.domain.markup import escape
from arvis.domain.messages import Address
from arvis.domain.schedules import ScheduleKind
from arvis.ports.store import Transaction
from arvis.tasks.state import LONGEST_NOTE, WorkState
from arvis.tasks.task import source_of

#: The maximum number of running jobs that are read. Each process runs only a few jobs at once.
MOST_RUNNING = 200
#: The maximum number of executions that are read on the way from an execution to its root. The limit prevents an
#: endless loop if rows are damaged.
_DEEPEST = 50
#: The maximum number of lines of the prompt block, and of characters of an agent's description in it.
_MOST_LINES = 20
_LONGEST_DESCRIPTION = 120


class ActivityKind(StrEnum):
    """The source of the work: the agent's heartbeat, a person in a chat, a schedule, a webhook."""

    HEARTBEAT = "heartbeat"
    AGENT = "agent"
    SCHEDULE = "schedule"
    WEBHOOK = "webhook"


class ActivityStatus(StrEnum):
    RUNNING = "running"
    IDLE = "idle"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Activity:
    """An agent and its present work, if the agent is working. `address` is the place of the conversation, and `node`
    identifies the process that runs the job. `private` means that the conversation is a direct chat, so other people
    may not read its content. Times are in ms."""

    agent: Agent
    status: ActivityStatus
    kind: ActivityKind | None = None
    execution_id: str | None = None
    graph: str | None = None
    address: Address | None = None
    private: bool = False
    status_note: str = ""
    node: str | None = None
    started_at: int | None = None
    last_active_at: int | None = None

    @property
    def shown_note(self) -> str:
        """Return the status text that others may read."""
        return "" if self.private else self.status_note


def activities(tx: Transaction, now: int, *, whole: bool = False) -> list[Activity]:
    """Return the agents that work, in the order in which their jobs started, then the other agents by slug. If `whole`
    is True, also read the time of each idle agent's last message; this reads all conversations."""
    agents = {agent.id: agent for agent in tx.agents.all()}
    running: dict[str, Activity] = {}
    for job, node in tx.jobs.running(now, MOST_RUNNING):
        execution = tx.executions.get(job.execution_id or "")
        for each in _of_line(tx, execution, node, agents) if execution is not None else ():
            running.setdefault(each.execution_id or "", each)
    busy = {each.agent.id for each in running.values()}
    last = tx.conversations.last_messages() if whole else {}
    rest = [
        Activity(
            agent=agent,
            status=ActivityStatus.IDLE if agent.active else ActivityStatus.OFFLINE,
            last_active_at=last.get(agent.id),
        )
        for agent in sorted(agents.values(), key=lambda agent: agent.slug)
        if agent.id not in busy
    ]
    return [*running.values(), *rest]


def active_agents_block(found: Sequence[Activity], me: str) -> str:
    """Return a prompt block with one line for each agent except `me` (an agent's id), or "" if there is no other agent.
    Tags in the lines are escaped. The work in private conversations is not described."""
    others = [each for each in found if each.agent.id != me]
    lines = [_line(each) for each in others[:_MOST_LINES]]
    if len(others) > _MOST_LINES:
        lines.append(f"- and {len(others) - _MOST_LINES} more")
    return "\n".join(["# Other agents", *lines]) if lines else ""


def _of_line(tx: Transaction, execution: Execution, node: str, agents: Mapping[str, Agent]) -> Iterator[Activity]:
    """Yield one entry for each agent on the way from the running execution up to its root. An agent also counts as
    working while its execution waits for a child execution."""
    line = [(each, WorkState.from_json(each.state)) for each in _upwards(tx, execution)]
    root, top = line[-1]
    kind, conversation = _kind(tx, root), tx.conversations.get(top.conversation)
    note_above = next((state.status_note for _, state in line if state.status_note), "")
    note, below = "", ""
    for each, state in line:
        note = note or state.status_note
        agent = agents.get(state.agent)
        if agent is None or agent.id == below:
            continue
        below = agent.id
        yield Activity(
            agent=agent,
            status=ActivityStatus.RUNNING,
            kind=kind,
            execution_id=each.id,
            graph=each.graph,
            address=top.address if top.address.platform else None,
            private=conversation is not None and conversation.direct,
            status_note=(note or note_above)[:LONGEST_NOTE],
            node=node,
            started_at=each.created_at,
            last_active_at=each.updated_at,
        )


def _upwards(tx: Transaction, execution: Execution) -> Iterator[Execution]:
    """Yield the execution, its caller, the caller of the caller, and so on up to the root."""
    current: Execution | None = execution
    for _ in range(_DEEPEST):
        if current is None:
            return
        yield current
        wait = tx.waits.get(current.parent_wait) if current.parent_wait is not None else None
        current = tx.executions.get(wait.execution_id) if wait is not None else None


def _kind(tx: Transaction, root: Execution) -> ActivityKind:
    source, _, row_id = source_of(root).partition(":")
    if root.graph == "heartbeat":
        return ActivityKind.HEARTBEAT
    if source == "schedule":
        schedule = tx.schedules.get(row_id)
        beats = schedule is not None and schedule.kind is ScheduleKind.HEARTBEAT
        return ActivityKind.HEARTBEAT if beats else ActivityKind.SCHEDULE
    return ActivityKind.WEBHOOK if source == "webhook" else ActivityKind.AGENT


def _line(each: Activity) -> str:
    agent = each.agent
    about = " ".join(agent.description.split())[:_LONGEST_DESCRIPTION]
    who = f"- {agent.name} ({agent.slug}{f', {agent.role}' if agent.role else ''})"
    what = str(each.status)
    if each.status is ActivityStatus.RUNNING:
        where = "" if each.private or each.address is None else f" in {each.address.platform} {each.address.channel}"
        what = f"running ({each.kind}){where}"
        if each.shown_note:
            what += f": {' '.join(each.shown_note.split())}"
    return escape(f"{who}: {what}{f' – {about}' if about else ''}")
