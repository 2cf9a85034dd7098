"""`arvis explain`: the timeline of a message as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, connect
from arvis.cli.commands.explain_text import story
from arvis.cli.options import json_option, place_options
from arvis.cli.output import plain, print_json
from arvis.domain.errors import NotFound


@click.command()
@click.argument("message_id", required=False, help="Of a message, its answer or its job; the newest without.")
@json_option
@place_options
def explain(*, message_id: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Explain why a message was answered as it was, or why it was not."""
    api = connect(config, data)
    timeline = _timeline(api, message_id)
    if as_json:
        print_json(timeline)
    else:
        print(plain("\n".join([timeline["explanation"], "", *story(timeline), *_plan(api, timeline)])))


def _plan(api: Api, timeline: Any) -> list[str]:
    """Return the plan of an agent that plans; nothing for other agents, and once old work has been removed."""
    execution = (timeline["job"] or {}).get("executionId")
    if execution is None:
        return []
    try:
        plan = api.get("api", "executions", execution)["plan"]
    except NotFound:
        return []
    return ["", "The plan:", "", plan] if plan else []


def _timeline(api: Api, given: str | None) -> Any:
    """Return the timeline for this id, or for the newest message without one."""
    if given is None:
        newest = api.get("api", "jobs", query={"kind": "message", "limit": 1})["items"]
        if not newest:
            raise NotFound("There is no message yet", fix='Write one: arvis chat "hello"')
        return api.get("api", "messages", newest[0]["messageId"])
    try:
        return api.get("api", "messages", given)
    except NotFound:
        message_id = _message_of_job(api, given)
        if message_id is None:
            raise
        return api.get("api", "messages", message_id)


def _message_of_job(api: Api, given: str) -> str | None:
    try:
        message_id: str | None = api.get("api", "jobs", given)["messageId"]
    except NotFound:
        return None
    return message_id
