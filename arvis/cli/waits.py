"""`arvis waits`: questions that agents and workflows put to people, and their answers."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from arvis.cli.api import connect
from arvis.cli.options import AsJson, ConfigFile, Cursor, DataFolder, Limit, new_app
from arvis.cli.printing import moment, print_json, print_table, tell

app = new_app(help="List the questions that wait for a person, and answer them.")


class Decision(StrEnum):
    """What an answer can be (interfaces.md §4)."""

    APPROVE = "approve"
    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    FEEDBACK = "feedback"
    ANSWER = "answer"


WaitId = Annotated[str, typer.Argument(metavar="WAIT_ID")]
Chosen = Annotated[Decision, typer.Argument(metavar="DECISION", help=f"One of {', '.join(Decision)}.")]
Everything = Annotated[bool, typer.Option("--all", help="Those that are answered, too.")]
Text = Annotated[str | None, typer.Option("--text", help="The words; needed by feedback and answer.")]
Note = Annotated[str | None, typer.Option("--note", help="A remark that is kept with the decision.")]
Arguments = Annotated[
    str | None, typer.Option("--arguments", metavar="JSON", help="The changed arguments; needed by edit.")
]

_COLUMNS = ("id", "kind", "asked", "expires", "prompt", "choices", "answer")


@app.command("list")
def list_waits(
    *,
    everything: Everything = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    data: DataFolder = None,
) -> None:
    """List open questions, the newest first."""
    query = {"open": "false" if everything else "true", "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "waits", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_row(wait) for wait in page["items"]], _COLUMNS, nothing="Nothing waits for a person.")
    if page["nextCursor"]:
        tell(f"There are more: --cursor {page['nextCursor']}")


@app.command()
def answer(
    *,
    wait_id: WaitId,
    decision: Chosen,
    text: Text = None,
    note: Note = None,
    arguments: Arguments = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    data: DataFolder = None,
) -> None:
    """Answer a question; the first answer wins."""
    given = {"decision": decision, "text": text, "note": note, "arguments": _object(arguments)}
    body = {name: value for name, value in given.items() if value is not None}
    wait = connect(config, data).post("api", "waits", wait_id, "answer", body=body)
    if as_json:
        print_json(wait)
    else:
        print(f"The question {wait_id} is answered: {decision}.")


def _row(wait: Any) -> dict[str, object]:
    answered = wait["answer"]
    return {
        **wait,
        "asked": moment(wait["askedAt"]),
        "expires": moment(wait["expiresAt"]),
        "choices": ", ".join(wait["choices"]),
        "answer": answered.get("decision") if isinstance(answered, dict) else answered,
    }


def _object(text: str | None) -> Any:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"is no JSON: {error}", param_hint="--arguments") from error
    if not isinstance(found, dict):
        raise typer.BadParameter('must be a JSON object such as {"path": "/tmp"}', param_hint="--arguments")
    return found
