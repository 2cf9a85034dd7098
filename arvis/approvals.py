"""Builds the questions that people get before a tool runs or a model changes something, and stores the answers.

A question shows all arguments of the call. It shows invisible characters, characters that change the direction of text,
line breaks and long runs of blanks as visible text. Answers come from the API, the command line or a chat; the first
answer counts. The functions with a parameter `tx` are parts of transaction scripts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from arvis.domain.errors import Conflict, Forbidden, NotFound, Unprocessable
from arvis.domain.executions import PERSONAL_WAITS, Answer, Execution, Wait, WaitKind
from arvis.domain.forms import DECISIONS as FORM_DECISIONS
from arvis.domain.forms import FormField, QuestionKind, ServerQuestion
from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.regex import regex
from arvis.domain.tools import ToolCall
from arvis.domain.workflows import PREFIX
from arvis.engine import lifecycle
from arvis.ports.operations import WaitAnswer
from arvis.ports.store import Transaction
from arvis.tasks.rounds import TOOL_EFFECT

#: The maximum number of characters of a question, because a person must be able to read it completely.
LONGEST_QUESTION = 6_000

_LONGEST_NAME = 60
_FENCE = "```"
#: Characters that are invisible although Python counts them as printable: Unicode's default ignorable characters, and
#: the blank pattern of Braille.
_UNSEEN = regex(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BLANKS = regex(r" {9,}")


def question(
    call: ToolCall, *, tool: str, agent: str, asker: str, person: Principal | None, about: str = "", why: str = ""
) -> str | None:
    """Return the question about a tool call; None if the question is too long to be shown completely. `asker` is the name
    of the person, or of the program that works for the person. `about` are lines in which the tool describes the call.
    `why` are lines with the reason why a call that the policy permits still needs an approval."""
    lines = [line(name, value) for name, value in _items(call)]
    head = f"{_short(agent)} wants to use the tool {visible(tool)}."
    reason = [visible(each) for each in why.splitlines()]
    shown = ["With:", *lines] if lines else ["The call has no arguments."]
    more = [f"  {visible(each)}" for each in about.splitlines()]
    return _shown([head, *shown, *more, _asker(asker, person), *reason])


def change_question(
    what: str, lines: Sequence[str], *, agent: str, person: Principal | None, sources: Sequence[str]
) -> str | None:
    """Return the question about a change by an agent; None if the question is too long to be shown completely. `lines`
    show the whole change; `line` and `change` make them. `sources` are the sources of the agent's reply except the
    message of the person."""
    head = f"{_short(agent)} wants to {what}."
    read = [f"The agent has also read data from: {', '.join(sources)}."] if sources else []
    return _shown([head, *lines, _asker("an unknown person" if person is None else person.name, person), *read])


def server_question(asked: ServerQuestion, *, tool: str, agent: str) -> str | None:
    """Return the text of a question of a tool server; None if it is too long to be shown completely. `tool` is the tool
    that the agent has called."""
    head = f"The tool server {visible(asked.server)} asks you, because {_short(agent)} called its tool {visible(tool)}."
    words = [f"> {visible(each)}" for each in asked.message.splitlines() if each.strip()]
    return _shown([head, *(["The server writes:", *words] if words else []), *_lines_of(asked)])


def _lines_of(asked: ServerQuestion) -> Iterator[str]:
    match asked.kind:
        case QuestionKind.PAGE:
            host = urlsplit(asked.url).hostname or ""
            yield f"The server asks you to open this page of {visible(host)}:"
            yield visible(asked.url)
            if "xn--" in host or not host.isascii():
                yield "Be careful: the name of this host may only look like a name that you know."
            yield "Open the page only if you know it. Accept when you have finished there."
            yield "Arvis gets no data from the page."
        case QuestionKind.MODEL:
            yield "It wants to send this request to a model at your expense, and gets the answer:"
            yield from (f"> {visible(each)}" for each in asked.request.splitlines())
        case QuestionKind.FORM if asked.draft is not None:
            yield "Your values:"
            yield from (line(each.label, asked.draft.get(each.name)) for each in asked.fields)
            yield "If you accept, the server gets exactly these values. To change a value, write it again."
        case QuestionKind.FORM if asked.fields:
            yield "The server asks for:"
            yield from (_field_line(each) for each in asked.fields)
            if asked.single is None:
                example = (
                    "the value"
                    if len(asked.fields) == 1
                    else f"a line for each field, such as `{asked.fields[0].name}: …`"
                )
                yield f"To answer, write {example}. You can check the values before they are sent."
            yield "Never write passwords, keys or codes here."


def _field_line(each: FormField) -> str:
    name = (
        f"{visible(each.name)} ({visible(each.title)})"
        if each.title and each.title != each.name
        else visible(each.name)
    )
    start = [] if each.default is None else [f"Default: {_written(each.default)}."]
    about = [f"{visible(each.description)}."] if each.description else []
    return " ".join([f"  {name}: {visible(each.about())}.", *about, *start])


def line(name: str, value: Any) -> str:
    return f"  {visible(name)}: {_written(value)}"


def change(name: str, before: Any, after: Any) -> str:
    return f"  {visible(name)}: {_written(before)} → {_written(after)}"


def _is_seen(letter: str) -> bool:
    """Return True if a character is visible when printed."""
    return letter.isprintable() and not _UNSEEN.match(letter)


def visible(text: str) -> str:
    """Return the text as one line. An invisible character is escaped, and a long run of blanks is replaced by its length."""
    shown = "".join(letter if _is_seen(letter) else letter.encode("unicode_escape").decode() for letter in text)
    return _BLANKS.sub(lambda blanks: f" [{len(blanks[0])} blanks] ", shown)


def as_markdown(prompt: str) -> str:
    """Return a question for programs that show Markdown. Its indented lines become code, so that their addresses are no
    links and their images are not loaded before a person has answered."""
    made, inside = [], False
    for each in prompt.split("\n"):
        indented = each.startswith("  ")
        if indented is not inside:
            made.append(_FENCE)
        made.append(each.replace(_FENCE, r"\x60" * len(_FENCE)) if indented else each)
        inside = indented
    return "\n".join([*made, _FENCE] if inside else made)


def beginning(text: str, rest: str) -> str:
    """Return the text. If the text is longer than `LONGEST_QUESTION`, return its first `LONGEST_QUESTION` characters
    and a note with both lengths. The note ends with `rest`, a sentence that names the place of the whole text."""
    if len(text) <= LONGEST_QUESTION:
        return text
    return f"{text[:LONGEST_QUESTION]}\n\n[Showing {LONGEST_QUESTION:,} of {len(text):,} characters. {rest}]"


def digest(text: str) -> str:
    """Return a hash of the text, so that an answer applies only to this text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def fingerprint(call: ToolCall, tool: str, change: str = "") -> str:
    """Return a hash of the call, so that an answer applies only to this call. `change` is the change of the tool's
    description that the question shows."""
    return digest(f"{tool} {call.what}{change}")


def verdict_of(answer: Answer, *, choices: tuple[str, ...], on_expiry: str) -> dict[str, Any]:
    """Return the decision that the answer contains. If the deadline passed without an answer, return `on_expiry`."""
    if answer.expired:
        return {"decision": on_expiry, "note": "No answer arrived in time."}
    given = dict(answer.value or {"decision": "reject"})
    if given.get("decision") == "answer" and given.get("text") in choices:
        return {**given, "decision": given["text"], "text": None}
    return given


def _shown(lines: Sequence[str]) -> str | None:
    text = "\n".join(lines)
    return text if len(text) <= LONGEST_QUESTION else None


def _asker(asker: str, person: Principal | None) -> str:
    """Return the line about the person for whom the agent works. A name does not identify a person, so the line also
    contains the platform and the person's id there, in the form in which commands name a person."""
    known = f" ({person.platform}:{_short(person.user_id)})" if person is not None else ""
    return f"Asked for by {_short(asker)}{known}."


def _short(name: str) -> str:
    return visible(name)[:_LONGEST_NAME]


def _written(value: Any) -> str:
    return visible(json.dumps(value, ensure_ascii=False))


def _items(call: ToolCall) -> list[tuple[str, Any]]:
    arguments: Mapping[str, Any] = call.arguments or {}
    return list(arguments.items())


#: The people who may approve a tool call: roles, and people as `platform:user id`. One person's approval is enough.
Approvers = Collection[str]
#: The approvers for each name that `approvals.approvers` may have in the configuration.
APPROVERS: Mapping[str, Approvers] = {
    "owners": {PrincipalRole.OWNER},
    "operators": {PrincipalRole.OWNER, PrincipalRole.OPERATOR},
}
_ANYBODY: Approvers = {PrincipalRole.OWNER, PrincipalRole.OPERATOR, PrincipalRole.MEMBER}
#: The approvers for each group name that a workflow's question may have.
_GROUPS: Mapping[str, Approvers] = {
    **APPROVERS,
    "owner": APPROVERS["owners"],
    "operator": APPROVERS["operators"],
    "member": _ANYBODY,
    "members": _ANYBODY,
}
#: The prefix of a key in the execution's state. A node stores the details of its question (`{"approvers": […]}`) under
#: this prefix and the id of its cursor.
ASKS = "asks:"
#: The prefix of the key under which a node stores the question of a tool server, followed by the id of its cursor.
FORMS = "form:"
DECISIONS = {"approve", "accept", "reject", "edit", "feedback", "answer"}
#: The questions that the person for whom an execution works may answer.
_OWN_WAITS = frozenset({WaitKind.USER, WaitKind.INPUT})


def approvers_of(named: str | Sequence[str]) -> Approvers:
    """Return the approvers for a configured name or list. Owners are always included."""
    return APPROVERS[named] if isinstance(named, str) else {PrincipalRole.OWNER, *named}


def question_of(execution: Execution | None, wait: Wait) -> Mapping[str, Any] | None:
    """Return the details that a workflow's node stored with its question; None if the question is about a tool or comes
    from the engine."""
    if execution is None or wait.subject is not None:
        return None
    asked: Mapping[str, Any] | None = execution.state.get(ASKS + wait.cursor_id)
    return asked


def form_of(execution: Execution | None, wait: Wait) -> ServerQuestion | None:
    """Return the question of a tool server; None if the question is of another kind."""
    kept = execution.state.get(FORMS + wait.cursor_id) if execution is not None else None
    return ServerQuestion.from_json(kept) if wait.kind is WaitKind.INPUT and kept is not None else None


def may_answer(tx: Transaction, wait: Wait, by: Principal, approvers: Approvers) -> bool:
    """Return True if this person may answer the question. The person who was asked and the approvers may answer it. Only
    the person for whom the agent works may answer the question of a tool server."""
    if by.role is PrincipalRole.BLOCKED:
        return False
    execution = tx.executions.get(wait.execution_id)
    if wait.kind in _OWN_WAITS and execution is not None and execution.principal_id == by.id:
        return True
    allowed = _allowed(execution, wait, approvers)
    return by.role in allowed or f"{by.platform}:{by.user_id}" in allowed


def asked_of(tx: Transaction, wait: Wait, approvers: Approvers) -> list[str]:
    """Return the people who may answer, as texts: the name of the person who was asked, roles in the plural, and
    `platform:user id`."""
    execution = tx.executions.get(wait.execution_id)
    allowed = _allowed(execution, wait, approvers)
    named = [f"{each}s" if each in set(PrincipalRole) else each for each in sorted(allowed, reverse=True)]
    if wait.kind in _OWN_WAITS and execution is not None:
        person = tx.principals.get(execution.principal_id or "")
        return [*([person.name] if person is not None else []), *named]
    return named


def answer_question(
    tx: Transaction, wait_id: str, answer: WaitAnswer, *, by: Principal, approvers: Approvers, now: int
) -> Wait:
    """Store the answer and let the execution continue. Raise `NotFound`, `Forbidden` or `Unprocessable`, or `Conflict`
    if the question has been answered already."""
    wait = tx.waits.get(wait_id)
    if wait is None or wait.kind not in PERSONAL_WAITS:
        fix = "`arvis questions list` shows the open questions."
        raise NotFound(f"There is no question with the id {wait_id}.", fix=fix)
    if not may_answer(tx, wait, by, approvers):
        if wait.kind is WaitKind.INPUT:
            fix = "The person for whom the agent works can answer it."
            raise Forbidden("You may not answer this question", fix=fix)
        allowed = _allowed(tx.executions.get(wait.execution_id), wait, approvers)
        roles = sorted(set(allowed) & set(PrincipalRole), reverse=True)
        raise Forbidden("You may not answer this question", fix=f"Ask an {' or '.join(roles)} to answer it.")
    asking = tx.executions.get(wait.execution_id)
    if _wants_words(wait, asking) and not (answer.text or answer.note):
        raise Unprocessable(
            "This question needs a text as its answer. It cannot be approved or rejected.",
            fix="Send `answer` with `text`.",
        )
    form = form_of(asking, wait)
    given = Answer(checked_answer(wait, answer) if form is None else _form_answer(form, answer), by.id)
    if not lifecycle.answer(tx, wait_id, given, now):
        raise Conflict("This question has been answered already.", why=f"{_answerer(tx, wait)} answered it.")
    return wait


def _wants_words(wait: Wait, asking: Execution | None) -> bool:
    """Return True if a workflow's node asks for a text. Yes and no are then not valid answers."""
    drawn = asking is not None and asking.graph.startswith(PREFIX)
    return drawn and wait.kind is WaitKind.USER and wait.subject is None and not wait.choices


def _answerer(tx: Transaction, wait: Wait) -> str:
    """Return the name of the person who has answered the question."""
    person = tx.principals.get(wait.answered_by) if wait.answered_by is not None else None
    return person.name if person is not None else wait.answered_by or "Another person"


def checked_answer(wait: Wait, answer: WaitAnswer) -> dict[str, object]:
    """Return the answer in the form in which it is stored. Raise `Unprocessable` if the answer is incomplete or not one
    of the choices."""
    decision = "approve" if answer.decision == "accept" else answer.decision
    if decision not in DECISIONS:
        raise Unprocessable(f"“{decision}” is not a decision.", fix=f"Send one of {', '.join(sorted(DECISIONS))}.")
    if decision == "edit" and answer.arguments is None:
        raise Unprocessable("An edit needs `arguments`.", fix="Send the changed arguments in `arguments`.")
    if decision in {"feedback", "answer"} and not answer.text:
        raise Unprocessable(f"The decision {decision} needs `text`.", fix="Send the text of the answer in `text`.")
    if decision == "answer" and wait.choices and answer.text not in wait.choices:
        raise Unprocessable(f"“{answer.text}” is not a choice.", fix=f"Send one of {', '.join(wait.choices)}.")
    arguments = dict(answer.arguments) if answer.arguments is not None else None
    return {"decision": decision, "note": answer.note, "arguments": arguments, "text": answer.text}


def _form_answer(form: ServerQuestion, answer: WaitAnswer) -> dict[str, object]:
    """Return the answer to a question of a tool server in the form in which it is stored. `arguments` are the values. An
    `answer` with another text than a choice is a draft, which the person still has to accept. Raise `Unprocessable` if
    the values do not fit the form."""
    kept: dict[str, object] = {"decision": answer.decision, "note": answer.note, "arguments": None, "text": answer.text}
    match answer.decision, answer.text:
        case ("reject", _) | ("answer", "decline"):
            return {**kept, "decision": "reject"}
        case ("cancel", _) | ("answer", "cancel"):
            return {**kept, "decision": "cancel", "text": None}
        case ("approve" | "accept" | "edit", _) | ("answer", "accept"):
            values = form.start if answer.arguments is None else answer.arguments
            return {**kept, "decision": "approve", "text": None, "arguments": form.checked(values)}
        case "answer", str(text) if text in form.choices:
            return {**kept, "arguments": form.checked(form.chosen(text) or {})}
        case (("answer" | "feedback"), str(text)) if form.takes_text and text.strip():
            return {**kept, "decision": "answer", "arguments": form.read(text)}
    raise Unprocessable("This answer does not fit the question.", fix=f"Send one of {', '.join(FORM_DECISIONS)}.")


def named_approvers(execution: Execution | None, wait: Wait) -> Approvers | None:
    """Return the approvers that the workflow's node names for its question; None if the node names no approvers."""
    asked = question_of(execution, wait)
    if asked is None or not asked.get("approvers"):
        return None
    owners = set(APPROVERS["owners"])
    return owners.union(*(_GROUPS.get(each.strip().casefold(), {each.strip()}) for each in asked["approvers"]))


def _allowed(execution: Execution | None, wait: Wait, approvers: Approvers) -> Approvers:
    """Return the people who may answer in addition to the person who was asked. For an approval, return the approvers
    that the workflow's node names; if the node names none, return the configured `approvers`. For a question about an
    interrupted tool call, return the configured `approvers`. For all other questions, return owners and operators."""
    if wait.kind is WaitKind.INPUT:
        return frozenset()
    named = named_approvers(execution, wait) if wait.kind is WaitKind.APPROVAL else None
    if named is not None:
        return named
    return approvers if _is_about_a_tool(wait) else APPROVERS["operators"]


def _is_about_a_tool(wait: Wait) -> bool:
    """Return True if the question is an approval, or is about a tool call that was interrupted."""
    return wait.kind is WaitKind.APPROVAL or (wait.subject or "").startswith(TOOL_EFFECT)
