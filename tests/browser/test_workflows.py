"""Workflows: found, created, imported, run, watched, answered, cancelled, rerun and restored."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.asking import until, visitor
from tests.browser.daemon import Daemon
from tests.browser.drawn import ASKING, begin, chain, draw, run_until

OVER = ("completed", "failed", "cancelled")


def step(page: Page, name: str, state: str = "") -> Locator:
    """Return a step of the drawing by its name and state."""
    return page.locator(".react-flow__node").and_(page.get_by_label(re.compile(f"{name}.*{state}")))


def _asking(prompt: str) -> list[dict[str, Any]]:
    """Return the nodes of `ASKING` with another question."""
    return [{**node, "data": {"prompt": prompt}} if node["id"] == "boss" else node for node in ASKING["nodes"]]


async def of(daemon: Daemon, workflow: dict[str, Any]) -> dict[str, Any]:
    return dict(await daemon.api("GET", f"/api/workflows/{workflow['id']}"))


async def test_one_is_found_and_switched_off_in_its_row(dashboard: Page, daemon: Daemon) -> None:
    kept = await draw(daemon, "Harbour watch", ASKING, description="Looks at the ships")
    await draw(daemon, "Other thing", ASKING)
    await dashboard.goto("/workflows")
    await dashboard.get_by_role("searchbox").fill("harbour")
    await expect(dashboard.get_by_role("row", name="Other thing")).to_have_count(0)
    row = dashboard.get_by_role("row", name="Harbour watch")
    await expect(row).to_contain_text("Looks at the ships")
    await expect(row).to_contain_text("Never")
    await row.get_by_role("checkbox").click()
    await expect(row.get_by_role("checkbox", name="Turn Harbour watch on")).to_be_visible()
    assert (await of(daemon, kept))["enabled"] is False
    await dashboard.get_by_role("button", name="On", exact=True).click()
    await expect(dashboard.get_by_role("heading", name="Nothing matches")).to_be_visible()


async def test_an_example_is_looked_at_and_taken(dashboard: Page, daemon: Daemon) -> None:
    examples = (await daemon.api("GET", "/api/workflows/examples"))["items"]
    await dashboard.goto("/workflows")
    await dashboard.get_by_role("link", name="Examples").first.click()
    await expect(dashboard.get_by_role("img", name="Diagram of")).to_have_count(len(examples))
    first = examples[0]
    await dashboard.get_by_role("button", name=f"Use this: {first['name']}", exact=True).click()
    await expect(dashboard.get_by_role("heading", level=1, name=first["name"])).to_be_visible()
    made = (await daemon.api("GET", "/api/workflows?limit=1"))["items"][0]
    assert (made["name"], made["enabled"], made["problemCount"]) == (first["name"], False, 0)
    await expect(dashboard).to_have_url(f"/workflows/{made['id']}")


async def test_a_broken_yaml_is_refused_with_its_problems_and_kept_as_a_draft(dashboard: Page, daemon: Daemon) -> None:
    text = (
        "name: From afar\nnodes:\n  - {id: begin, type: start, x: 0, y: 0}\n  - {id: t, type: tool-call, x: 9, y: 9}\n"
    )
    ways = "connections:\n  - {source: begin, target: t}\n"
    await dashboard.goto("/workflows/import")
    await dashboard.get_by_label("Document").fill(text + ways)
    await dashboard.get_by_role("button", name="Import", exact=True).click()
    problems = dashboard.get_by_role("region", name="Problems that prevent a run")
    await expect(problems).to_contain_text("Tool is missing")
    await expect(dashboard.get_by_label("Document")).to_have_value(text + ways)
    await dashboard.get_by_role("button", name="Save as a draft").click()
    await expect(dashboard.get_by_role("heading", level=1, name="From afar")).to_be_visible()
    await expect(problems).to_be_visible()
    made = (await daemon.api("GET", "/api/workflows?q=From afar"))["items"][0]
    assert (made["runnable"], made["problemCount"] > 0) == (None, True)
    await expect(dashboard.get_by_text("No version can run yet")).to_be_visible()


async def test_a_file_is_brought_in(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/workflows/import")
    content = json.dumps({**ASKING, "name": "Out of a file"}).encode()
    await dashboard.get_by_label("File").set_input_files(
        {"name": "a.json", "mimeType": "application/json", "buffer": content}
    )
    await expect(dashboard.get_by_label("Document")).to_have_value(content.decode())
    await dashboard.get_by_label("Name").fill("Renamed on the way")
    await dashboard.get_by_role("button", name="Import", exact=True).click()
    await expect(dashboard.get_by_role("heading", level=1, name="Renamed on the way")).to_be_visible()
    made = (await daemon.api("GET", "/api/workflows?q=Renamed"))["items"][0]
    assert made["runnable"] == 1


async def test_a_run_is_begun_and_seen_to_its_end(dashboard: Page, daemon: Daemon) -> None:
    agent = {"id": "writer", "type": "agent", "label": "Writer", "data": {"userPrompt": "Write: {{PREVIOUS_OUTPUT}}"}}
    answer = {"id": "answer", "type": "response", "label": "Answer", "data": {}}
    made = await draw(daemon, "Seen whole", chain(agent, answer))
    await dashboard.goto("/workflows?q=Seen")
    await dashboard.get_by_role("button", name="Run Seen whole").click()
    dialog = dashboard.get_by_role("dialog")
    await dialog.get_by_label("Input").fill("a note about tea")
    await dialog.get_by_role("button", name="Run", exact=True).click()
    await expect(dashboard).to_have_url(re.compile("/runs/"))
    run = await run_until(daemon, dashboard.url.rpartition("/")[2], OVER)
    assert (run["status"], run["workflow"]["id"], run["input"]) == ("completed", made["id"], "a note about tea")
    for name in ("Start", "Writer", "Answer"):
        await expect(step(dashboard, name, "done")).to_be_visible()
    await expect(dashboard.get_by_text("It finished after")).to_be_visible()
    await expect(dashboard.get_by_text("By hand or by a program")).to_be_visible()
    await step(dashboard, "Writer").dblclick()
    panel = dashboard.get_by_role("region", name="Agent: Writer")
    await expect(panel).to_contain_text("a note about tea")
    await expect(dashboard.get_by_role("heading", name="Log of Writer")).to_be_visible()
    await expect(dashboard.locator("li").filter(has=dashboard.get_by_text("Answer", exact=True))).to_have_count(0)


async def test_it_lights_up_as_it_goes_and_is_approved_in_place(dashboard: Page, daemon: Daemon) -> None:
    made = await draw(daemon, "Asks the boss", ASKING)
    run = await begin(daemon, made)
    await run_until(daemon, run, ["paused"])
    await dashboard.goto(f"/workflows/{made['id']}/runs/{run}")
    await expect(dashboard.get_by_text("It waits for a person's answer in the step Boss.")).to_be_visible()
    await expect(step(dashboard, "Start", "done")).to_be_visible()
    await expect(step(dashboard, "Boss", "waiting")).to_be_visible()
    await expect(step(dashboard, "Sent", "not reached yet")).to_be_visible()
    asked = dashboard.get_by_role("region", name="Open question")
    await expect(asked).to_contain_text("Send this out?")
    await asked.get_by_role("button", name="Approve", exact=True).click()
    await expect(step(dashboard, "Sent", "done")).to_be_visible()
    await expect(step(dashboard, "Kept", "skipped")).to_be_visible()
    await expect(asked).to_have_count(0)
    over = await run_until(daemon, run, OVER)
    assert (over["status"], over["result"]) == ("completed", "It was sent.")


async def test_from_the_question_a_way_leads_to_the_run_where_it_is_approved_with_a_note(
    dashboard: Page, daemon: Daemon
) -> None:
    made = await draw(daemon, "Asked elsewhere", {**ASKING, "nodes": _asking("Is this the right run?")})
    run = await begin(daemon, made)
    await run_until(daemon, run, ["paused"])
    await dashboard.goto("/questions")
    card = dashboard.get_by_role("article", name="Is this the right run?")
    await card.get_by_role("link", name="Open the execution").click()
    await expect(dashboard).to_have_url(f"/workflows/{made['id']}/runs/{run}")
    asked = dashboard.get_by_role("region", name="Open question")
    await asked.get_by_role("button", name="Approve with a note").click()
    await asked.get_by_label("Note").fill("Well done")
    await asked.get_by_role("button", name="Approve", exact=True).click()
    await expect(dashboard.get_by_text("Continued with “Approved”.")).to_be_visible()
    await expect(dashboard.get_by_text("Well done").first).to_be_visible()
    assert (await run_until(daemon, run, OVER))["result"] == "It was sent."


async def test_it_is_rejected_with_a_note(dashboard: Page, daemon: Daemon) -> None:
    made = await draw(daemon, "Is refused", ASKING)
    run = await begin(daemon, made)
    await run_until(daemon, run, ["paused"])
    await dashboard.goto(f"/workflows/{made['id']}/runs/{run}")
    asked = dashboard.get_by_role("region", name="Open question")
    await asked.get_by_role("button", name="Reject").click()
    await asked.get_by_label("Reason").fill("Too long by half")
    await asked.get_by_role("button", name="Reject").click()
    await expect(step(dashboard, "Kept", "done")).to_be_visible()
    await expect(dashboard.get_by_text("Too long by half").first).to_be_visible()
    assert (await run_until(daemon, run, OVER))["result"] == "It was kept."


async def test_a_run_is_cancelled_and_begun_again(dashboard: Page, daemon: Daemon) -> None:
    made = await draw(daemon, "Ends early", ASKING)
    run = await begin(daemon, made)
    await run_until(daemon, run, ["paused"])
    await dashboard.goto(f"/workflows/{made['id']}/runs/{run}")
    await dashboard.get_by_role("button", name="Cancel", exact=True).click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Cancel", exact=True).last.click()
    await expect(dashboard.get_by_text("It was cancelled.")).to_be_visible()
    assert (await daemon.api("GET", f"/api/runs/{run}"))["status"] == "cancelled"
    await dashboard.get_by_role("button", name="Rerun", exact=True).click()
    await expect(dashboard.get_by_text("It waits for a person's answer in the step Boss.")).to_be_visible()
    again = await daemon.api("GET", f"/api/runs/{dashboard.url.rpartition('/')[2]}")
    assert (again["rerunOf"], again["id"] != run) == (run, True)


async def test_a_run_begins_again_in_its_midst(dashboard: Page, daemon: Daemon) -> None:
    words = [
        {"id": name, "type": "response", "label": name.title(), "data": {"template": f"{name} word"}}
        for name in ("first", "second")
    ]
    made = await draw(daemon, "Twice told", chain(*words))
    run = await begin(daemon, made)
    await run_until(daemon, run, OVER)
    await dashboard.goto(f"/workflows/{made['id']}/runs/{run}?node=second")
    await dashboard.get_by_role("button", name="Rerun from here").click()
    await expect(dashboard).not_to_have_url(re.compile(run))
    again = await run_until(daemon, dashboard.url.rpartition("/")[2].partition("?")[0], OVER)
    assert (again["rerunOf"], again["entry"], again["status"]) == (run, "second", "completed")
    await expect(step(dashboard, "Second", "done")).to_be_visible()
    await expect(step(dashboard, "First", "earlier run")).to_be_visible()


async def test_versions_are_compared_and_an_old_one_restored(dashboard: Page, daemon: Daemon) -> None:
    made = await draw(daemon, "Has a past", ASKING, note="As it began")
    wider = {**ASKING, "nodes": [*ASKING["nodes"]], "connections": [*ASKING["connections"]]}
    wider["nodes"].append({"id": "late", "type": "response", "label": "Late", "x": 960, "y": 0, "data": {}})
    wider["connections"].append(
        {"id": "c9", "source": "sent", "target": "late", "sourceHandle": "", "targetHandle": ""}
    )
    path = f"/api/workflows/{made['id']}"
    await daemon.api("PATCH", path, {"document": wider, "version": 1, "note": "One more"})
    await dashboard.goto(f"/workflows/{made['id']}/versions")
    await dashboard.get_by_role("row", name="One more").click()
    await expect(dashboard.get_by_text("Added: 1 step, 1 connection")).to_be_visible()
    await expect(step(dashboard, "Late")).to_be_visible()
    await dashboard.get_by_role("row", name="As it began").click()
    await expect(dashboard.get_by_role("heading", name="Version 1 of Has a past")).to_be_visible()
    await dashboard.get_by_role("button", name="Restore this version").click()
    await expect(dashboard.get_by_role("heading", name="Version 3 of Has a past")).to_be_visible()
    now = await of(daemon, made)
    assert (now["version"], len(now["document"]["nodes"])) == (3, 4)


async def test_a_copy_is_made_and_the_original_removed(dashboard: Page, daemon: Daemon) -> None:
    made = await draw(daemon, "Had twice", ASKING)
    await dashboard.goto(f"/workflows/{made['id']}")
    await dashboard.get_by_role("button", name="More for Had twice").click()
    await dashboard.get_by_role("button", name="Duplicate").click()
    await expect(dashboard.get_by_role("heading", level=1, name="Had twice (copy)")).to_be_visible()
    await dashboard.goto(f"/workflows/{made['id']}")
    await dashboard.get_by_role("button", name="More for Had twice").click()
    await dashboard.get_by_role("button", name="Delete").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(dashboard).to_have_url("/workflows")

    async def one_left() -> bool:
        items = (await daemon.api("GET", "/api/workflows?q=Had twice"))["items"]
        return [one["name"] for one in items] == ["Had twice (copy)"]

    await until(one_left)


async def test_the_palette_knows_them(dashboard: Page, daemon: Daemon) -> None:
    made = await draw(daemon, "Quickly found", ASKING)
    await dashboard.goto("/workflows")
    await expect(dashboard.get_by_role("row", name="Quickly found")).to_be_visible()
    await dashboard.keyboard.press("Control+k")
    await dashboard.get_by_role("combobox").fill("run quickly found")
    await dashboard.get_by_role("option", name="Run Quickly found").click()
    await expect(dashboard).to_have_url(re.compile(f"/workflows/{made['id']}"))
    await expect(dashboard.get_by_role("dialog", name="Run Quickly found")).to_be_visible()


async def test_a_run_on_a_phone(phone: Page, daemon: Daemon) -> None:
    made = await draw(daemon, "In a pocket", ASKING)
    run = await begin(daemon, made)
    await run_until(daemon, run, ["paused"])
    await phone.goto(f"/workflows/{made['id']}/runs/{run}")
    await expect(phone.get_by_role("img", name="Diagram of the run of In a pocket")).to_be_visible()
    await phone.get_by_role("button", name="Approve", exact=True).click()
    await expect(phone.get_by_text("It finished after")).to_be_visible()
    assert await phone.evaluate("document.documentElement.scrollWidth") == 390
    assert (await run_until(daemon, run, OVER))["result"] == "It was sent."


async def test_a_step_is_seen_at_work_and_a_question_answered_in_place(dashboard: Page, daemon: Daemon) -> None:
    slow = {"id": "thinker", "type": "agent", "label": "Thinker", "data": {"userPrompt": "demo: sleep 2"}}
    asks = {"id": "who", "type": "user-input", "label": "Who", "data": {"prompt": "Who is it for?"}}
    made = await draw(daemon, "Takes its time", chain(slow, asks))
    run = await begin(daemon, made)
    async with dashboard.expect_request(re.compile(f"/api/runs/{run}/events")):
        await dashboard.goto(f"/workflows/{made['id']}/runs/{run}")
    await expect(step(dashboard, "Thinker", "running")).to_be_visible()
    await expect(dashboard.get_by_text("It is running. Steps in progress: Thinker.")).to_be_visible()
    await expect(step(dashboard, "Thinker", "done")).to_be_visible()
    asked = dashboard.get_by_role("region", name="Open question")
    await expect(asked).to_contain_text("Who is it for?")
    await asked.get_by_label("Your answer").fill("The neighbours")
    await asked.get_by_role("button", name="Answer").click()
    await expect(step(dashboard, "Who", "done")).to_be_visible()
    assert (await run_until(daemon, run, OVER))["result"] == "The neighbours"


async def test_subagents_are_seen_as_a_tree(dashboard: Page, daemon: Daemon) -> None:
    inner = json.dumps({"task": "look deeper"})
    outer = json.dumps({"task": f"demo: tool subagent_deep_deep {inner}"})
    helps = {"tools": {"subagents": True}}
    lead = {"agentName": "Lead", "userPrompt": f"demo: tool subagent_helper_helper {outer}", **helps}
    document = chain({"id": "lead", "type": "agent", "data": lead})
    document["nodes"] += [
        {"id": "helper", "type": "agent", "x": 320, "y": 180, "data": {"agentName": "Helper", **helps}},
        {"id": "deep", "type": "agent", "x": 320, "y": 360, "data": {"agentName": "Deep"}},
    ]
    document["connections"] += [
        {"id": f"s{one}", "source": one, "target": other, "sourceHandle": "subagent", "targetHandle": ""}
        for one, other in (("lead", "helper"), ("helper", "deep"))
    ]
    made = await draw(daemon, "Has helpers", document)
    run = await begin(daemon, made)
    await run_until(daemon, run, OVER)
    await dashboard.goto(f"/workflows/{made['id']}/runs/{run}")
    tree = dashboard.get_by_role("list", name="Subagents")
    await expect(tree.first.get_by_role("list", name="Subagents")).to_contain_text("Deep")
    await expect(step(dashboard, "Deep", "done")).to_be_visible()
    await dashboard.goto(f"/workflows/{made['id']}/runs/{run}?node=deep")
    await dashboard.get_by_role("list", name="Subagents").get_by_text("Asked").click()
    await expect(dashboard.get_by_role("region", name="Asked")).to_contain_text("look deeper")


async def test_the_drawing_follows_what_waits_and_stays_readable(dashboard: Page, daemon: Daemon) -> None:
    words = [{"id": f"w{at}", "type": "response", "label": f"Word {at}", "data": {}} for at in range(12)]
    boss = {"id": "boss", "type": "user-input", "label": "Boss", "data": {"promptText": "Go on?"}}
    made = await draw(daemon, "Far to the right", chain(*words, boss))
    run = await begin(daemon, made)
    await run_until(daemon, run, ["paused"])
    await dashboard.goto(f"/workflows/{made['id']}/runs/{run}")
    await expect(step(dashboard, "Boss", "waiting")).to_be_in_viewport(ratio=1)
    await expect(dashboard.get_by_text("60 %")).to_be_visible()
    await expect(step(dashboard, "Start")).not_to_be_in_viewport()
    await dashboard.get_by_role("button", name="Fit everything in view").click()
    await expect(step(dashboard, "Start")).to_be_in_viewport()


async def test_viewers_look_and_begin_nothing(browser: Browser, daemon: Daemon) -> None:
    made = await draw(daemon, "Only looked at", ASKING)
    run = await begin(daemon, made)
    await run_until(daemon, run, ["paused"])
    async with visitor(browser, daemon, "onlooker", "viewer") as page:
        await page.goto("/workflows?q=Only looked")
        await expect(page.get_by_role("row", name="Only looked at")).to_be_visible()
        await expect(page.get_by_role("button", name="Run Only looked at")).to_have_count(0)
        await page.goto("/workflows/examples")
        await expect(page.get_by_role("img", name="Diagram of").first).to_be_visible()
        await expect(page.get_by_role("button", name="Use this")).to_have_count(0)
        await page.goto(f"/workflows/{made['id']}/runs/{run}")
        await expect(step(page, "Boss", "waiting")).to_be_visible()
        await expect(page.get_by_role("region", name="Open question").get_by_role("button")).to_have_count(0)
        await expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
