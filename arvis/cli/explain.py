"""`arvis explain`: the timeline of a message, told."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from arvis.cli.api import Api, connect
from arvis.cli.narrative import story, verdict
from arvis.cli.options import AsJson, ConfigFile, DataFolder, new_app
from arvis.cli.printing import plain, print_json
from arvis.domain.errors import NotFound

app = new_app()

MessageId = Annotated[
    str | None, typer.Argument(metavar="[MESSAGE_ID]", help="Of a message, its answer or its job; the newest without.")
]


@app.command()
def explain(
    *, message_id: MessageId = None, as_json: AsJson = False, config: ConfigFile = None, data: DataFolder = None
) -> None:
    """Tell why a message was answered as it was, or why it was not."""
    timeline = _timeline(connect(config, data), message_id)
    if as_json:
        print_json(timeline)
    else:
        print(plain("\n".join([verdict(timeline), "", *story(timeline)])))


def _timeline(api: Api, given: str | None) -> Any:
    """The story that somebody means who gives this id, or none."""
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
