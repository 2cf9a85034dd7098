"""The workflow editor: draw by mouse and by keyboard alone, check, undo, keep drafts, save and run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any

from playwright.async_api import Browser, Error, Locator, Page, Route, expect

from tests.browser.asking import visitor
from tests.browser.daemon import Daemon

_numbers = count(1)
Document = dict[str, Any]


def drawing(*nodes: Document, connections: list[tuple[str, str, str]] | None = None) -> Document:
    """Return a document of these nodes; a connection has a source, its output and a target."""
    lines = [
        {"id": f"c{at}", "source": source, "sourceHandle": way, "target": target, "targetHandle": ""}
        for at, (source, way, target) in enumerate(connections or [], 1)
    ]
    return {"schema": 1, "settings": {}, "nodes": list(nodes), "connections": lines}


def node(name: str, kind: str, at: int, **data: object) -> Document:
    return {"id": name, "type": kind, "x": 320 * at, "y": 0, "data": data}


async def kept(daemon: Daemon, document: Document) -> Document:
    """Save the document as a new workflow; a document with errors becomes a draft."""
    name = f"Drawn {next(_numbers)}"
    body = {"name": name, "document": document, "draft": True}
    made: Document = await daemon.api("POST", "/api/workflows", body, status=201)
    return made


async def saved(daemon: Daemon, workflow: str) -> Document:
    found: Document = await daemon.api("GET", f"/api/workflows/{workflow}")
    return found


def ways(document: Document) -> set[tuple[str, str, str]]:
    return {(one["source"], one["sourceHandle"], one["target"]) for one in document["connections"]}


def step(page: Page, name: str) -> Locator:
    """Return a node of the drawing by its id."""
    return page.locator(f'.react-flow__node[data-id="{name}"]')


def handle(page: Page, name: str, way: str) -> Locator:
    return step(page, name).locator(f'.react-flow__handle[data-handleid="{way}"]')


async def drag(page: Page, source: Locator, target: Locator) -> None:
    """Drag with the mouse in several moves, as people do."""
    start, end = await source.bounding_box(), await target.bounding_box()
    assert start is not None
    assert end is not None
    await page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    await page.mouse.down()
    await page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=8)
    await page.mouse.up()


async def enter(button: Locator) -> None:
    """Press Enter on a button once it is enabled; a busy page would ignore the key."""
    await expect(button).to_be_enabled()
    await button.press("Enter")


async def run_and_approve(page: Page, daemon: Daemon, press: Callable[[Locator], Awaitable[None]]) -> Document:
    """Start a run in the editor, which saves first, approve its question, wait for the result, and return the run."""
    await press(page.get_by_role("button", name="Run", exact=True))
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Input").fill("Tell the team.")
    await press(dialog.get_by_role("button", name="Run", exact=True))
    await page.wait_for_url("**/workflows/*/runs/*")
    await press(page.get_by_role("button", name="Approve", exact=True))
    await expect(page.get_by_role("heading", name="Result")).to_be_visible()
    run: Document = await daemon.api("GET", f"/api/runs/{page.url.rsplit('/', 1)[1]}")
    assert run["status"] == "completed"
    assert run["nodes"]["agent-1"]["state"] == "done"
    return run


async def test_a_workflow_with_an_approval_is_drawn_by_mouse_run_approved_and_its_result_seen(
    dashboard: Page, daemon: Daemon
) -> None:
    await dashboard.goto("/workflows/new")
    await dashboard.get_by_label("Name", exact=True).fill("Announce")
    palette = dashboard.get_by_role("navigation", name="Steps")
    await expect(step(dashboard, "start-1")).to_be_visible()
    await dashboard.get_by_role("button", name="Zoom out by 10 %").click()
    canvas = dashboard.get_by_role("region", name="Diagram of Announce")
    approval = palette.get_by_role("button", name="Add: Approval")
    await approval.drag_to(canvas, target_position={"x": 80, "y": 420})
    await expect(step(dashboard, "approval-1")).to_be_visible()
    await dashboard.get_by_label("Question", exact=True).fill("Shall everybody know?")
    agent = palette.get_by_role("button", name="Add: Agent")
    await agent.drag_to(canvas, target_position={"x": 330, "y": 60})
    await expect(step(dashboard, "agent-1")).to_be_visible()
    await drag(dashboard, handle(dashboard, "start-1", "out:"), handle(dashboard, "approval-1", "in:"))
    await drag(dashboard, handle(dashboard, "approval-1", "out:approve"), handle(dashboard, "agent-1", "in:"))
    await expect(dashboard.locator(".react-flow__edge")).to_have_count(2)
    await expect(dashboard.get_by_text("Ready to run")).to_be_visible()
    run = await run_and_approve(dashboard, daemon, lambda button: button.click())
    made = await saved(daemon, run["workflow"]["id"])
    assert made["name"] == "Announce"
    assert ways(made["document"]) == {("start-1", "", "approval-1"), ("approval-1", "approve", "agent-1")}


async def test_the_same_by_keyboard_alone(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/workflows/new")
    keys = dashboard.keyboard
    await expect(step(dashboard, "start-1")).to_be_visible()
    for name in ("approval", "agent"):
        await keys.press("n")
        await keys.type(name)
        await keys.press("Enter")
        await expect(step(dashboard, f"{name}-1")).to_be_focused()
    before = await step(dashboard, "agent-1").bounding_box()
    await keys.press("Shift+ArrowDown")
    await expect(dashboard.get_by_role("status").filter(has_text="Agent moved to")).to_be_attached()
    assert before != await step(dashboard, "agent-1").bounding_box()
    await step(dashboard, "start-1").focus()
    await keys.press("c")
    await dashboard.get_by_role("combobox", name="Continues to").select_option(label="Approval")
    await keys.press("Tab")
    await keys.press("Enter")
    await expect(step(dashboard, "start-1")).to_be_focused()
    await keys.press("Tab")
    await expect(step(dashboard, "approval-1")).to_be_focused()
    await keys.press("c")
    await expect(dashboard.get_by_label("Output", exact=True)).to_have_value("approve")
    await dashboard.get_by_role("dialog").get_by_role("button", name="Connect").press("Enter")
    await expect(step(dashboard, "approval-1")).to_be_focused()
    await keys.press("Enter")
    await expect(dashboard.get_by_role("complementary", name="Approval").get_by_label("Name")).to_be_focused()
    await keys.press("Escape")
    await expect(step(dashboard, "approval-1")).to_be_focused()
    await keys.press("Control+s")
    await dashboard.wait_for_url("**/edit")
    workflow = dashboard.url.split("/")[-2]
    drawn = ways((await saved(daemon, workflow))["document"])
    assert drawn == {("start-1", "", "approval-1"), ("approval-1", "approve", "agent-1")}
    await run_and_approve(dashboard, daemon, enter)


async def test_a_problem_is_shown_at_its_step_and_in_the_list_and_keeps_from_running_not_from_saving(
    dashboard: Page, daemon: Daemon
) -> None:
    made = await kept(daemon, drawing(node("a", "start", 0), node("b", "tool-call", 1), connections=[("a", "", "b")]))
    await dashboard.goto(f"/workflows/{made['id']}/edit")
    await expect(step(dashboard, "b")).to_have_attribute("aria-label", "Tool, Tool, Choose a tool, 1 problem")
    await dashboard.get_by_role("button", name="Run", exact=True).press("Enter")
    problem = dashboard.get_by_role("complementary", name="Problems").get_by_role("button", name="Tool is missing")
    await problem.click()
    field = dashboard.get_by_role("combobox", name="Tool", exact=True)
    await expect(field).to_be_focused()
    await expect(field).to_have_attribute("aria-invalid", "true")
    await dashboard.get_by_role("textbox", name="Name", exact=True).fill("Reckon")
    await dashboard.get_by_role("button", name="Save as draft").click()
    await expect(dashboard.get_by_text("Saved as a draft")).to_be_visible()
    draft = await saved(daemon, made["id"])
    assert (draft["problemCount"], draft["runnable"]) == (1, None)
    await field.select_option("calculate")
    await expect(dashboard.get_by_text("Ready to run")).to_be_visible()
    await dashboard.get_by_role("button", name="Save", exact=True).click()
    await expect(dashboard.get_by_text("Saved.", exact=True)).to_be_visible()
    mended = await saved(daemon, made["id"])
    assert mended["runnable"] == mended["version"]


async def test_a_new_one_saved_without_a_name_is_saved(dashboard: Page) -> None:
    await dashboard.goto("/workflows/new")
    await expect(dashboard.get_by_text("Not saved yet", exact=True)).to_be_visible()
    await dashboard.get_by_role("button", name="Save as draft").click()
    await expect(dashboard.get_by_text("Saved", exact=True)).to_be_visible()
    await expect(dashboard.get_by_text("Unsaved changes", exact=True)).to_have_count(0)


async def test_an_empty_condition_and_a_trigger_that_nothing_begins_are_not_called_ready(
    dashboard: Page, daemon: Daemon
) -> None:
    rows = [{"operator": "equal", "value": ""}]
    trigger = {**node("t", "trigger", 0), "data": {"kind": "webhook"}}
    nodes = (trigger, node("i", "if", 1, conditions=rows), node("r", "response", 2))
    made = await kept(daemon, drawing(*nodes, connections=[("t", "", "i"), ("i", "condition-0", "r")]))
    await dashboard.goto(f"/workflows/{made['id']}/edit")
    await expect(dashboard.get_by_text("Can run, with hints")).to_be_visible()
    await expect(dashboard.get_by_text("2 hints")).to_be_visible()
    await expect(dashboard.get_by_text("Ready to run")).to_have_count(0)
    await step(dashboard, "t").click()
    kinds = await dashboard.get_by_role("combobox", name="When").locator("option").all_text_contents()
    assert "A webhook is called" in kinds
    assert "A calendar event begins" not in kinds


async def test_steps_are_taken_back_and_done_again(dashboard: Page, daemon: Daemon) -> None:
    made = await kept(daemon, drawing(node("a", "start", 0), node("b", "response", 1), connections=[("a", "", "b")]))
    await dashboard.goto(f"/workflows/{made['id']}/edit")
    nodes = dashboard.locator(".react-flow__node")
    await step(dashboard, "b").click()
    await dashboard.keyboard.press("Control+d")
    await expect(nodes).to_have_count(3)
    await step(dashboard, "b").focus()
    await dashboard.keyboard.press("Delete")
    await expect(nodes).to_have_count(2)
    await expect(dashboard.locator(".react-flow__edge")).to_have_count(0)
    for left in (3, 2):
        await dashboard.keyboard.press("Control+z")
        await expect(nodes).to_have_count(left)
    await expect(dashboard.locator(".react-flow__edge")).to_have_count(1)
    await expect(dashboard.get_by_role("button", name="Undo")).to_be_disabled()
    await dashboard.keyboard.press("Control+Shift+z")
    await expect(nodes).to_have_count(3)


async def test_connections_stay_with_their_rows(dashboard: Page, daemon: Daemon) -> None:
    rows = [{"operator": "equal", "value": value} for value in ("one", "two", "three")]
    targets = [node(name, "response", 2) for name in ("x", "y", "z")]
    lines = [("a", "", "i"), ("i", "condition-0", "x"), ("i", "condition-1", "y"), ("i", "condition-2", "z")]
    made = await kept(
        daemon, drawing(node("a", "start", 0), node("i", "if", 1, conditions=rows), *targets, connections=lines)
    )
    await dashboard.goto(f"/workflows/{made['id']}/edit")
    await step(dashboard, "i").click(position={"x": 60, "y": 20})
    await dashboard.get_by_role("button", name="Move row 3 up").click()
    await dashboard.get_by_role("button", name="Remove row 1").click()
    await expect(dashboard.locator(".react-flow__edge")).to_have_count(3)
    await dashboard.get_by_role("button", name="Save", exact=True).click()
    await expect(dashboard.get_by_text("Saved.", exact=True)).to_be_visible()
    document = (await saved(daemon, made["id"]))["document"]
    assert ways(document) == {("a", "", "i"), ("i", "condition-0", "z"), ("i", "condition-1", "y")}
    changed = next(one for one in document["nodes"] if one["id"] == "i")
    assert [row["value"] for row in changed["data"]["conditions"]] == ["three", "two"]


async def test_a_heap_of_steps_is_arranged(dashboard: Page, daemon: Daemon) -> None:
    heap = [node("a", "start", 0), node("b", "approval", 0), node("c", "response", 0), node("d", "response", 0)]
    lines = [("a", "", "b"), ("b", "approve", "c"), ("b", "reject", "d"), ("c", "", "b")]
    made = await kept(daemon, drawing(*heap, connections=lines))
    await dashboard.goto(f"/workflows/{made['id']}/edit")
    await dashboard.get_by_role("button", name="Arrange").click()
    await dashboard.keyboard.press("Control+s")
    await expect(dashboard.get_by_text("Saved.", exact=True)).to_be_visible()
    at = {one["id"]: (one["x"], one["y"]) for one in (await saved(daemon, made["id"]))["document"]["nodes"]}
    assert at["a"][0] < at["b"][0] < at["c"][0] == at["d"][0]
    assert at["c"][1] != at["d"][1]


async def test_changes_that_were_not_saved_are_offered_again(dashboard: Page, daemon: Daemon) -> None:
    made = await kept(daemon, drawing(node("a", "start", 0), node("b", "response", 1), connections=[("a", "", "b")]))
    address = f"/workflows/{made['id']}/edit"
    await dashboard.goto(address)
    await dashboard.get_by_role("button", name="Add: Wait").click()
    await expect(step(dashboard, "wait-1")).to_be_visible()
    await dashboard.get_by_role("link", name="Queue").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await expect(dashboard).to_have_url(address)
    await dashboard.get_by_role("link", name="Queue").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Leave").click()
    await expect(dashboard).to_have_url("/queue")
    await dashboard.goto(address)
    await expect(step(dashboard, "a")).to_be_visible()
    await expect(step(dashboard, "wait-1")).to_have_count(0)
    await dashboard.get_by_role("button", name="Restore them").click()
    await expect(step(dashboard, "wait-1")).to_be_visible()
    await dashboard.keyboard.press("Control+z")
    await expect(step(dashboard, "wait-1")).to_have_count(0)


async def test_what_somebody_else_saved_meanwhile_is_not_written_over(dashboard: Page, daemon: Daemon) -> None:
    document = drawing(node("a", "start", 0), node("b", "response", 1), connections=[("a", "", "b")])
    made = await kept(daemon, document)
    await dashboard.goto(f"/workflows/{made['id']}/edit")
    await dashboard.get_by_label("Description").fill("Mine.")
    changed = {**document, "nodes": [document["nodes"][0], {**document["nodes"][1], "label": "Theirs"}]}
    await daemon.api("PATCH", f"/api/workflows/{made['id']}", {"document": changed, "version": made["version"]})
    await dashboard.get_by_role("button", name="Save", exact=True).click()
    dialog = dashboard.get_by_role("dialog")
    await expect(dialog).to_contain_text("Another person saved")
    await dialog.get_by_role("button", name="Save mine as a copy").click()
    await expect(dashboard.get_by_role("heading", name=f"{made['name']} (copy)")).to_be_visible()
    assert (await saved(daemon, made["id"]))["document"]["nodes"][1]["label"] == "Theirs"
    copy = await saved(daemon, dashboard.url.split("/")[-2])
    assert (copy["description"], copy["id"] != made["id"]) == ("Mine.", True)


async def test_viewers_look_and_change_nothing(browser: Browser, daemon: Daemon) -> None:
    made = await kept(daemon, drawing(node("a", "start", 0), node("b", "response", 1), connections=[("a", "", "b")]))
    async with visitor(browser, daemon, "looker", "viewer") as page:
        await page.goto(f"/workflows/{made['id']}/edit")
        await step(page, "b").focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("textbox", name="Text", exact=True)).to_be_disabled()
        await step(page, "b").focus()
        await page.keyboard.press("Delete")
        await expect(page.locator(".react-flow__node")).to_have_count(2)
        await expect(page.get_by_role("button", name="Save")).to_have_count(0)
        await expect(page.get_by_role("navigation", name="Steps")).to_have_count(0)


async def test_a_connection_is_reached_by_keyboard_and_removed(dashboard: Page, daemon: Daemon) -> None:
    made = await kept(daemon, drawing(node("a", "start", 0), node("b", "response", 1), connections=[("a", "", "b")]))
    await dashboard.goto(f"/workflows/{made['id']}/edit")
    line = dashboard.get_by_label("Connection from Start to Response")
    await expect(line).to_be_attached()
    await dashboard.get_by_role("button", name="Add: Transfer").focus()
    await dashboard.keyboard.press("Tab")
    await expect(line).to_be_focused()
    await dashboard.keyboard.press("Enter")
    await expect(dashboard.get_by_role("complementary", name="Connection")).to_contain_text("Start → Response")
    await dashboard.keyboard.press("Delete")
    await expect(line).to_have_count(0)
    await expect(step(dashboard, "a")).to_be_focused()


async def test_leaving_by_a_key_or_the_way_back_keeps_the_changes(dashboard: Page, daemon: Daemon) -> None:
    made = await kept(daemon, drawing(node("a", "start", 0), node("b", "merge", 1), connections=[("a", "", "b")]))
    address = f"/workflows/{made['id']}/edit"
    await dashboard.goto(f"/workflows/{made['id']}")
    await dashboard.get_by_role("link", name="Edit").click()
    await step(dashboard, "b").click()
    await dashboard.get_by_label("Continues", exact=True).select_option(label="With the first that arrives")
    await dashboard.get_by_role("button", name="Back to the workflow", exact=True).click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await step(dashboard, "b").focus()
    await dashboard.keyboard.press("g")
    await dashboard.keyboard.press("q")
    await dashboard.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await expect(dashboard).to_have_url(address)
    await dashboard.go_back()
    await expect(dashboard.get_by_text("This browser keeps them")).to_be_visible()
    await dashboard.get_by_role("button", name="Go back").click()
    await expect(dashboard).to_have_url(address)
    await dashboard.get_by_role("button", name="Restore them").click()
    await step(dashboard, "b").click()
    await expect(dashboard.get_by_label("Continues", exact=True)).to_have_value("first")


#: Notes in the page whether a hint was shown at any time.
NOTE_HINTS = """() => {
  window.hinted = false;
  const look = () => { window.hinted ||= document.body.innerText.includes("Can run, with hints"); };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


async def test_typing_asks_for_few_checks_and_the_answer_about_an_older_document_is_ignored(
    dashboard: Page, daemon: Daemon
) -> None:
    made = await kept(daemon, drawing(node("a", "start", 0), node("b", "response", 1), connections=[("a", "", "b")]))
    asked: list[str] = []
    older, newer = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        sent = json.loads(route.request.post_data or "")["document"]
        asked.append(sent["nodes"][1]["data"].get("template", ""))
        if asked[-1] == "{{Nobody}}":
            older.set()
            await newer.wait()
        with suppress(Error):  # the page may have cancelled it
            await route.continue_()

    await dashboard.route("**/api/workflows/validate", late)
    await dashboard.goto(f"/workflows/{made['id']}/edit")
    await step(dashboard, "b").click()
    await expect(dashboard.get_by_text("Ready to run")).to_be_visible()
    await dashboard.evaluate(NOTE_HINTS)
    field = dashboard.get_by_role("textbox", name="Text", exact=True)
    await field.press_sequentially("{{Nobody}}", delay=5)
    await older.wait()
    assert len(asked) < len("{{Nobody}}")
    async with dashboard.expect_response(lambda answer: "{{trigger}}" in (answer.request.post_data or "")):
        await field.fill("{{trigger}}")
        newer.set()
    await expect(dashboard.get_by_text("Ready to run")).to_be_visible()
    assert await dashboard.evaluate("window.hinted") is False
    await field.fill("{{Nothing}}")
    await expect(dashboard.get_by_text("Can run, with hints")).to_be_visible()
    assert await dashboard.evaluate("window.hinted") is True


async def test_a_check_that_fails_is_shown_and_keeps_from_nothing(dashboard: Page, daemon: Daemon) -> None:
    made = await kept(daemon, drawing(node("a", "start", 0), node("b", "tool-call", 1), connections=[("a", "", "b")]))
    await dashboard.route("**/api/workflows/validate", lambda route: route.abort())
    await dashboard.goto(f"/workflows/{made['id']}/edit")
    await dashboard.get_by_role("button", name="Not checked").click()
    problems = dashboard.get_by_role("complementary", name="Problems")
    await expect(problems).to_contain_text("Arvis does not answer.")
    await expect(problems).not_to_contain_text("The workflow can run")
    await dashboard.unroute("**/api/workflows/validate")
    await problems.get_by_role("button", name="Try again").click()
    await expect(problems).to_contain_text("Tool is missing")
    await dashboard.route("**/api/workflows/validate", lambda route: route.abort())
    await dashboard.get_by_role("button", name="Add: Response").click()
    await expect(step(dashboard, "response-1")).to_be_visible()
    await dashboard.get_by_role("button", name="Not checked").click()
    await expect(problems).to_contain_text("An earlier check found these problems:")
    await expect(problems).to_contain_text("Tool is missing")
    await dashboard.get_by_role("button", name="Save as draft").click()
    await expect(dashboard.get_by_text("Saved as a draft")).to_be_visible()
    assert len((await saved(daemon, made["id"]))["document"]["nodes"]) == 3
