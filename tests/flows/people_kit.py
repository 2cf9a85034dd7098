"""People who answer the questions of workflow runs in a real chat."""

from __future__ import annotations

from typing import Any

from arvis.domain.executions import Execution, ExecutionStatus, Wait, WaitKind
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.workflows import Workflow, WorkflowVersion
from arvis.ports.operations import WaitAnswer
from arvis.ports.store import Transaction
from arvis.services.workflow_runs import NewWorkflowRun, begin
from tests.flows.app_harness import HELPER, AppHarness
from tests.flows.drawn_kit import drawing, node
from tests.flows.scripted import BOT, PLATFORM

OWNER = Principal("owner", PLATFORM, "owner", "Owner", PrincipalRole.OWNER)
BOB = Principal("bob", PLATFORM, "bob", "Bob", PrincipalRole.OPERATOR)
ANN = Principal("ann-id", PLATFORM, "ann", "Ann", PrincipalRole.MEMBER)
TRIGGER = node("go", "trigger", kind="message")


async def drawn(app: AppHarness, document: dict[str, Any], slug: str = "flow") -> Workflow:
    return await app.store.write(_draw, slug, document, app.clock.now())


def _draw(tx: Transaction, slug: str, document: dict[str, Any], now: int) -> Workflow:
    workflow = Workflow(f"id-{slug}", slug, slug, "", False, 1, 1, None, now, now)
    tx.workflows.add(workflow)
    tx.workflows.keep_version(WorkflowVersion(workflow.id, 1, document, 0, "", None, now))
    return workflow


async def begun(
    app: AppHarness, workflow: Workflow, *, user: str = "ann", role: PrincipalRole = PrincipalRole.MEMBER
) -> str:
    """Start a run in the chat."""
    return await app.store.write(_begin, workflow, user, role, app.clock.now())


def _begin(tx: Transaction, workflow: Workflow, user: str, role: PrincipalRole, now: int) -> str:
    person = tx.principals.seen(PLATFORM, user, user.title(), role, now)
    place = Address(PLATFORM, BOT, "room")
    wanted = NewWorkflowRun(workflow, HELPER, place, "chat", input="hello", principal_id=person.id)
    return begin(tx, wanted, now).id


async def ended(app: AppHarness, run_id: str) -> Execution:
    async def look() -> Execution | None:
        run = await app.store.read(lambda tx: tx.executions.get(run_id))
        assert run is not None
        return run if run.status not in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED} else None

    return await app.until(look)


async def question(app: AppHarness, but: str = "") -> Wait:
    async def look() -> Wait | None:
        page = await app.insights.waits(open_only=True, limit=10, cursor=None)
        return next((each for each in page.items if each.id != but and each.kind is not WaitKind.TIMER), None)

    return await app.until(look)


async def lines(app: AppHarness, run_id: str, kind: str) -> list[str]:
    entries = await app.store.read(lambda tx: tx.workflow_runs.entries(run_id, 0, 200))
    return [each.content for each in entries if each.type == kind]


def approval(**data: Any) -> dict[str, Any]:
    return drawing(
        TRIGGER,
        node("ok", "approval", "Ok", **{"prompt": "Send {{PREVIOUS_OUTPUT}}?", **data}),
        node("yes", "response", "Yes", template="It is sent."),
        node("no", "response", "No", template="It is not sent."),
        ways=["go > ok", "ok:approve > yes", "ok:reject > no"],
    )


async def decide(app: AppHarness, wait: Wait, decision: str, by: Principal = OWNER, **more: Any) -> None:
    await app.operations.answer_wait(wait.id, WaitAnswer(decision, **more), by)
