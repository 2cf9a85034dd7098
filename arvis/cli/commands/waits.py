"""`arvis waits`: questions that agents and workflows put to people, and their answers."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.output import moment, print_json, print_table, tell_more


class Decision(StrEnum):
    """What an answer can be (interfaces.md §4)."""

    APPROVE = "approve"
    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    FEEDBACK = "feedback"
    ANSWER = "answer"


_COLUMNS = ("id", "kind", "asked", "expires", "prompt", "choices", "answer")


@click.group(cls=Commands)
def waits() -> None:
    """List the questions that wait for a person, and answer them."""


@waits.command("list")
@click.option("--all", "everything", is_flag=True, help="Those that are answered, too.")
@page_options
@json_option
@place_options
def list_waits(
    *, everything: bool, limit: int, cursor: str | None, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """List open questions, the newest first."""
    query = {"open": "false" if everything else "true", "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "questions", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_row(wait) for wait in page["items"]], _COLUMNS, nothing="Nothing waits for a person.")
    tell_more(page)


@waits.command()
@click.argument("wait_id")
@json_option
@place_options
def show(*, wait_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show one question whole."""
    wait = connect(config, data).get("api", "questions", wait_id)
    if as_json:
        print_json(wait)
        return
    print(wait["prompt"])
    if wait["choices"]:
        print(f"\nAnswers: {', '.join(wait['choices'])}")


@waits.command()
@click.argument("wait_id")
@click.argument(
    "decision", metavar="DECISION", type=click.Choice([*map(str, Decision)]), help=f"One of {', '.join(Decision)}."
)
@click.option("--text", help="The words; needed by feedback and answer.")
@click.option("--note", help="A remark that is kept with the decision.")
@click.option("--arguments", metavar="JSON", help="The changed arguments; needed by edit.")
@json_option
@place_options
def answer(
    *,
    wait_id: str,
    decision: str,
    text: str | None,
    note: str | None,
    arguments: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Answer a question; the first answer wins."""
    given = {"decision": decision, "text": text, "note": note, "arguments": _object(arguments)}
    body = {name: value for name, value in given.items() if value is not None}
    wait = connect(config, data).post("api", "questions", wait_id, "answer", body=body)
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
        raise click.BadParameter(f"is no JSON: {error}", param_hint="--arguments") from error
    if not isinstance(found, dict):
        raise click.BadParameter('must be a JSON object such as {"path": "/tmp"}', param_hint="--arguments")
    return found
