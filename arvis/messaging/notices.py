"""Notices of the daemon for people: without internals or blame, and with the next step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.markup import closed
from arvis.domain.money import Budget, budget_reason
from arvis.domain.runs import RunResult

# Replies that end before their end: what is left of them, with a mark that people and the model can read.


STOPPED = "Stopped."
#: Behind what was shown of an answer until a person stopped it.
STOPPED_HERE = "\n\n[Stopped here.]"
#: In the place of a reply that holds nothing for people: what it holds for the system was cut off, or is nothing.
NOTHING_SAID = "I have nothing to say to this. Please ask in another way."
#: In the place of a reply that holds nothing but what is to be remembered.
NOTED = "Noted."
#: Follows the last text of work that reached its limit of steps.
EXHAUSTED = "\n\n[I stop here: this has taken as many steps as it may.]"
_STOPPED_FOR = "\n\n[I stop here: {reason}.]"
CUT = "\n\n[This answer was longer than allowed and is cut here.]"
#: The same where the model was allowed no more tokens.
CUT_TOKENS = "\n\n[This answer reached the output limit of the model and is cut here.]"
#: In the place of a reply of which the limit left nothing.
CUT_EMPTY = (
    "The model reached its output limit before it wrote an answer. Please ask for less at once, or ask the owner to raise "
    "the limit (`reply_tokens`)."
)
#: Replaces an empty reply after tools have done the work (seed 003).
COMPLETED = "I have completed my task."

_FAILURES = {
    ProviderErrorKind.AUTH: "the model's account does not accept its key. The owner has to look at it.",
    ProviderErrorKind.QUOTA: "the model's account has no credit left. The owner has to look at it.",
    ProviderErrorKind.TOO_LONG: "this conversation is too long for the model.",
    ProviderErrorKind.REFUSED: "the model, or the content filter of its vendor, declined to answer it. Please ask in another way.",
    ProviderErrorKind.EMPTY: "the model gave an empty answer each time. Please ask in another way.",
    ProviderErrorKind.BAD_REQUEST: "the model did not understand the request. The owner has to look at it.",
    "too_late": "the model was not available in time. Please ask again later.",
    "no_model": "no account serves the model that this agent is set to. The owner has to look at it.",
    "broken": "this agent is not set up correctly. The owner has to look at it.",
    "poison": "it made the program fail several times. The owner has to look at it.",
    "attempts": "the model did not answer after several attempts. Please try again later.",
    **{
        budget_reason(budget): words
        for budget, words in {
            Budget.TURN: "it would need more than one answer may cost.",
            Budget.AGENT: "this assistant's budget for today is used up. It opens again at midnight.",
            Budget.PRINCIPAL: "your budget for today is used up. It opens again at midnight.",
            Budget.SHARE: "you have used your share of today's budget; the rest is for others. It opens again at midnight, or "
            "an owner can raise the share.",
            Budget.CLIENT: "the budget for this month is used up. It opens again on the first of next month.",
            Budget.DAY: "the budget for today is used up. It opens again at midnight.",
            Budget.TURNS: "you have asked as many questions as you may today. You may ask again after midnight.",
            Budget.CREDIT: "there is no credit left for this channel. The owner has to look at it.",
            Budget.CLIENT_STATUS: "this channel is not served at the moment. The owner has to look at it.",
        }.items()
    },
}

#: The most characters of an error that are shown to people.
_LONGEST_ERROR = 300

#: Of a delay, by the reason of the job that waits.
_CAUSES = {
    "rate_limit": "The model takes no more questions just now",
    "budget": "What may be spent just now is set aside for other answers",
}


def exhausted(reason: str) -> str:
    """Return the suffix of stopped work, with the reason if it is known."""
    return _STOPPED_FOR.format(reason=reason.strip().rstrip(".")) if reason.strip() else EXHAUSTED


def left_out(what: str, *, model: str, account: str) -> str:
    """Return the notice before an answer that was given without a part of the request; `what` as in
    `RunResult.left_out`."""
    if what == "pictures":
        return f"I cannot look at the picture: the model {model} does not read pictures. Describe it to me in words."
    return (
        f"I answer without my tools this time: the account {account} cannot use tools, and no other account is available. "
        "Ask again later if you need them."
    )


def no_answer(agent: str) -> str:
    """Return the notice for a turn without a model's text."""
    return f"{agent} called tools repeatedly and gave no answer. Please ask in another way."


def unreadable(files: Sequence[tuple[str, str]]) -> str:
    """Return the notice for a message with only unreadable files: their names and the reasons."""
    if len(files) == 1:
        name, why = files[0]
        return f"I could not read {name}: {why}."
    return "\n".join(["I could not read these files:", *(f"- {name}: {why}" for name, why in files)])


def archived(agent: str) -> str:
    """Return the notice for a person who waits for the answer of a deleted agent."""
    return f"{agent} no longer exists. Please ask another agent."


def question(
    prompt: str, choices: Sequence[str], who: str = "An owner", *, command: str | None = None, again: bool = False
) -> str:
    """Return a question to people; `who` may answer, `command` answers it on the command line (None: the reader is on
    a page). `again`: it was shown before."""
    words = " or ".join(f"“{choice}”" for choice in choices)
    ways = ["press a button", "write it here"] if words else ["write it here"]
    ways = [*ways, f"run `{command}`"] if command is not None else ways
    state = "This still waits for an answer." if again else "This waits for an answer."
    how = f"{who} can answer{f' {words}' if words else ''}: {', '.join(ways[:-1])} or {ways[-1]}."
    return f"{prompt}\n\n{state} {how}"


def failed(reason: str) -> str:
    """Return the final notice about a failed message; `reason` is the job's reason code."""
    return f"Sorry, I could not answer this: {_FAILURES.get(reason, 'something went wrong.')}"


def workflow_failed(error: str) -> str:
    """Return the final notice about a message whose workflow failed."""
    short = " ".join(error.split())
    return f"Sorry, this did not work: {short if len(short) <= _LONGEST_ERROR else short[:_LONGEST_ERROR] + '…'}"


def compaction_failed(agent: str, error: str) -> str:
    """Return the notice to an owner: nothing is lost, but prompts leave out the oldest messages until it succeeds."""
    return (
        f"A long conversation of {agent} could not be summarized ({error}). It continues with its newest messages, and "
        "this is tried again after some turns."
    )


def delayed(seconds: float, reason: str) -> str:
    """Return the notice that is sent once when an answer takes long."""
    minutes = max(1, round(seconds / 60))
    when = "in about a minute" if minutes == 1 else f"in about {minutes} minutes"
    cause = _CAUSES.get(reason, "The model does not answer")
    return f"{cause}. I will try again {when}; your message is not lost."


_FENCE = "```"


def marked(result: RunResult) -> RunResult:
    """Return the reply in its usable form. A cut reply loses the tag that its end leaves open, so that no incomplete
    action is carried out, and gets a note about the cut."""
    if not result.cut or result.calls:
        return result
    text = closed(result.content)
    if not text.strip():
        return replace(result, content=CUT_EMPTY)
    return replace(result, content=with_mark(text, CUT if result.truncated else CUT_TOKENS))


def with_mark(text: str, mark: str) -> str:
    """Return a text that is not whole with a mark behind it, outside of the code that its end leaves open."""
    open_fence = sum(line.lstrip().startswith(_FENCE) for line in text.splitlines()) % 2
    end = f"\n{_FENCE}" if open_fence else ""
    return f"{text}{end}{mark}"
