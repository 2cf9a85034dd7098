"""A step of a run whose model does not answer: what the run tells meanwhile, and what becomes of its job."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from arvis.domain.errors import Conflict, ProviderError, ProviderErrorKind
from arvis.domain.executions import ExecutionStatus
from arvis.domain.jobs import Job, JobStatus
from arvis.ports.workflows import RunView
from arvis.store.open import Database
from arvis.web.api.workflow_run_models import nodes_view
from tests.flows.drawn_kit import drawing, node
from tests.flows.house import UNIT_SECONDS, House, open_house
from tests.flows.people_kit import begun, drawn, ended, lines

TRIGGER = node("go", "trigger", kind="message", words="never said")
#: Tries inside one attempt of a job.
TRIES = 4
ONE = drawing(TRIGGER, node("a", "agent", userPrompt="Work."), ways=["go > a"])


def failing(kind: ProviderErrorKind, times: int = 1) -> list[ProviderError]:
    return [ProviderError(kind, f"the model said {kind}") for _ in range(times)]


@pytest.fixture
async def house(database: Database) -> AsyncIterator[House]:
    async with open_house(database) as house:
        yield house


async def failed_job(house: House) -> Job:
    return next(job for job in await house.jobs() if job.status is JobStatus.FAILED)


async def test_a_step_that_is_tried_again_says_so_in_the_run_and_in_its_log(house: House) -> None:
    house.provider.script += [*failing(ProviderErrorKind.TIMEOUT, TRIES), "at last"]
    run_id = await begun(house, await drawn(house, ONE))

    async def waiting() -> RunView | None:
        view = await house.insights.run(run_id)
        return view if view is not None and any(child.retry for child in view.children) else None

    view = await house.until(waiting)
    shown = nodes_view(view, ONE)["a"]
    assert (shown["state"], shown["retry"]["attempts"]) == ("running", 1)
    assert shown["retry"]["nextAt"] > house.clock.now()
    assert "the model said timeout" in shown["retry"]["reason"]
    (warning,) = await lines(house, run_id, "warning")
    assert warning.startswith("Try 1 failed: ")
    assert "the model said timeout" in warning
    assert "The next one is in " in warning
    await house.pass_time(4 * UNIT_SECONDS)
    assert (await ended(house, run_id)).status is ExecutionStatus.DONE
    over = await house.insights.run(run_id)
    assert over is not None
    assert "retry" not in nodes_view(over, ONE)["a"]


async def test_the_job_of_a_step_that_failed_the_run_is_not_tried_again_by_itself(house: House) -> None:
    house.provider.script += failing(ProviderErrorKind.BAD_REQUEST)
    run_id = await begun(house, await drawn(house, ONE))
    assert (await ended(house, run_id)).status is ExecutionStatus.FAILED
    job = await failed_job(house)
    with pytest.raises(Conflict) as refused:
        await house.operations.retry_job(job.id)
    assert f"/api/runs/{run_id}/rerun" in (refused.value.fix or "")
    assert len(house.provider.asked) == 1
    assert (await failed_job(house)).id == job.id


async def test_the_job_of_a_branch_whose_failure_the_merge_took_up_needs_nobody(house: House) -> None:
    document = drawing(
        TRIGGER,
        node("p", "parallel"),
        node("a", "agent", userPrompt="Work."),
        node("b", "response", template="B"),
        node("m", "merge"),
        ways=["go > p > a > m", "p > b > m"],
    )
    house.provider.script += failing(ProviderErrorKind.BAD_REQUEST)
    run = await ended(house, await begun(house, await drawn(house, document)))
    assert run.status is ExecutionStatus.DONE, run.error
    statuses = {(job.status, job.reason) for job in await house.jobs()}
    assert JobStatus.FAILED not in {status for status, _ in statuses}
    assert (JobStatus.CANCELLED, "handled_by_caller") in statuses


async def test_a_step_whose_model_no_account_serves_fails_and_is_not_answered_by_another(house: House) -> None:
    document = drawing(TRIGGER, node("a", "agent", userPrompt="Work.", model="custom/nowhere"), ways=["go > a"])
    run = await ended(house, await begun(house, await drawn(house, document)))
    assert run.status is ExecutionStatus.FAILED
    assert "custom/nowhere" in (run.error or "")
    assert house.provider.asked == []
