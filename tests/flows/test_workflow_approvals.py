"""The question of a workflow's approval, and the scope of a yes (ADR 0020)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from arvis.domain.executions import Wait
from arvis.ports.operations import WaitRights
from arvis.store.open import Database
from arvis.web.api.questions import QuestionView
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.drawn_kit import drawing, node
from tests.flows.people_kit import TRIGGER, approval, begun, decide, drawn, ended, lines, question


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[agent_with(allow_users=("ann",))]) as app:
        yield app


async def test_a_long_question_says_how_much_of_it_is_shown_and_brings_the_rest(app: AppHarness) -> None:
    long = "".join(f"Line {number:05} of the letter.\n" for number in range(1_000))
    await begun(app, await drawn(app, approval(prompt=f"Send this?\n{long}THE END")))
    wait = await question(app)
    assert wait.prompt == f"Send this?\n{long}THE END"
    (shown,) = await app.until_sent(1)
    assert f"[Showing 6,000 of {len(wait.prompt):,} characters." in shown
    assert f"`arvis questions show {wait.id}`" in shown
    (delivery,) = await app.deliveries()
    (file,) = delivery.files
    assert (file.filename, file.content) == ("question.md", wait.prompt)
    view = await app.insights.question(wait.id)
    assert view is not None
    rights = WaitRights(may_answer=True, asked_of=())
    whole, listed = QuestionView.of_view(view, rights), QuestionView.of_view(view, rights, whole=False)
    assert whole.change is not None
    assert whole.prompt == whole.change.text == wait.prompt
    assert "[Showing 6,000 of" in listed.prompt
    assert listed.change is not None
    assert (listed.change.text, listed.change.hash) == (listed.prompt, whole.change.hash)


async def test_a_yes_counts_for_what_was_shown_and_for_nothing_else(app: AppHarness) -> None:
    """A branch beside the question changes the text that needs an approval."""
    document = drawing(
        TRIGGER,
        node("draft", "response", "Draft"),
        node("later", "wait", amount=60),
        node("other", "response", "Other", template="goodbye"),
        node("ok", "approval", "Ok", prompt="Send {{Draft}}?"),
        node("yes", "response", "Yes", template="Sent: {{Draft}}"),
        ways=["go > draft > ok", "go > later > other > draft", "ok:approve > yes"],
        pauses="branch",
    )
    run_id = await begun(app, await drawn(app, document))
    first = await question(app)
    assert first.prompt == "Send hello?"
    await app.pass_time(61)
    second = await question(app, but=first.id)
    await decide(app, first, "approve")

    async def asked_again() -> Wait | None:
        page = await app.insights.waits(open_only=True, limit=10, cursor=None)
        return next((each for each in page.items if each.id not in {first.id, second.id}), None)

    again = await app.until(asked_again)
    assert again.prompt == "Send goodbye?"
    (warning,) = await lines(app, run_id, "warning")
    assert "asked again" in warning
    for wait in (again, second):
        await decide(app, wait, "approve")
    run = await ended(app, run_id)
    assert run.state["out:yes"]["output"] == "Sent: goodbye"
