"""`arvis questions`: the questions of agents and workflows to people, and their answers."""

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
    """The decisions that an answer may have."""

    APPROVE = "approve"
    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    FEEDBACK = "feedback"
    ANSWER = "answer"


_COLUMNS = ("id", "kind", "asked", "expires", "prompt", "choices", "answer")


@click.group(cls=Commands)
def questions() -> None:
    """List and show the questions that wait for a person, and answer them."""


@questions.command("list")
@click.option("--all", "everything", is_flag=True, help="Include answered questions.")
@page_options
@json_option
@place_options
def list_questions(
    *, everything: bool, limit: int, cursor: str | None, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """List open questions, the newest first."""
    query = {"open": "false" if everything else "true", "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "questions", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_row(question) for question in page["items"]], _COLUMNS, nothing="No open questions.")
    tell_more(page)


@questions.command()
@click.argument("question_id", metavar="ID")
@json_option
@place_options
def show(*, question_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show one question with its full text."""
    question = connect(config, data).get("api", "questions", question_id)
    if as_json:
        print_json(question)
        return
    print(question["prompt"])
    if question["choices"]:
        print(f"\nAnswers: {', '.join(question['choices'])}")


@questions.command()
@click.argument("question_id", metavar="ID")
@click.argument(
    "decision", metavar="DECISION", type=click.Choice([*map(str, Decision)]), help=f"One of {', '.join(Decision)}."
)
@click.option("--text", help="The text; required by feedback and answer.")
@click.option("--note", help="A remark that is stored with the decision.")
@click.option("--arguments", metavar="JSON", help="The changed arguments; required by edit.")
@json_option
@place_options
def answer(
    *,
    question_id: str,
    decision: str,
    text: str | None,
    note: str | None,
    arguments: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Answer a question. The first answer counts."""
    given = {"decision": decision, "text": text, "note": note, "arguments": _object(arguments)}
    body = {name: value for name, value in given.items() if value is not None}
    question = connect(config, data).post("api", "questions", question_id, "answer", body=body)
    if as_json:
        print_json(question)
    else:
        print(f"The question {question_id} is answered: {decision}.")


def _row(question: Any) -> dict[str, object]:
    answered = question["answer"]
    return {
        **question,
        "asked": moment(question["askedAt"]),
        "expires": moment(question["expiresAt"]),
        "choices": ", ".join(question["choices"]),
        "answer": answered.get("decision") if isinstance(answered, dict) else answered,
    }


def _object(text: str | None) -> Any:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"is not valid JSON: {error}", param_hint="--arguments") from error
    if not isinstance(found, dict):
        raise click.BadParameter('must be a JSON object such as {"path": "/tmp"}', param_hint="--arguments")
    return found
