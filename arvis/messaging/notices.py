"""The texts of the daemon's notices for people. They name no internals, do not blame, and state the next step."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.dataclass import replace
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.markup import closed
from arvis.domain.money import Budget, budget_reason
from arvis.domain.runs import RunResult

# Texts that replace a reply, or follow a reply that is incomplete.


STOPPED = "Stopped."
#: Follows the part of an answer that people had seen when a person stopped it.
STOPPED_HERE = "\n\n[Stopped here.]"
#: Replaces a reply that contains no text for people and nothing to report or remember, for example because its tags
#: were cut off. It is not used if the model said that the work is done.
NOTHING_SAID = "I have no answer to this. Please ask in a different way."
#: Replaces a reply that only stores facts.
NOTED = "Noted."
#: Follows the last text of work that has reached its maximum number of steps.
EXHAUSTED = "\n\n[I stop here: this task has reached the maximum number of steps.]"
_STOPPED_FOR = "\n\n[I stop here: {reason}.]"
#: Follows a reply that Arvis has cut off.
CUT = "\n\n[This answer is longer than allowed, so it ends here.]"
#: Follows a reply that the model's limit of output tokens has cut off.
CUT_TOKENS = "\n\n[This answer reached the output limit of the model, so it ends here.]"
#: Replaces a reply that was cut off before it contained any text for people.
CUT_EMPTY = (
    "The model reached its output limit before it wrote an answer. Please ask for a shorter answer, or ask the owner "
    "to raise the limit (`limits.reply_tokens`)."
)
#: Replaces an empty reply after tools have done the work.
COMPLETED = "I have completed my task."

#: Gives an owner the link for a login to a tool server.
_LOGIN = (
    "The tools of the server {server} need a login. Open this address within {minutes} minutes:\n{url}\n"
    "Then ask again. If your browser cannot open the last page, copy its address and run "
    "`arvis mcp login {server} --answer ADDRESS`."
)

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
    "poison": "Arvis stopped several times while it worked on your message. Please tell the owner.",
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
            Budget.SHARE: (
                "you have used your share of today's budget. Please ask again after midnight, or ask an owner to raise "
                "your share."
            ),
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

#: The maximum number of characters of an error in a notice.
_LONGEST_ERROR = 300

#: The causes of a delay, by the reason code of the waiting job.
_CAUSES = {
    "rate_limit": "The model vendor limits the number of requests at the moment",
    "budget": "The remaining budget is reserved for other answers at the moment",
}


def exhausted(reason: str) -> str:
    """Return the note that follows the last text of stopped work. The note contains the reason if `reason` is not
    empty."""
    return _STOPPED_FOR.format(reason=reason.strip().rstrip(".")) if reason.strip() else EXHAUSTED


#: The values of `RunResult.left_out` with a notice. The receipt of the call names the other values.
LEFT_OUT = frozenset({"pictures", "tools"})


def left_out(what: str, *, model: str, account: str) -> str:
    """Return the notice that precedes an answer if a part of the request was left out. `what` is one of `LEFT_OUT`."""
    if what == "pictures":
        return f"I cannot see the picture: the model {model} does not accept pictures. Please describe it in words."
    return (
        f"I answer without my tools this time: the account {account} does not support tools, and no other account is "
        "available. If the answer needs a tool, please ask again later."
    )


def no_answer(agent: str) -> str:
    """Return the notice for a turn in which the model wrote no text."""
    return f"{agent} called tools repeatedly and wrote no answer. Please ask in a different way."


def unreadable(files: Sequence[tuple[str, str]]) -> str:
    """Return the notice for a message that has only unreadable files. `files` are pairs of name and reason."""
    if len(files) == 1:
        name, why = files[0]
        return f"I could not read {name}: {why}."
    return "\n".join(["I could not read these files:", *(f"- {name}: {why}" for name, why in files)])


def login(server: str, url: str, minutes: int) -> str:
    """Return the text with the link for a login to a tool server. The link expires after this number of minutes."""
    return _LOGIN.format(server=server, url=url, minutes=minutes)


def archived(agent: str) -> str:
    """Return the notice for a person who waits for the answer of a deleted agent."""
    return f"{agent} no longer exists. Please ask another agent."


def question(
    prompt: str, choices: Sequence[str], who: str = "An owner", *, command: str | None = None, again: bool = False
) -> str:
    """Return the text that shows a question. `who` names the people who may answer, and `command` is the command line
    that answers the question (None: the text is for the dashboard). `again` means that the question was shown
    before."""
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
    """Return the notice to an owner that a conversation could not be summarized."""
    return (
        f"Arvis could not summarize a long conversation of {agent} ({error}). The conversation continues with its "
        "newest messages, and Arvis tries again after some turns."
    )


def delayed(seconds: float, reason: str) -> str:
    """Return the notice about a delayed answer. `seconds` is the time until the next attempt."""
    minutes = max(1, round(seconds / 60))
    when = "in about a minute" if minutes == 1 else f"in about {minutes} minutes"
    cause = _CAUSES.get(reason, "The model does not answer")
    return f"{cause}. I will try again {when}. You do not need to send your message again."


_FENCE = "```"


def marked(result: RunResult) -> RunResult:
    """Return the result with a usable text. If the reply was cut off, remove an unclosed tag at its end, so that no
    incomplete action is carried out, and add a note about the cut."""
    if not result.cut or result.calls:
        return result
    text = closed(result.content)
    if not text.strip():
        return replace(result, content=CUT_EMPTY)
    return replace(result, content=with_mark(text, CUT if result.truncated else CUT_TOKENS))


def with_mark(text: str, mark: str) -> str:
    """Return the text with `mark` after it. If the text ends inside a code block, the block is closed before the
    mark."""
    open_fence = sum(line.lstrip().startswith(_FENCE) for line in text.splitlines()) % 2
    end = f"\n{_FENCE}" if open_fence else ""
    return f"{text}{end}{mark}"
