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
NOTHING_SAID = "I have no answer to this. Please ask in a different way."
#: In the place of a reply that holds nothing but what is to be remembered.
NOTED = "Noted."
#: Follows the last text of work that reached its limit of steps.
EXHAUSTED = "\n\n[I stop here: this task has reached the maximum number of steps.]"
_STOPPED_FOR = "\n\n[I stop here: {reason}.]"
CUT = "\n\n[This answer is longer than allowed, so it ends here.]"
#: The same where the model was allowed no more tokens.
CUT_TOKENS = "\n\n[This answer reached the output limit of the model, so it ends here.]"
#: In the place of a reply of which the limit left nothing.
CUT_EMPTY = (
    "The model reached its output limit before it wrote an answer. Please ask for a shorter answer, or ask the "
    "owner to "
    "raise the limit (`limits.reply_tokens`)."
)
#: Replaces an empty reply after tools have done the work (seed 003).
COMPLETED = "I have completed my task."

_FAILURES = {
    ProviderErrorKind.AUTH: "the vendor of the model rejected the key of the account. Please tell the owner.",
    ProviderErrorKind.QUOTA: "the model's account has no credit left. Please tell the owner.",
    ProviderErrorKind.TOO_LONG: "this conversation is too long for the model. Send /new to start a new one.",
    ProviderErrorKind.REFUSED: (
        "the model, or the content filter of its vendor, declined to answer. Please ask in a different way."
    ),
    ProviderErrorKind.EMPTY: "the model gave only empty answers. Please ask in a different way.",
    ProviderErrorKind.BAD_REQUEST: "the vendor of the model rejected the request as invalid. Please tell the owner.",
    "too_late": "the model was not available in time. Please ask again later.",
    "no_model": "no account offers the model of this agent. Please tell the owner.",
    "broken": "this agent is not set up correctly. Please tell the owner.",
    "poison": "Arvis stopped several times while it worked on it. Please tell the owner.",
    "attempts": "the model did not answer after several attempts. Please try again later.",
    **{
        budget_reason(budget): words
        for budget, words in {
            Budget.TURN: (
                "an answer would cost more than the limit for one answer. Please ask for less, or ask the owner to "
                "raise the limit."
            ),
            Budget.AGENT: "this agent's budget for today is used up. Please ask again after midnight.",
            Budget.PRINCIPAL: "your budget for today is used up. Please ask again after midnight.",
            Budget.SHARE: "you have used your share of today's budget. Please ask again after midnight, or ask an owner to "
            "raise your share.",
            Budget.CLIENT: (
                "this channel's budget for this month is used up. Please ask again next month, or ask the owner to "
                "raise it."
            ),
            Budget.DAY: "the budget of all agents for today is used up. Please ask again after midnight.",
            Budget.TURNS: (
                "you have reached the number of questions that you may ask today. Please ask again after midnight."
            ),
            Budget.CREDIT: "there is no credit left for this channel. Please tell the owner.",
            Budget.CLIENT_STATUS: (
                "the customer of this channel is paused, so I do not answer here. Please tell the owner."
            ),
        }.items()
    },
}

#: The most characters of an error that are shown to people.
_LONGEST_ERROR = 300

#: Of a delay, by the reason of the job that waits.
_CAUSES = {
    "rate_limit": "The model vendor limits the number of requests at the moment",
    "budget": "The remaining budget is reserved for other answers at the moment",
}


def exhausted(reason: str) -> str:
    """Return the suffix of stopped work, with the reason if it is known."""
    return _STOPPED_FOR.format(reason=reason.strip().rstrip(".")) if reason.strip() else EXHAUSTED


def left_out(what: str, *, model: str, account: str) -> str:
    """Return the notice before an answer that was given without a part of the request; `what` as in
    `RunResult.left_out`."""
    if what == "pictures":
        return f"I cannot see the picture: the model {model} does not accept pictures. Please describe it in words."
    return (
        f"I answer without my tools this time: the account {account} does not support tools, and no other account "
        "is available. "
        "If the answer needs a tool, please ask again later."
    )


def no_answer(agent: str) -> str:
    """Return the notice for a turn without a model's text."""
    return f"{agent} called tools repeatedly and wrote no answer. Please ask in a different way."


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
    state = "This question is still open." if again else "This question is open."
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
        f"Arvis could not summarize a long conversation of {agent} ({error}). The conversation continues with its "
        "newest "
        "messages, and Arvis tries again after some turns."
    )


def delayed(seconds: float, reason: str) -> str:
    """Return the notice that is sent once when an answer takes long."""
    minutes = max(1, round(seconds / 60))
    when = "in about a minute" if minutes == 1 else f"in about {minutes} minutes"
    cause = _CAUSES.get(reason, "The model does not answer")
    return f"{cause}. I will try again {when}. You do not need to send your message again."


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
