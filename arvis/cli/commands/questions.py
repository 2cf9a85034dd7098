"""`arvis questions`: commands that show the questions of agents and workflows to people, and answer them."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import choice, given, page_options
from arvis.cli.output import Output, Row, Table, at


class Decision(StrEnum):
    """The decisions that an answer may have."""

    APPROVE = "approve"
    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    FEEDBACK = "feedback"
    ANSWER = "answer"
    CANCEL = "cancel"


def _object(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise click.BadParameter('must be a JSON object such as {"path": "/tmp"}')
    return found


def _answer(question: Row) -> object:
    answered = question["answer"]
    return answered.get("decision") if isinstance(answered, dict) else answered


_QUESTIONS = Table(
    "id",
    "kind",
    ("asked", at("askedAt")),
    ("expires", at("expiresAt")),
    "prompt",
    ("choices", lambda question: ", ".join(question["choices"])),
    ("answer", _answer),
    nothing="No open questions.",
)


@click.group(cls=ApiCommands)
def questions() -> None:
    """List and show the questions that wait for a person, and answer them."""


@questions.command("list")
@click.option("--all", "everything", is_flag=True, help="Include answered questions.")
@page_options
def list_questions(*, api: Api, everything: bool, **query: Any) -> Output:
    """List open questions, the newest first."""
    return _QUESTIONS.page(api.get("questions", query={"open": not everything, **query}))


@questions.command()
@click.argument("question_id", metavar="ID")
def show(*, api: Api, question_id: str) -> Output:
    """Show one question with its full text."""
    question = api.get("questions", question_id)
    choices = f"Answers: {', '.join(question['choices'])}" if question["choices"] else ""
    return Output(question, question["prompt"], choices)


@questions.command()
@click.argument("question_id", metavar="ID")
@click.argument("decision", metavar="DECISION", type=choice(Decision), help=f"One of {', '.join(Decision)}.")
@click.option("--text", help="The text; required by feedback and answer.")
@click.option("--note", help="A remark that is stored with the decision.")
@click.option(
    "--arguments",
    type=_object,
    metavar="JSON",
    help="The changed arguments; required by edit. With accept, the values of a form.",
)
def answer(*, api: Api, question_id: str, **body: Any) -> Output:
    """Answer a question. The first answer counts."""
    question = api.post("questions", question_id, "answer", body=given(body))
    return Output(question, f"The question {question_id} is answered: {body['decision']}.")
