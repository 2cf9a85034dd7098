"""`arvis explain`: the timeline of a message, told."""

from __future__ import annotations

from typing import Annotated

import typer

from arvis.cli.api import connect
from arvis.cli.narrative import story, verdict
from arvis.cli.options import AsJson, ConfigFile, DataFolder, new_app
from arvis.cli.printing import plain, print_json

app = new_app()

MessageId = Annotated[str, typer.Argument(metavar="MESSAGE_ID")]


@app.command()
def explain(
    *, message_id: MessageId, as_json: AsJson = False, config: ConfigFile = None, data: DataFolder = None
) -> None:
    """Tell why a message was answered as it was, or why it was not."""
    timeline = connect(config, data).get("api", "messages", message_id)
    if as_json:
        print_json(timeline)
    else:
        print(plain("\n".join([verdict(timeline), "", *story(timeline)])))
