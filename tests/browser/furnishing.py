"""Content for every page of a daemon, and the addresses of all pages."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from tests.browser.asking import ask, hire
from tests.browser.daemon import Daemon
from tests.browser.drawn import ASKING, begin, draw, run_until

_TABLE = Path(__file__).parents[2] / "arvis" / "web" / "ui" / "src" / "pages" / "pages.ts"

#: Every page of the dashboard.
PAGES = tuple(re.findall(r'^  page\("([^"]+)"', _TABLE.read_text(), re.MULTILINE))

#: One open detail or form of each kind; `furnish` returns the ids for the names.
DETAILS = (
    *("/chat/{agent}", "/queue/{job}", "/schedules/{schedule}", "/schedules/new", "/questions/{wait}"),
    *("/agents/new", "/agents/{agent}", "/agents/{agent}/edit", "/agents/{agent}/history", "/agents/{agent}/memory"),
    *(
        "/memory/{fact}",
        "/memory/states",
        "/skills/{skill}",
        "/knowledge/{base}",
        "/knowledge/new",
        "/projects/{project}",
        "/projects/new",
    ),
    *("/evaluations/{suite}", "/evaluations/new"),
    *("/workflows/{workflow}", "/workflows/{workflow}/runs", "/workflows/{workflow}/runs/{asking}?node=boss"),
    *("/workflows/new", "/workflows/{workflow}/edit"),
    *("/workflows/{workflow}/versions/1", "/workflows/{workflow}/call", "/workflows/examples", "/workflows/import"),
    *("/conversations/{conversation}", "/executions/{run}", "/messages/{message}", "/messages/{failed}"),
    *("/settings/accounts/{account}", "/settings/accounts/new", "/settings/bots/telegram", "/settings/people/{person}"),
    *("/settings/clients/{client}", "/settings/webhooks/{webhook}", "/settings/variables/{variable}"),
    *(
        "/settings/users/all/{user}",
        "/settings/users/add-user",
        "/settings/users/keys/{key}",
        "/settings/users/add-key",
    ),
)


async def furnish(daemon: Daemon) -> dict[str, str]:
    """Create an object of each kind, and return their ids by name."""
    await hire(daemon, "scribe", tools=["write_file"], prompt="Write down what you are told.")
    work = asyncio.gather(
        ask(daemon, "# A list\n\n- one\n- `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |", "hall"),
        ask(daemon, "demo: fail bad_request\nof the cellar", "cellar"),
        ask(daemon, 'demo: tool write_file {"path": "a.txt", "content": "milk"}', "scribe"),
        ask(daemon, "Hello there", "dashboard-agent-scribe"),
    )
    place = {"platform": "web", "channelId": "hall"}
    cron = {"kind": "cron", "agent": "scribe", "name": "Morning", "schedule": "0 8 * * *", "prompt": "Good morning"}
    hook = {"path": "orders", "name": "Orders", "agent": "scribe", "template": "An order came: {{ body }}"}
    account = {"name": "spare", "provider": "openai", "model": "small", "apiKey": "none", "status": "disabled"}
    made = {
        "schedule": ("POST", "/api/schedules", {**cron, **place}),
        "webhook": ("POST", "/api/webhooks", {**hook, **place}),
        "fact": ("POST", "/api/memory", {"agent": "scribe", "content": "The sky is blue"}),
        "client": ("POST", "/api/clients", {"name": "Ann's shop", "plan": "per_task", "pricePerTaskUsd": 2}),
        "project": ("POST", "/api/projects", {"title": "Write the handbook", "goal": "Ten pages"}),
        "key": ("POST", "/api/keys", {"name": "nightly report", "role": "viewer"}),
        "user": ("POST", "/api/users", {"id": "ann", "name": "Ann", "role": "operator"}),
        "": ("PUT", "/api/variables/SHOP_URL", {"value": "https://shop.example"}),
    }
    answers = await asyncio.gather(*(daemon.api(*request) for request in made.values()))
    ids = {name: str(answer["id"]) for name, answer in zip(made, answers, strict=True) if name}
    record, failed, _, _ = await work
    await daemon.api("POST", "/api/accounts", account)
    await daemon.api("POST", "/api/knowledge", {"slug": "handbook", "description": "Rules for employees"})
    await daemon.api(
        "POST", "/api/knowledge/handbook/documents", {"name": "leave.md", "text": "# Leave\n\nThirty days."}
    )
    ids |= {
        "base": "handbook",
        "account": "spare",
        "agent": "scribe",
        "variable": "SHOP_URL",
        "job": failed["job"]["id"],
    }
    recorded = {"message": record["messageId"], "name": "list", "expect": [{"contains": "two"}]}
    await daemon.api("POST", "/api/suites", {"name": "hall", "agent": record["agent"]})
    await daemon.api("POST", "/api/suites/hall/record", recorded)
    await daemon.api("POST", "/api/evaluations", {"suite": "hall"})
    ids |= {"suite": "hall"}
    drawn = await draw(daemon, "Ask the boss", ASKING)
    asking = await begin(daemon, drawn)
    await run_until(daemon, asking, ["paused"])
    ids |= {"workflow": drawn["id"], "asking": asking}
    ids |= {"message": record["messageId"], "failed": failed["messageId"]}
    first = {
        "wait": ("/api/questions", "id"),
        "skill": ("/api/skills", "slug"),
        "conversation": ("/api/conversations", "id"),
        "run": ("/api/executions?graph=agent", "id"),
        "person": ("/api/people", "id"),
    }
    lists = await asyncio.gather(*(daemon.api("GET", path) for path, _ in first.values()))
    found = {name: str(rows["items"][0][field]) for (name, (_, field)), rows in zip(first.items(), lists, strict=True)}
    return ids | found
