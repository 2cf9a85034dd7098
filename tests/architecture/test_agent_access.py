"""Every call that starts an agent's work checks whether the agent may be used; new calls without this check fail
here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.tree import ROOT, parse

PACKAGE = ROOT / "arvis"

#: The calls that let an agent work: they begin an execution, or create the state with which a child begins.
BEGINNINGS = frozenset(
    {"lifecycle.begin", "begin_turn", "turns.begin_turn", "begin_agent_turn", "child_state", "called_state"}
)
#: The calls that check access. A function that uses one of BEGINNINGS must use one of these,
DECISIONS = frozenset({"check_use", "refusal", "may_reach", "agent_of", "agent_for"})
#: or be listed here with the place that has already checked.
DECIDED_BEFORE = {
    "inbox/accept.py enqueue_turn": "the router chose the agent and asked `permit`",
    "turns/turns.py _queue_turn": "the router or the gate has checked the agent",
    "turns/requeue.py ask_anew": "the agent of the earlier turn, for the same person",
    "turns/requeue.py begin_again": "the agent of the message, for the same person; `turns/rewind.py` asks `may_call`",
    "tasks/task.py begin_run": "it checks access itself",
    "turns/workflow_results.py _report": "results return to the agent that began the run",
    "services/workflow_runs.py called_state": "`workflows/nodes/other_workflows.py target` chose the agent with `worker`",
    "graphs/reset.py begin_reset": "the agent writes notes in its own conversation",
    "graphs/compaction/scripts.py enqueue": "the agent summarises its own conversation",
    "graphs/planning/state.py call_agent": "only the agent that plans",
    "graphs/heartbeat.py _begin": "only the agent of the heartbeat",
    "graphs/workflow_dispatch.py choose": "only the agent that was asked",
    "graphs/handover/graph.py _state_of_child": "`converse_rules.Company` offers only agents that `may_reach` allows",
    "graphs/agent/subagents.py _state_of_child": "`workflows/nodes/agents.py` chose the agent with `worker`",
    "workflows/nodes/agents.py _call": "`_team` chose the agent with `worker`",
    "workflows/runtime/visit.py ask_model": "`worker` chose the agent",
    "workflows/nodes/other_workflows.py child_of": "`target` chose the agent with `worker`",
    "workflows/nodes/other_workflows.py transfer": "`target` chose the agent with `worker`",
    "actions/delegation.py _begin": "`actions/gate.py judge_delegation` allowed it",
    "actions/change_approvals.py _put": "it asks a person; the answer causes another check",
}


def name_of(call: ast.Call) -> str:
    return ast.unparse(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else ""


def functions(file: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each function with the calls in it, including the calls of nested functions."""
    for node in ast.walk(parse(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, {name_of(each) for each in ast.walk(node) if isinstance(each, ast.Call)}


@cache
def beginnings() -> dict[str, set[str]]:
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for name, calls in functions(file):
            if calls & BEGINNINGS:
                found[f"{file.relative_to(PACKAGE)} {name}"] = calls
    return found


def test_whatever_lets_an_agent_work_decides_whether_it_may() -> None:
    undecided = [
        place for place, calls in beginnings().items() if not calls & DECISIONS and place not in DECIDED_BEFORE
    ]
    assert undecided == [], "call `check_use`, `refusal` or `may_reach` of arvis/tasks/access.py"


def test_the_list_names_nothing_that_is_gone() -> None:
    assert set(DECIDED_BEFORE) <= set(beginnings())


def test_runs_are_judged_where_they_begin() -> None:
    """The check is inside these functions, so that no caller can forget it."""
    for place in ("tasks/task.py begin_run", "services/workflow_runs.py begin_keyed"):
        assert "check_use" in beginnings()[place]


def test_the_decision_is_made_in_one_place() -> None:
    """Only the code that checks access, and code that stores or displays the list, reads `allow_users`."""
    readers = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(parse(file))
        if isinstance(node, ast.Attribute) and node.attr == "allow_users" and isinstance(node.ctx, ast.Load)
    }
    assert readers <= {
        "tasks/access.py",  # the check
        "routing.py",  # the same check for messages of a conversation
        "llm/budgets.py",  # a listed user is not an unknown person for the budget
        "domain/agents.py",  # the shape of the value
        "store/repositories/agents.py", "web/api/agents.py",  # stored and displayed
    }  # fmt: skip
