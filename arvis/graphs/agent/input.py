"""The input check (node `check_input`): it begins every turn and flags suspicious messages.

A flag never blocks a message: a message that looks like an attempt to command the model is answered as usual, but the
actions in the reply need an approval. The findings are stored with the step and shown in the timeline. The time of a
check is proportional to the length of the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from arvis.domain.agents import AgentStatus
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import Execution
from arvis.domain.messages import PastMessage, Role, StoredMessage
from arvis.domain.quotations import quoted_texts
from arvis.domain.regex import regex
from arvis.domain.runs import RunResult
from arvis.domain.taint import Label
from arvis.engine.graph import Decision, End, Goto, Next, NodeContext
from arvis.engine.state import changes
from arvis.graphs.agent.files import unsettled
from arvis.graphs.compaction.scripts import compaction_due
from arvis.graphs.context import TurnContext, load_turn_context
from arvis.messaging import notices
from arvis.ports.conversations import Size
from arvis.ports.store import Store, Transaction
from arvis.prompt.cleaning import sanitise
from arvis.tasks.state import BY_DAEMON, AgentState, WorkOutcome, WorkStatus
from arvis.tasks.task import history_of, is_run

#: A message less than `_CLOSEST` ms after the previous message is too fast; `_BURST` earlier messages within
#: `_BURST_SPAN` ms are a burst.
_CLOSEST = 400
_BURST = 12
_BURST_SPAN = 10_000

# -- flags ---------------------------------------------------------------------------------------------------------------

_WHICH = r"(?:(?:all|any|of|the|my|your|these|those)\s{1,8})"
_EARLIER = "(?:previous|prior|earlier|above)"
_ORDERS = "(?:instruction|prompt|rule|direction)"
#: The patterns of attempts to command the model, by code. All repetition is bounded, so that no text makes a pattern
#: slow.
_INJECTIONS = {
    code: regex(pattern, re.IGNORECASE | re.MULTILINE)
    for code, pattern in {
        "ignore_instructions": rf"\bignore\s{{1,8}}{_WHICH}{{0,4}}{_EARLIER}\s{{1,8}}(?:\w{{1,20}}\s{{1,8}})?{_ORDERS}",
        "disregard_instructions": rf"\bdisregard\s{{1,8}}(?:{_WHICH}|{_EARLIER}\s{{1,8}}){{0,4}}{_ORDERS}",
        "new_identity": r"\byou\s{1,8}are\s{1,8}now\s{1,8}(?:an?\s{1,8})?(?:new|different)\s{1,8}(?:ai|assistant|bot)\b",
        "system_line": r"^[ \t>#*]{0,8}system[ \t*]{0,3}:",
        "instruction_mark": r"\[/?INST\]|<<SYS>>",
        "chat_mark": r"<\|im_(?:start|end)\|>",
        "jailbreak": r"\bDAN\b[\s\S]{0,100}?\bjailbreak|\bjailbreak[\s\S]{0,100}?\bDAN\b",
    }.items()
}

#: Limits for spam. Only a text with more than `_SHORT` characters is spam if it is all capitals. A text with at least
#: `_FEW_WORDS` words is spam if one word makes up more than the share `_MOSTLY` of them.
_SHORT = 20
_FEW_WORDS = 8
_MOSTLY = 0.7
_REPEATED = regex(r"(\S)\1{15}")


def injection(text: str) -> tuple[str, ...]:
    """Return the codes of the patterns in `_INJECTIONS` that the text matches."""
    return tuple(code for code, pattern in _INJECTIONS.items() if pattern.search(text))


def spam(text: str) -> str | None:
    """Return the code of the reason why a text looks like spam, or None."""
    words = text.split()
    if not words:
        return "empty"
    if len(text) > _SHORT and _in_capitals(text):
        return "all_capitals"
    if _REPEATED.search(text):
        return "repeated_character"
    if len(words) >= _FEW_WORDS and _most_common(words) > _MOSTLY * len(words):
        return "repeated_word"
    return None


def _in_capitals(text: str) -> bool:
    """Return True if all letters are capitals. A text without a letter from A to Z never counts, because its script may
    have no capitals."""
    return bool(re.search("[A-Z]", text)) and all(each.isupper() for each in text if each.isalpha())


def _most_common(words: Sequence[str]) -> int:
    return max(Counter(word.lower() for word in words).values())


def rate(times_ms: Sequence[int], now: int) -> str | None:
    """Return the code of the reason why a message arrived too soon after earlier messages, or None. `times_ms` are the
    times of the person's earlier messages in the conversation."""
    ages = [now - at for at in times_ms if at <= now]
    if sum(age < _BURST_SPAN for age in ages) >= _BURST:
        return "burst"
    return "too_fast" if ages and min(ages) < _CLOSEST else None


# -- diagnostics ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """The findings of the input check about one message. The timeline shows them."""

    sanitised: bool
    truncated: bool
    rate_limited: str | None
    spam: str | None
    injections: tuple[str, ...]
    #: The tokens of the conversation without this message, and with it.
    tokens_before: int
    tokens_after: int
    #: True if the conversation is due for compaction.
    compaction: bool

    @property
    def suspicious(self) -> bool:
        """Return True if the message looks like an attempt to command the model. Such a message taints the turn."""
        return bool(self.injections)

    def to_json(self) -> dict[str, Any]:
        """Return the findings by their names in the timeline. Reasons and codes are included only if something was
        found."""
        return {
            "sanitized": self.sanitised,
            "truncated": self.truncated,
            "rateLimited": self.rate_limited is not None,
            **({"rateLimitReason": self.rate_limited} if self.rate_limited else {}),
            "spamDetected": self.spam is not None,
            **({"spamReason": self.spam} if self.spam else {}),
            "injectionDetected": bool(self.injections),
            **({"injectionCodes": list(self.injections)} if self.injections else {}),
            "tokensBefore": self.tokens_before,
            "tokensAfter": self.tokens_after,
            "summaryServiceTriggered": self.compaction,
        }


def examine(
    text: str,
    *,
    times_ms: Sequence[int],
    now: int,
    quoted: Sequence[str] = (),
    tokens_before: int = 0,
    tokens_after: int = 0,
    compaction: bool = False,
) -> Diagnostics:
    """Check the original text of a message. `times_ms` are the times of the person's earlier messages in the
    conversation. `times_ms` is empty for tasks of agents and schedules, because their pace is not checked. `quoted` are
    the texts that the message quotes."""
    clean = sanitise(text)
    found = {*injection(text)}
    if clean.text != text:
        found.update(injection(clean.text))  # cleaning joins words that invisible characters split
    for each in quoted:
        found.update(injection(each), injection(sanitise(each).text))
    return Diagnostics(
        sanitised=clean.text != text,
        truncated=clean.truncated,
        rate_limited=rate(times_ms, now),
        spam=spam(clean.text),
        injections=tuple(code for code in _INJECTIONS if code in found),
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        compaction=compaction,
    )


#: The name of the node that `check_input` visits first if a message has files to fetch or to read.
READ_FILES = "read_files"
#: The maximum number of a person's newest messages whose times are read.
_RECENT = 30


@dataclass(frozen=True, slots=True)
class Arrival:
    """The rows that the input check reads."""

    turn: TurnContext
    #: The times (ms) of this person's messages in the conversation in the last `_BURST_SPAN`.
    times: list[int]
    #: The size of the conversation.
    size: Size


def load_arrival(
    tx: Transaction, execution: Execution, now: int, messages: Sequence[StoredMessage] | None = None
) -> Arrival:
    turn = load_turn_context(tx, execution, now, messages)
    person, conversation_id, size = turn.current[-1].principal_id or "", turn.conversation.id, turn.size
    # The turn may contain several messages of a burst, so the oldest of them decides.
    since = min(message.created_at for message in turn.current) - _BURST_SPAN
    if size is None:
        times = tx.messages.recent(conversation_id, person, _RECENT, since=since)
        return Arrival(turn, times, tx.compactions.size(conversation_id))
    said: list[PastMessage | StoredMessage] = [*turn.history, *turn.current]
    times = [each.created_at for each in said if each.principal_id == person and each.created_at >= since]
    return Arrival(turn, times, size)


class InputNode:
    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def examine(self, context: NodeContext) -> Decision:
        state, arrived = AgentState.from_json(context.state), context.prefetched
        if not isinstance(arrived, Arrival):
            arrived = await self._store.read(load_arrival, context.execution, context.now())
        turn, times, size = arrived.turn, arrived.times, arrived.size
        agent, messages = turn.agent, turn.current
        if agent.status is AgentStatus.ARCHIVED:
            gone = WorkOutcome(WorkStatus.BLOCKED, reason=notices.archived(agent.name)).to_json()
            result = RunResult(notices.archived(agent.name), "", "", "").to_json() | {"outcome": gone}
            return End(result, **changes(AgentState, read=BY_DAEMON))
        if is_run(context.execution):
            remarkable = _suspicious_in_run(context.execution, messages)
            if not remarkable:
                context.carry_over(turn)
                return Next(None)
            flagged = state.taint | {Label.FLAGGED}
            context.carry_over(replace(turn, taint=turn.taint | flagged))
            return Next(None, **changes(AgentState, input=remarkable, taint=flagged))
        if unsettled(messages):
            return Goto(READ_FILES)  # `check_input` follows again, and examines the text of voice messages too
        if state.task:
            times = []  # the pace of messages is not checked for tasks of other agents
        due = compaction_due(size, agent.context_tokens or size.tokens + 1)
        # The prompt reports edits of earlier messages with the newest message, so the check reads them with it.
        reports = {messages[-1].id: [each.text for each in turn.incidents if each.principal_id is not None]}
        found = {each.id: _examined(each, times, size, due=due, reports=reports.get(each.id, ())) for each in messages}
        taint = {*state.taint}
        suspicious = [message for message in messages if found[message.id].suspicious]
        if suspicious:
            # The message stays in the history and also taints later turns, even if this turn fails.
            taint.add(Label.FLAGGED)
            context.record(_label, suspicious)
            context.commit_first()
        context.carry_over(turn)
        return Next(
            None,
            **changes(
                AgentState,
                input={message_id: diagnostics.to_json() for message_id, diagnostics in found.items()},
                taint=frozenset(taint),
                size=[size.messages, size.tokens],
            ),
        )


def _suspicious_in_run(execution: Execution, messages: Sequence[StoredMessage]) -> dict[str, Any]:
    """Examine the prompt of a run and the messages of people in its history. Return the findings about suspicious
    messages, by message id. The pace of messages is not checked."""
    size = Size(0, 0)
    given: list[StoredMessage | PastMessage] = [
        *messages,
        *(said for said in history_of(execution) if said.role is Role.USER),
    ]
    found = {each.id: _examined(each, (), size, due=False) for each in given}
    return {name: diagnostics.to_json() for name, diagnostics in found.items() if diagnostics.suspicious}


def _label(tx: Transaction, messages: Sequence[StoredMessage]) -> None:
    for message in messages:
        tx.messages.label(message.id, message.taint | {Label.FLAGGED})


def _examined(
    message: StoredMessage | PastMessage, times: Sequence[int], size: Size, *, due: bool, reports: Sequence[str] = ()
) -> Diagnostics:
    earlier = [at for at in times if at < message.created_at]
    tokens = size.tokens + message.tokens
    return examine(
        message.content,
        quoted=[*quoted_texts(message.quotations), *reports],
        times_ms=earlier,
        now=message.created_at,
        tokens_before=tokens,
        tokens_after=tokens,
        compaction=due,
    )
