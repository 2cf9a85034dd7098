"""Commands that report: `/why` explains the last answer or its absence, `/usage` shows requests and costs.

Everybody in a chat can read the answer to `/why`, so accounts, keys and error texts appear only in `arvis explain`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from arvis.commands.invocation import Invocation
from arvis.domain.explanation import CHOSEN, UNPRICED, in_words
from arvis.domain.messages import MessageStatus, PrincipalRole
from arvis.domain.money import Budget, Pot, Spent, day_of, start_of_day, usd
from arvis.ports.insights import MessageTimeline
from arvis.ports.store import Transaction


def usage(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Return the requests and costs of today and this month. A day ends at midnight in the daemon's time zone."""
    today = date.fromisoformat(day_of(now, invocation.daemon_zone))
    periods = {"today": today, "this month": today.replace(day=1)}
    lines = [f"You {words}: {_of_person(tx, invocation, first, today)}" for words, first in periods.items()]
    # Everybody reads the answer in a group, so the costs of the whole system appear only in a direct chat.
    if invocation.principal.role is PrincipalRole.OWNER and invocation.conversation.direct:
        lines += [f"The whole system {words}: {_of_all(tx, first, today)}" for words, first in periods.items()]
    return "\n".join(lines)


def _of_person(tx: Transaction, invocation: Invocation, first: date, today: date) -> str:
    person = invocation.principal.id
    asked = _spent(tx, Budget.PRINCIPAL, person, first, today)
    sums = tx.usage.of_person(person, start_of_day(first, invocation.daemon_zone))
    tokens = f"{sums.input_tokens:,} tokens in, {sums.output_tokens:,} out"
    return f"{_questions(asked)}, {tokens}, {usd(sums.cost_micros)}."


def _of_all(tx: Transaction, first: date, today: date) -> str:
    spent = _spent(tx, Budget.DAY, "", first, today)
    return f"{_questions(spent)}, {usd(spent.micros)}."


def _questions(spent: Spent) -> str:
    return "1 question" if spent.turns == 1 else f"{spent.turns:,} questions"


def _spent(tx: Transaction, scope: Budget, key: str, first: date, today: date) -> Spent:
    pots = [tx.spending.get(Pot(scope, day, key)) for day in _days(first, today)]
    return Spent(sum(pot.micros for pot in pots), sum(pot.calls for pot in pots), sum(pot.turns for pot in pots))


def _days(first: date, last: date) -> Iterator[str]:
    for number in range((last - first).days + 1):
        yield (first + timedelta(days=number)).isoformat()


_NOTHING = "You have sent no message in this conversation yet."
_LONGEST_QUOTE = 80
_MS = 1000
_MICROS = 1_000_000


def why(tx: Transaction, invocation: Invocation, _now: int) -> str:
    timeline = _newest(tx, invocation)
    return "\n".join(_lines(timeline)) if timeline else _NOTHING


def _newest(tx: Transaction, invocation: Invocation) -> MessageTimeline | None:
    """Return the person's newest message, or None if the person has sent no message. A message that was dropped or
    expired, and so began no turn, also counts. In a direct chat all messages are the person's, including those from
    before the person was known."""
    person, alone = invocation.principal.id, invocation.conversation.direct
    asked = tx.timeline.of_last(invocation.conversation.id, person)
    unasked = tx.timeline.of_last_unasked(invocation.address, None if alone else person)
    found = [timeline for timeline in (asked, unasked) if timeline is not None]
    return max(found, key=lambda timeline: timeline.message.created_at, default=None)


def _lines(timeline: MessageTimeline) -> Iterator[str]:
    yield f"Your message “{_quote(timeline.message.content)}”: {_verdict(timeline)}."
    yield f"Agent: {timeline.agent or 'none'}{_because(timeline.message.route)}."
    yield from _model_calls(timeline)
    yield from _layers(timeline)
    yield from _tools(timeline)
    yield from _delays(timeline)


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_QUOTE else f"{line[:_LONGEST_QUOTE]}…"


def _verdict(timeline: MessageTimeline) -> str:
    match timeline.status:
        case MessageStatus.ANSWERED:
            return f"answered after {_seconds(_answered_at(timeline) - timeline.message.created_at)}"
        case MessageStatus.RUNNING:
            return "not answered yet; the agent is working on it"
        case MessageStatus.WAITING:
            return "not answered yet; it waits for the decision of a person"
        case MessageStatus.ACCEPTED | MessageStatus.QUEUED:
            return "not answered yet; it waits in the queue"
        case status:
            reason = timeline.message.reason or (timeline.job.reason if timeline.job else None)
            return f"not answered ({status}): {in_words(reason) if reason else 'the reason is unknown'}"


def _answered_at(timeline: MessageTimeline) -> int:
    return max(
        (step.at for step in timeline.steps if step.step == timeline.status), default=timeline.message.created_at
    )


def _because(route: str | None) -> str:
    return f", because {CHOSEN.get(route, route)}" if route else ""


def _model_calls(timeline: MessageTimeline) -> Iterator[str]:
    calls = [step.data for step in timeline.steps if step.step == "model_call"]
    if not calls:
        yield "Model: no model was called."
        return
    for name, number in Counter(f"{call['provider']}/{call['model']}{_failed(call)}" for call in calls).items():
        yield f"Model: {name}{f' ({number} calls)' if number > 1 else ''}."
    cost = f"${timeline.cost_micros / _MICROS:.6f}"
    unpriced = "" if all(call["priced"] or call["error"] for call in calls) else UNPRICED
    took = _seconds(sum(call["duration_ms"] for call in calls))
    yield f"Tokens: {timeline.input_tokens} in, {timeline.output_tokens} out. Cost: {cost}{unpriced}. Model time: {took}."


def _failed(call: Mapping[str, Any]) -> str:
    return f", failed: {in_words(call['error'])}" if call["error"] else ""


def _layers(timeline: MessageTimeline) -> Iterator[str]:
    """Yield the line about the layers of the last prompt, with their estimated tokens."""
    prompts = [step.data["prompt"] for step in timeline.steps if step.step == "node" and "prompt" in step.data]
    if not prompts:
        return
    layers = ", ".join(f"{name} {tokens}" for name, tokens in prompts[-1]["tokens"].items() if tokens)
    left_out = prompts[-1].get("left_out")
    yield f"Prompt (estimated tokens): {layers}{f'; {left_out} older messages did not fit' if left_out else ''}."


def _tools(timeline: MessageTimeline) -> Iterator[str]:
    used = Counter(step.data["tool"] for step in timeline.steps if step.step == "tool")
    if used:
        yield f"Tools: {', '.join(f'{name} ×{number}' if number > 1 else name for name, number in used.items())}."


def _delays(timeline: MessageTimeline) -> Iterator[str]:
    counted = Counter(step.step for step in timeline.steps)
    words = {"retried": "tried again", "snoozed": "postponed", "recovered": "resumed after a crash"}
    notes = [f"{name} ×{counted[step]}" for step, name in words.items() if counted[step]]
    started = [step.at for step in timeline.steps if step.step == "started"]
    if started:
        notes.append(f"waited {_seconds(max(0, min(started) - timeline.message.created_at))} before it started")
    if notes:
        yield f"Queue: {', '.join(notes)}."


def _seconds(ms: int) -> str:
    return f"{ms / _MS:.1f} s"
