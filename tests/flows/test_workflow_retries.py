"""A workflow step whose model does not answer: the run's log, and the step's job."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from arvis.domain.errors import Conflict, ProviderError, ProviderErrorKind
from arvis.domain.executions import ExecutionStatus
from arvis.domain.jobs import Job, JobStatus
from arvis.ports.workflows import RunView
from arvis.store.open import Database
from arvis.web.api.workflow_run_models import nodes_view
from tests.flows.app_harness import UNIT_SECONDS, AppHarness, open_app
from tests.flows.drawn_kit import drawing, node
from tests.flows.people_kit import begun, drawn, ended, lines

TRIGGER = node("go", "trigger", kind="message", words="never said")
#: Attempts inside one run of a job.
TRIES = 4
ONE = drawing(TRIGGER, node("a", "agent", userPrompt="Work."), ways=["go > a"])


def failing(kind: ProviderErrorKind, times: int = 1) -> list[ProviderError]:
    return [ProviderError(kind, f"the model said {kind}") for _ in range(times)]


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database) as app:
        yield app


async def failed_job(app: AppHarness) -> Job:
    return next(job for job in await app.jobs() if job.status is JobStatus.FAILED)


async def test_a_step_that_is_tried_again_says_so_in_the_run_and_in_its_log(app: AppHarness) -> None:
    app.provider.script += [*failing(ProviderErrorKind.TIMEOUT, TRIES), "at last"]
    run_id = await begun(app, await drawn(app, ONE))

    async def waiting() -> RunView | None:
        view = await app.insights.run(run_id)
        return view if view is not None and any(child.retry for child in view.children) else None

    view = await app.until(waiting)
    shown = nodes_view(view, ONE)["a"]
    assert (shown.state, shown.retry.attempts) == ("running", 1)
    assert shown.retry.next_at > app.clock.now()
    assert "the model said timeout" in shown.retry.reason
    (warning,) = await lines(app, run_id, "warning")
    assert warning.startswith("Attempt 1 failed: ")
    assert "the model said timeout" in warning
    assert "The next attempt is in " in warning
    await app.pass_time(4 * UNIT_SECONDS)
    assert (await ended(app, run_id)).status is ExecutionStatus.DONE
    over = await app.insights.run(run_id)
    assert over is not None
    assert "retry" not in nodes_view(over, ONE)["a"].to_json()


async def test_the_job_of_a_step_that_failed_the_run_is_not_tried_again_by_itself(app: AppHarness) -> None:
    app.provider.script += failing(ProviderErrorKind.BAD_REQUEST)
    run_id = await begun(app, await drawn(app, ONE))
    assert (await ended(app, run_id)).status is ExecutionStatus.FAILED
    job = await failed_job(app)
    with pytest.raises(Conflict) as refused:
        await app.operations.retry_job(job.id)
    assert f"/api/runs/{run_id}/rerun" in (refused.value.fix or "")
    assert len(app.provider.asked) == 1
    assert (await failed_job(app)).id == job.id


async def test_the_job_of_a_branch_whose_failure_the_merge_took_up_needs_nobody(app: AppHarness) -> None:
    document = drawing(
        TRIGGER,
        node("p", "parallel"),
        node("a", "agent", userPrompt="Work."),
        node("b", "response", template="B"),
        node("m", "merge"),
        ways=["go > p > a > m", "p > b > m"],
    )
    app.provider.script += failing(ProviderErrorKind.BAD_REQUEST)
    run = await ended(app, await begun(app, await drawn(app, document)))
    assert run.status is ExecutionStatus.DONE, run.error
    statuses = {(job.status, job.reason) for job in await app.jobs()}
    assert JobStatus.FAILED not in {status for status, _ in statuses}
    assert (JobStatus.CANCELLED, "handled_by_caller") in statuses


async def test_a_step_whose_model_no_account_serves_fails_and_is_not_answered_by_another(app: AppHarness) -> None:
    document = drawing(TRIGGER, node("a", "agent", userPrompt="Work.", model="custom/nowhere"), ways=["go > a"])
    run = await ended(app, await begun(app, await drawn(app, document)))
    assert run.status is ExecutionStatus.FAILED
    assert "custom/nowhere" in (run.error or "")
    assert app.provider.asked == []
