"""Reads everything from the database that the prompt of a turn needs: the agent, the messages, the history."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.agents import MOST_OBSERVED, Agent, Binding
from arvis.domain.conversations import OBSERVED_MS, Compaction, Conversation
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import Meaning
from arvis.domain.errors import ExecutionError
from arvis.domain.executions import Execution
from arvis.domain.memory import scopes_of
from arvis.domain.messages import Address, PastMessage, Principal, Role, StoredMessage
from arvis.domain.money import Spender
from arvis.domain.platforms import Incident
from arvis.domain.quotations import with_quotations
from arvis.domain.runs import Cooldown
from arvis.domain.taint import Taint
from arvis.domain.workflows import RESULTS
from arvis.memory.recall import NOTHING_RECALLED, Recall, recall
from arvis.ports.conversations import Calibration, Size
from arvis.ports.store import Transaction
from arvis.prompt import MOST_OTHERS, Here, Overheard
from arvis.tasks.access import Asker, asker_of, caller_limits, may_be_offered, spender_of, taint_of_authors
from arvis.tasks.state import RunTask, WorkState
from arvis.tasks.task import history_of, is_run, messages_of

#: The maximum number of messages that are read as history. Compaction starts above 80, so 120 are enough.
HISTORY_ROWS = 120
#: The maximum number of summaries in front of the history.
SUMMARIES = 3
#: The search for facts uses at most this many characters of the turn's messages.
_ASKED = 2_000
#: The maximum number of incidents that one turn reports.
INCIDENTS = 5


@dataclass(frozen=True, slots=True)
class TurnMessages:
    """The agent of a turn, and the messages that the turn answers."""

    agent: Agent
    current: list[StoredMessage]


@dataclass(frozen=True, slots=True)
class TurnContext(TurnMessages):
    """The agent, the messages and all other rows that the prompt of a turn needs."""

    conversation: Conversation
    history: Sequence[PastMessage]
    summaries: Sequence[Compaction]
    recall: Recall
    agents: Sequence[Agent]
    bindings: Sequence[Binding]
    #: The accounts in cooldown.
    rests: Sequence[Cooldown]
    calibrations: Sequence[Calibration]
    #: The payer.
    spender: Spender
    #: The taint of the turn so far, including the taint of its tool outputs.
    taint: Taint
    observed: list[Overheard]
    incidents: Sequence[Incident]
    #: True if no message of a chat began this work.
    run: bool = False
    #: True if the prompt must name the authors, because the place is a group or several people have written.
    group: bool = False
    #: The agents that the prompt offers for tasks, in the order of their slugs.
    others: Sequence[Agent] = ()
    #: The person for whom the execution works.
    person: Principal | None = None

    @property
    def size(self) -> Size | None:
        """The size of the conversation, or None if `history` is not the whole conversation since its last summary."""
        if self.run or not 0 < len(self.history) < HISTORY_ROWS:
            return None
        return Size(len(self.history), sum([message.tokens for message in self.history]))

    @property
    def here(self) -> Here | None:
        """The place of the turn, and the people who have written in it recently, beginning with the person who asks."""
        if self.run:
            return None
        said: list[StoredMessage | PastMessage] = [*self.current[::-1]]
        if not self.conversation.direct:
            said += [each for each in self.history[::-1] if each.role is Role.USER]
        people: dict[str, str] = {}
        for each in said:  # the person who asks wrote the newest message
            people.setdefault(each.principal_id or "", each.user_name)
        people.pop("", None)
        return Here(
            platform=self.conversation.address.platform,
            direct=self.conversation.direct,
            room=self.conversation.room,
            people=tuple(people.items()),
            language=self.person.language if self.person is not None else None,
        )

    @property
    def asker(self) -> str | None:
        return self.current[-1].principal_id


def load_turn_messages(
    tx: Transaction, execution: Execution, known: Sequence[StoredMessage] | None = None
) -> TurnMessages:
    """Return the agent and the messages of a turn; `known` are the messages, if the caller has already read them."""
    agent = tx.agents.get(WorkState.from_json(execution.state).agent)
    if agent is not None and is_run(execution):
        person = tx.principals.get(execution.principal_id) if execution.principal_id is not None else None
        return TurnMessages(_as_given(agent, execution), messages_of(execution, person))
    current = tx.messages.of_turn(execution.id) if known is None else [*known]
    if agent is None or not current:
        raise ExecutionError(f"The turn {execution.id} has no agent or no messages")
    return TurnMessages(agent, current)


def _as_given(agent: Agent, execution: Execution) -> Agent:
    """Return the agent with the changes of the run's task: the model, the effort and the completion that the task
    names, and only the tools that the task allows."""
    task = WorkState.from_json(execution.state).run or RunTask("")
    allowed, model = task.tools, task.model
    return replace(
        working_agent(agent, execution),
        tools=agent.tools if allowed is None else narrowed(agent.tools, allowed),
        completion=task.completion or agent.completion,
        model=model or agent.model,
        effort=task.effort or agent.effort,
        # If the task names a model, no fallback may silently replace this model.
        fallbacks=() if model else agent.fallbacks,
    )


def working_agent(agent: Agent, execution: Execution) -> Agent:
    """Return the agent with the rights that it has in this work. A conductor that no person chose for this work has
    only the rights of an ordinary agent."""
    task = WorkState.from_json(execution.state).run
    if agent.is_conductor and task is not None and task.plain:
        return replace(agent, role="custom")
    return agent


def narrowed(tools: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the tools of the agent that `allowed` also names. An entry `server.*` of the agent is replaced by the
    tools of this server that `allowed` names."""
    found: list[str] = []
    for tool in tools:
        if tool in allowed:
            found.append(tool)
        elif tool.endswith(".*"):
            found += [each for each in allowed if each.startswith(tool[:-1])]
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The rows of a turn that seldom change, and the values that are derived from them."""

    conversation: Conversation
    #: The scopes of the facts that may be recalled.
    scopes: tuple[str, ...]
    summaries: Sequence[Compaction]
    incidents: Sequence[Incident]
    spender: Spender
    others: Sequence[Agent]
    person: Principal | None


def load_turn_context(
    tx: Transaction, execution: Execution, now: int, messages: Sequence[StoredMessage] | None = None
) -> TurnContext:
    """Read the rows of a turn; `messages` are its messages, if the caller has already read them."""
    asked = load_turn_messages(tx, execution, messages)
    agent, newest, run = asked.agent, asked.current[-1], is_run(execution)
    around = _surroundings(tx, execution, agent, newest.principal_id)
    conversation, alone = around.conversation, _is_alone(execution)
    words = asked_text(asked.current)
    history: Sequence[PastMessage] = history_of(execution) if run else ()
    if not alone:
        history = tx.messages.history(conversation.id, HISTORY_ROWS)
    read_along = [] if alone or conversation.direct else _overheard(tx, conversation.address, now, begins=not history)
    among_others = _is_among_others(tx, execution, conversation)
    if conversation.effort is not None and conversation.agent_id == agent.id and not run:
        agent = replace(agent, effort=conversation.effort)
    return TurnContext(
        agent=agent,
        current=asked.current,
        conversation=conversation,
        history=history,
        summaries=around.summaries,
        recall=recall(tx, agent.id, around.scopes, words, now, among_others=among_others, asker=newest.principal_id)
        if conversation.remembers
        else NOTHING_RECALLED,
        agents=tx.agents.all(),
        bindings=tx.agents.bindings() if agent.is_conductor else [],
        rests=tx.cooldowns.all(),
        calibrations=tx.calibrations.all(),
        spender=around.spender,
        taint=WorkState.from_json(execution.state).taint,
        observed=read_along,
        incidents=around.incidents,
        run=run,
        group=not run and (not conversation.direct or len(people_of(history, asked.current)) > 1),
        others=around.others,
        person=around.person,
    )


def asked_text(messages: Sequence[StoredMessage]) -> str:
    """Return the search text that finds the facts for these messages."""
    return "\n".join(with_quotations(message.content, message.quotations) for message in messages)[:_ASKED]


def recall_by_meaning(tx: Transaction, execution: Execution, turn: TurnContext, meaning: Meaning, now: int) -> Recall:
    """Recall the facts of a turn again, with the vector of its messages."""
    return recall(
        tx,
        turn.agent.id,
        scopes_for(tx, execution, turn.conversation.address, turn.asker),
        asked_text(turn.current),
        now,
        among_others=_is_among_others(tx, execution, turn.conversation),
        asker=turn.asker,
        meaning=meaning,
    )


def _is_among_others(tx: Transaction, execution: Execution, conversation: Conversation) -> bool:
    """Return True if other people may read the answer."""
    # The place of a run may be the direct conversation of a person for whom the run does not work.
    return not conversation.direct or (
        is_run(execution) and not tx.messages.recent(conversation.id, execution.principal_id or "", 1)
    )


def _is_alone(execution: Execution) -> bool:
    """Return True if the prompt has no history, because the execution works on a task of a run or of another agent. An
    execution that reports the results of a workflow continues the conversation."""
    return is_run(execution) or (WorkState.from_json(execution.state).task or RESULTS) != RESULTS


def _surroundings(tx: Transaction, execution: Execution, agent: Agent, asker: str | None) -> _Surroundings:
    """Return the surroundings of a turn, from a cache if possible. A turn that a person has just begun has the same
    state as this person's previous turn in the conversation. So both have the same surroundings until a row
    changes."""
    if execution.steps or execution.parent_wait or execution.begun_by or is_run(execution):
        return _read_surroundings(tx, execution, agent, asker)
    key = ("surroundings", execution.principal_id, asker, repr(execution.state))
    # The agent is read again, so that a change of its row also invalidates the cached surroundings.
    around = tx.held(key, lambda: _read_surroundings(tx, execution, tx.agents.get(agent.id) or agent, asker))
    return replace(around, spender=replace(around.spender, execution_id=execution.id, turn=execution.id))


def _read_surroundings(tx: Transaction, execution: Execution, agent: Agent, asker: str | None) -> _Surroundings:
    conversation = tx.conversations.get(WorkState.from_json(execution.state).conversation)
    if conversation is None:
        raise ExecutionError(f"The turn {execution.id} has no conversation")
    alone, person = _is_alone(execution), asker_of(tx, execution, agent)
    return _Surroundings(
        conversation=conversation,
        scopes=scopes_for(tx, execution, conversation.address, asker),
        summaries=[] if alone else tx.compactions.summaries(conversation.id, SUMMARIES),
        incidents=[] if alone else tx.incidents.unreported(conversation.id, INCIDENTS),
        spender=spender_of(tx, execution, agent_id=agent.id, principal=person.principal),
        others=() if agent.is_conductor else _others(tx, agent, person),
        person=person.principal,
    )


def people_of(*said: Sequence[PastMessage | StoredMessage]) -> set[str | None]:
    return {message.principal_id for messages in said for message in messages if message.role is Role.USER}


#: The number of pages of `MOST_OTHERS` agents that are examined for a prompt.
_PAGES = 10


def _others(tx: Transaction, agent: Agent, asker: Asker) -> list[Agent]:
    """Return the first agents, by slug, to which this agent can give a task for the person. Only the first agents are
    examined, so that the time does not grow with their number."""
    found: list[Agent] = []
    after = ""
    for _ in range(_PAGES):
        page = tx.agents.active_after(after, MOST_OTHERS)
        found += [other for other in page if other.id != agent.id and may_be_offered(tx, other, agent, asker)]
        if len(page) < MOST_OTHERS or len(found) >= MOST_OTHERS:
            break
        after = page[-1].slug
    return found[:MOST_OTHERS]


def scopes_for(tx: Transaction, execution: Execution, place: Address, principal_id: str | None) -> tuple[str, ...]:
    """Return the scopes of the facts that may be recalled. Facts about the person are left out if an author with fewer
    rights than the person wrote a part of the task."""
    authors = caller_limits(execution.state).authors
    return scopes_of(place, None if taint_of_authors(tx, principal_id, authors) else principal_id)


def _overheard(tx: Transaction, place: Address, now: int, *, begins: bool) -> list[Overheard]:
    """Return the overheard messages of this place. If the place is a new thread (`begins`), include the messages of its
    channel."""
    places = [replace(place, thread=""), place] if begins and place.thread else [place]
    found = [each for where in places for each in tx.overheard.newest(where, now - OBSERVED_MS, MOST_OBSERVED)]
    found = found[-MOST_OBSERVED:]
    people = {user_id: tx.principals.find(place.platform, user_id) for user_id in {each.user_id for each in found}}
    return [
        Overheard(person.id if (person := people[each.user_id]) else each.user_id, each.user_name, each.content)
        for each in found
    ]
