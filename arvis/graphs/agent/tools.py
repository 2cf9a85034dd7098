"""The node `use_tools` of graph `agent`: it judges the tool calls of the last reply, asks for the approvals that the
policy requires, and makes the calls."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from arvis.approvals import fingerprint, question, verdict_of
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.events import StepProgress
from arvis.domain.executions import Answer, Execution, WaitKind
from arvis.domain.knowledge import READ_KNOWLEDGE, SEARCH_KNOWLEDGE
from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.outgoing import Known
from arvis.domain.runs import RunResult
from arvis.domain.tools import READ_AGAIN, READ_SKILL, Permit, ToolCall, ToolOutput
from arvis.engine import lifecycle
from arvis.engine.graph import Decision, End, Next, NodeContext, Pause
from arvis.engine.state import changes
from arvis.graphs.agent import client_tools, server_questions, subagents, tool_calls
from arvis.graphs.agent.outgoing import Guard, OutgoingRules, day_of, earlier_words, words_of
from arvis.graphs.agent.plugins import Extending
from arvis.graphs.agent.server_models import ServerModels
from arvis.graphs.agent.server_questions import Asking
from arvis.graphs.agent.tool_calls import CallRunner, Planned
from arvis.graphs.agent.tool_protocols import ToolProtocol
from arvis.graphs.context import TurnMessages, load_turn_messages
from arvis.messaging.messages import is_of_programs, notice
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import Caller, EndsTurn, Tool
from arvis.prompt import first_zone
from arvis.services import workflow_runs
from arvis.services.credentials import hosts_of
from arvis.tasks.access import acting
from arvis.tasks.rounds import effect_name, load_rounds
from arvis.tasks.state import MOST_PICTURES, AgentState, WorkOutcome, WorkStatus, with_files
from arvis.tasks.task import is_run
from arvis.tools.registry import Offer, Registry

#: Decisions about a call. A person may also answer with edited arguments (`edit`).
APPROVE, REJECT, FEEDBACK = "approve", "reject", "feedback"

TOO_LONG = "A person must approve this call, and these arguments are too long to read. Make them shorter."


#: The maximum number of characters that the timeline shows of a call's arguments, and of its output.
_NOTED = 2_000


_NO_RULES = OutgoingRules(
    hosts=frozenset(), private_hosts=frozenset(), ruled=lambda _tool: False, links_bare_hosts=lambda _place: True
)


@dataclass(frozen=True, slots=True)
class ToolRules:
    """The rules and services for tool calls."""

    registry: Registry
    #: A function that returns the policy's permit for a tool.
    permit: Callable[[Tool], Permit]
    #: The directory that contains the folders of the conversations.
    sessions: Path
    #: Encrypts the outputs of sensitive tools.
    secrets: SecretBox
    #: The time zone of the daemon, for agents without one.
    timezone: str = "UTC"
    #: The maximum number of rounds with calls in a cycle.
    rounds: int = 5
    #: The maximum duration of a call in seconds.
    seconds: float = 600.0
    #: The time (ms) after which an unanswered approval gets the answer `on_expiry`.
    approval_ms: int = 86_400_000
    on_expiry: str = REJECT
    #: The rules for data that calls send to other systems.
    outgoing: OutgoingRules = _NO_RULES
    #: A function that begins a login to a tool server, and returns a text with the link for a person. It returns None
    #: if this process cannot begin one.
    begin_login: Callable[[str], Awaitable[str | None]] | None = None


class ToolNode:
    def __init__(
        self, *, store: Store, rules: ToolRules, manner: ToolProtocol, extending: Extending, models: ServerModels
    ) -> None:
        self._store = store
        self._models = models
        self._rules = rules
        self._manner = manner
        self._extending = extending

    async def use_tools(self, context: NodeContext) -> Decision:
        """Make the calls of the last round. First ask a person about each call that needs an approval, one after the
        other."""
        state = AgentState.from_json(context.state)
        turn = await self._extending.equip(await self._store.read(load_turn_messages, context.execution), state.run)
        calls = state.rounds.last.tool_calls()
        earlier = [call for before in state.rounds.current[:-1] for call in before.tool_calls()]
        names = names_for(turn.agent, context.execution)
        offer = client_tools.joined(subagents.joined(await self._manner.offer(names), context.state), context.state)
        guard = await self._guard(context, state, turn, offer)
        planned = guard.review(self._plan(turn, calls, earlier, offer, context.state))

        verdicts = self._verdicts(context.answer, state, planned)
        planned = [_after(each, verdicts.get(str(index))) for index, each in enumerate(planned)]
        subagents.keep_output(context, state, calls)
        if context.answer is not None and context.answer.expired and state.client_calls:
            return End(_ended(client_tools.NO_RESULTS))
        client_tools.keep_outputs(context, state, calls)
        person = await self._store.read(_person, context.execution.principal_id)
        caller = self._caller(context, state, turn, person)
        for index in _to_ask(planned, context):
            planned[index] = await tool_calls.explained(planned[index], caller)
            if planned[index].tool is None:
                continue
            if (text := await self._question(planned[index], turn)) is not None:
                return self._ask(context, text, verdicts, _asking(index, planned[index]))
            planned[index] = planned[index].refused(TOO_LONG)
        asked = changes(AgentState, verdicts=verdicts, asking=None)
        if (begun := subagents.begin(context, planned, state.rounds.count, asked)) is not None:
            return begun
        if (wait := client_tools.begin(context, state, planned, asked)) is not None:
            return wait

        runner = self._runner(context, caller, guard)
        asking = Asking(context, turn.agent, self._rules.approval_ms, verdicts)
        outputs = await self._outputs(context, runner, planned, asking)
        if isinstance(outputs, Pause):
            return outputs
        lines = _timeline(planned, outputs, runner.took, verdicts)
        context.record(_note_tools, context.execution.id, lines, context.now())
        done = await self._changes(context, state, planned, outputs, looping=tool_calls.loops(calls, earlier))
        done |= await self._send_logins(context, state, outputs)
        if (last := _last_words(planned, outputs)) is not None:
            return End(_ended(last), **done)
        return Next(None, **done)

    async def _outputs(
        self, context: NodeContext, runner: CallRunner, planned: Sequence[Planned], asking: Asking
    ) -> list[ToolOutput] | Pause:
        """Make the calls and return their outputs, or the next question of a tool server."""
        answers = asking.answered(planned)
        while not isinstance(answers, Pause):
            outputs = await runner.run(planned, await self._models.answered(context, asking.agent, answers))
            answers = asking.begin(planned, outputs)
            if not answers:
                context.keep_outcomes()
                return outputs
        return answers

    async def _send_logins(
        self, context: NodeContext, state: AgentState, outputs: Sequence[ToolOutput]
    ) -> dict[str, Any]:
        """Send an owner a link for each missing login that prevented a call, once in a turn. Return the change of the
        state. The links are not a part of the prompt."""
        needed = [
            each for each in dict.fromkeys(output.login for output in outputs) if each and each not in state.logins
        ]
        if not needed or self._rules.begin_login is None or not await self._store.read(_may_log_in, context.execution):
            return {}
        for server in needed:
            if (text := await self._rules.begin_login(server)) is not None:
                context.record_of_step(_send_login, context.execution, text, context.now())
        return changes(AgentState, logins=[*state.logins, *needed])

    async def _question(self, planned: Planned, turn: TurnMessages) -> str | None:
        newest = turn.current[-1]
        person = await self._store.read(_person, newest.principal_id)
        name = newest.user_name or "somebody"
        return question(
            planned.call,
            tool=planned.name,
            agent=turn.agent.name,
            asker=name,
            person=person,
            about=planned.about,
            why=planned.why,
        )

    async def _changes(
        self,
        context: NodeContext,
        state: AgentState,
        planned: Sequence[Planned],
        outputs: Sequence[ToolOutput],
        *,
        looping: bool,
    ) -> dict[str, Any]:
        """Return the changes of the state after the calls of a round."""
        refused = {index: output for index, output in enumerate(outputs) if not _on_record(context, index, planned)}
        read, files_of_children = await subagents.collect(context, self._store)
        files = [file for output in outputs for file in output.files]
        return {
            **state.rounds.add_results(context.place, refused),
            **files_of_children,
            **with_files({**context.state, **files_of_children}, files),
            **changes(
                AgentState,
                looping=state.looping or looping,
                verdicts={},
                asking=None,
                calling=None,
                taint=state.taint.union(
                    read, *(each.output_taint for each in planned), *(output.taint for output in outputs)
                ),
                again=_again(state, outputs),
            ),
            **(changes(AgentState, client_calls=()) if state.client_calls else {}),
            **server_questions.ended(context),
        }

    def _runner(self, context: NodeContext, caller: Caller, guard: Guard) -> CallRunner:
        return CallRunner(
            context=context,
            caller=caller,
            seal=self._rules.secrets.seal,
            timeout=self._rules.seconds,
            objection_of=guard.for_script,
        )

    def _plan(
        self,
        turn: TurnMessages,
        calls: Sequence[ToolCall],
        earlier: Sequence[ToolCall],
        offer: Offer,
        state: Mapping[str, Any],
    ) -> list[Planned]:
        planned = tool_calls.plan(calls, earlier, offer, self._permit)
        if turn.agent.active:
            return subagents.bounded(planned, state)
        return [each.refused("This agent is paused: its tools cannot be used.") for each in planned]

    def _permit(self, tool: Tool) -> Permit:
        return client_tools.free(tool, subagents.free(tool, self._rules.permit(tool)))

    async def _guard(self, context: NodeContext, state: AgentState, turn: TurnMessages, offer: Offer) -> Guard:
        """Return the judge of the calls. The texts that the judge compares are read only in a turn with taint."""
        known, rounds = Known(words_of(turn.current), today=day_of(context.now())), []
        if state.taint:
            execution = context.execution
            rounds = await self._store.read(load_rounds, execution, state.rounds, self._rules.secrets.open)
            earlier = await self._store.read(earlier_words, context.state, turn.current)
            names = turn.agent.credentials
            hosts = await self._store.read(hosts_of, names) if names else ()
            known = replace(known, earlier=earlier, hosts=hosts)
        return Guard(
            rules=self._rules.outgoing,
            known=known,
            taint=state.taint,
            tools=offer.tools,
            place=state.address,
            rounds=rounds,
        )

    def _verdicts(self, answer: Answer | None, state: AgentState, planned: Sequence[Planned]) -> dict[str, Any]:
        """Return people's decisions so far, by the index of the call. The decisions include the new answer if the call
        has not changed since the question."""
        verdicts, asking = dict(state.verdicts), state.asking
        if answer is None or asking is None or _hash(planned[asking["call"]]) != asking["hash"]:
            return verdicts
        given = verdict_of(answer, choices=(APPROVE, REJECT), on_expiry=self._rules.on_expiry)
        given["by"] = None if answer.expired else answer.by
        verdicts[str(asking["call"])] = given
        if given["decision"] == FEEDBACK:
            # Feedback is about the whole reply of the model, so it also decides about the other calls that need an
            # approval.
            waiting = [str(index) for index, each in enumerate(planned) if each.permit is Permit.ASK]
            verdicts = {**dict.fromkeys(waiting, given), **verdicts}
        return verdicts

    def _ask(self, context: NodeContext, text: str, verdicts: Mapping[str, Any], asking: Mapping[str, Any]) -> Decision:
        return Pause(
            WaitKind.APPROVAL,
            text,
            until=context.now() + self._rules.approval_ms,
            choices=(APPROVE, REJECT),
            **changes(AgentState, verdicts=dict(verdicts), asking=dict(asking)),
        )

    def _caller(self, context: NodeContext, state: AgentState, turn: TurnMessages, person: Principal | None) -> Caller:
        return Caller(
            agent=turn.agent,
            principal_id=context.execution.principal_id,
            conversation_id=state.conversation,
            execution_id=context.execution.id,
            address=state.address,
            call_id=f"{context.execution.id}-{state.rounds.count}",
            workspace=self._rules.sessions / state.conversation / "workspace",
            timezone=first_zone(person.timezone if person else None, turn.agent.timezone, self._rules.timezone),
            taint=state.taint,
            progress=_showing(context, state),
            may_ask=context.execution.principal_id is not None,
        )


def _showing(context: NodeContext, state: AgentState) -> Callable[[str], None]:
    """Return a function that announces the progress of a call."""

    def show(text: str) -> None:
        if state.address is not None:
            context.publish_now(StepProgress(state.address, context.execution.id, text))

    return show


def names_for(agent: Agent, execution: Execution) -> Sequence[str]:
    """Return the names of the tools that the agent may call in this execution. An agent with skills or knowledge bases
    also gets the tools that read them. In a turn of a conversation, an agent with tools or knowledge bases can also
    read earlier results and files again."""
    state = AgentState.from_json(execution.state)
    names = (*agent.tools, READ_SKILL) if agent.skills else agent.tools
    if agent.knowledge:
        names = (*names, SEARCH_KNOWLEDGE, READ_KNOWLEDGE)
    again = bool(agent.tools or agent.knowledge) and not is_run(execution) and not state.task
    return (*names, READ_AGAIN) if again else names


def _again(state: AgentState, outputs: Sequence[ToolOutput]) -> list[list[str]]:
    """Return the pictures of tools that the next model calls contain, each once, the newest last."""
    shown = [*(tuple(each) for each in state.again), *(each for output in outputs for each in output.pictures)]
    return [list(each) for each in [*dict.fromkeys(shown)][-MOST_PICTURES:]]


def _last_words(planned: Sequence[Planned], outputs: Sequence[ToolOutput]) -> str | None:
    """Return the outputs of the tools that end the turn, or None if no call of such a tool succeeded."""
    said = [
        output.content
        for each, output in zip(planned, outputs, strict=True)
        if _ends_turn(each.tool) and not output.failed
    ]
    return "\n".join(said) or None


def _ends_turn(tool: Tool | None) -> bool:
    return isinstance(tool, EndsTurn) and tool.ends_turn()


def _ended(text: str) -> dict[str, Any]:
    outcome = WorkOutcome(WorkStatus.DONE, visible=text)
    return RunResult(text, "", "", "").to_json() | {"outcome": outcome.to_json()}


def _to_ask(planned: Sequence[Planned], context: NodeContext) -> list[int]:
    """Return the indexes of the calls that still need an approval and were not made yet."""
    waiting = [index for index, each in enumerate(planned) if each.permit is Permit.ASK]
    return [index for index in waiting if not _on_record(context, index, planned)]


def _person(tx: Transaction, principal_id: str | None) -> Principal | None:
    return tx.principals.get(principal_id or "")


def _may_log_in(tx: Transaction, execution: Execution) -> bool:
    """Return True if an owner has asked in a direct chat. A link for a login must not appear anywhere else."""
    asked = tx.messages.of_turn(lifecycle.root_of(tx, execution).id)
    person = acting(tx, execution)
    if not asked or person is None or person.role is not PrincipalRole.OWNER or asked[-1].principal_id != person.id:
        return False
    conversation = tx.conversations.get(asked[-1].conversation_id or "")
    return conversation is not None and conversation.direct and not is_of_programs(conversation.address)


def _send_login(tx: Transaction, execution: Execution, text: str, now: int) -> None:
    asked = tx.messages.of_turn(lifecycle.root_of(tx, execution).id)
    notice(tx, like=asked[-1], text=text, priority=execution.priority, now=now)


def _on_record(context: NodeContext, index: int, planned: Sequence[Planned]) -> bool:
    return context.known(effect_name(index, planned[index].call)) is not None


def _asking(index: int, planned: Planned) -> dict[str, Any]:
    return {"call": index, "hash": _hash(planned), "risk": planned.tool.risk if planned.tool else None}


def _hash(planned: Planned) -> str:
    return fingerprint(planned.call, planned.name, tool_calls.change_in(planned))


def _after(planned: Planned, verdict: Mapping[str, Any] | None) -> Planned:
    return planned if verdict is None else tool_calls.decided(planned, verdict)


def _timeline(
    planned: Sequence[Planned], outputs: Sequence[ToolOutput], took: Mapping[int, int], verdicts: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return a line of the timeline for each call. The `decision` in a line is None if no person was asked."""
    return [
        {
            "tool": each.name,
            "failed": output.failed,
            "arguments": tool_calls.cut(json.dumps(dict(each.arguments), ensure_ascii=False), _NOTED),
            "output": "(not shown)" if output.sealed else tool_calls.cut(output.content, _NOTED),
            "durationMs": took.get(index),
            "decision": verdicts.get(str(index), {}).get("decision"),
        }
        for index, (each, output) in enumerate(zip(planned, outputs, strict=True))
    ]


def _note_tools(tx: Transaction, execution_id: str, lines: Sequence[Mapping[str, Any]], now: int) -> None:
    """Write a line for each call to the timeline, and inside a workflow run also to the log of the run."""
    asked = [message.id for message in tx.messages.of_turn(execution_id)]
    for each in lines:
        tx.timeline.note(asked, "tool", each, now)
    workflow_runs.log_tool_calls(tx, execution_id, lines, now)
