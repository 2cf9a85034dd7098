"""Commands about the conversation: `/start`, `/agents`, `/stop`, `/again`, `/effort`, `/new` and `/reset`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arvis.commands.invocation import CommandAnswer, Invocation
from arvis.domain.agents import Agent, Binding
from arvis.domain.effort import EFFORTS
from arvis.domain.errors import Conflict, Forbidden, NotFound, sentences
from arvis.domain.events import ConversationRewound
from arvis.domain.messages import IncomingMessage, PrincipalRole, Respond, Sender
from arvis.domain.regex import regex
from arvis.graphs.reset import begin_reset
from arvis.memory.service import brief
from arvis.ports.store import Transaction
from arvis.routing import WEB, permit
from arvis.tasks.access import limits_of_sender
from arvis.turns.cancellation import CancelledTurn, stop_turns, stop_waiting
from arvis.turns.rewind import answer_again

_FRESH = "Your next message starts a new conversation. I keep my memory (see /memory)."
_EMPTY = "Your next message starts a new conversation with an empty folder. I keep my memory (see /memory)."
_OTHERS = (
    "This channel contains files of other people, so only an operator or an owner can reset it. /new starts a new "
    "conversation without a reset."
)


def new(tx: Transaction, invocation: Invocation, now: int) -> CommandAnswer:
    stopped = _close(tx, invocation, now)
    return CommandAnswer(f"{_FRESH}{_put_aside(stopped)}", stopped)


def reset(tx: Transaction, invocation: Invocation, now: int) -> CommandAnswer:
    """Close the conversation and empty its folder. In a channel only an owner or operator may do this, because the
    files of other people would be lost."""
    if not (invocation.conversation.direct or _looks_after(invocation)):
        return CommandAnswer(_OTHERS)
    stopped = _close(tx, invocation, now)
    begin_reset(tx, invocation.conversation, invocation.principal.id, now)
    return CommandAnswer(f"{_EMPTY}{_put_aside(stopped)}", stopped)


def _close(tx: Transaction, invocation: Invocation, now: int) -> Sequence[CancelledTurn]:
    """Close the conversation and cancel its waiting turns. In a channel, a member cancels only their own turns. Running
    turns continue."""
    person, conversation = invocation.principal, invocation.conversation
    everything = conversation.direct or _looks_after(invocation)
    stopped = stop_waiting(tx, conversation, person.name, now, asked_by=None if everything else person.id)
    tx.conversations.close(conversation.id, now)
    return stopped


def _looks_after(invocation: Invocation) -> bool:
    return invocation.principal.role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}


def _put_aside(stopped: Sequence[CancelledTurn]) -> str:
    if not stopped:
        return ""
    return " Open requests were cancelled."


_NOTHING = "Nothing is running for you here."


def stop(tx: Transaction, invocation: Invocation, now: int) -> CommandAnswer:
    person = invocation.principal
    looks_after = person.role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}
    asked_by = None if looks_after else person.id
    stopped = stop_turns(tx, invocation.address, person.name, now, asked_by=asked_by, shown=invocation.shown)
    if not stopped:
        return CommandAnswer(_NOTHING)
    runs = sum(turn.run is not None and not turn.messages for turn in stopped)
    questions = len(stopped) - runs
    words = []
    if questions:
        words.append("Your request was cancelled." if questions == 1 else f"{questions} requests were cancelled.")
    if runs:
        words.append("The workflow was stopped." if runs == 1 else f"{runs} workflow runs were stopped.")
    return CommandAnswer(" ".join(words), stopped)


_NOTHING_ASKED = "You have sent no message here that I could answer again."


def again(tx: Transaction, invocation: Invocation, now: int) -> CommandAnswer:
    """Answer the person's last message again. If the command has an argument, the argument replaces the text of the
    message."""
    person, sender = invocation.principal, invocation.sender
    last = tx.timeline.of_last(invocation.conversation.id, person.id)
    if last is None:
        return CommandAnswer(_NOTHING_ASKED)
    text = invocation.argument or None
    limits = limits_of_sender(sender) if sender is not None else None
    try:
        rewound = answer_again(tx, last.message.id, person, now, content=text, limits=limits)
    except (Conflict, Forbidden, NotFound) as error:
        return CommandAnswer(sentences(error.what, error.why, error.fix))
    names = list(dict.fromkeys(effect.name for effect in rewound.effects.effects if not effect.failed))
    done = f" These tool calls and actions are not undone: {', '.join(names[:_MOST])}." if names else ""
    rewind = ConversationRewound(rewound.conversation.address, rewound.conversation.id)
    return CommandAnswer(f"I am answering your last message again.{done}", events=(rewind,))


#: The word that restores the effort of the agent.
_DEFAULT = "default"


def effort(tx: Transaction, invocation: Invocation, _now: int) -> str:
    """Carry out `/effort [EFFORT]` and return its answer. In a channel, only owners and operators may change the
    effort, because the change affects everybody."""
    wanted, conversation = invocation.argument.casefold(), invocation.conversation
    if not wanted:
        return f"{_present_effort(invocation)} To change it, send /effort with one of {_CHOICES}."
    if wanted != _DEFAULT and wanted not in EFFORTS:
        return f"{brief(wanted, _LONGEST)!r} is not an effort. Send /effort with one of {_CHOICES}."
    if not (conversation.direct or _looks_after(invocation)):
        return "Only an operator or an owner can change the effort in this channel."
    chosen = None if wanted == _DEFAULT else wanted
    tx.conversations.set_effort(conversation.id, chosen)
    if chosen is None:
        return "The effort in this conversation is the default of the agent again."
    return f"The effort in this conversation is {chosen} now, from the next model call on. More effort takes longer and costs more."


def _present_effort(invocation: Invocation) -> str:
    chosen, own = invocation.conversation.effort, invocation.agent.effort
    if chosen is not None:
        return f"The effort in this conversation is {chosen}."
    return f"The effort in this conversation is the default of the agent ({own or 'the default of the model'})."


_CHOICES = f"{', '.join(EFFORTS)} or {_DEFAULT}"

#: The routing rules that give a place to one agent, so that no other agent can be addressed there.
_ALONE = frozenset({"bot_assignment", "channel_binding"})
_MOST = 30
_LONGEST = 120


def agents(tx: Transaction, invocation: Invocation, _now: int) -> str:
    """List the agents that this person may ask."""
    return "\n".join(_lines(tx, invocation))


def _lines(tx: Transaction, invocation: Invocation) -> Iterator[str]:
    yield f"The agent here is {_description(invocation.agent)}"
    others = _others(tx, invocation)
    if others:
        yield "You can also address these agents here by mentioning them:"
    yield from (f"@{agent.slug}: {_description(agent)}" for agent in others[:_MOST])
    if len(others) > _MOST:
        yield "… and more."


def _description(agent: Agent) -> str:
    about = f", {brief(agent.description, _LONGEST)}" if agent.description else ""
    return f"{brief(agent.name, _LONGEST)}{about}"


def _others(tx: Transaction, invocation: Invocation) -> list[Agent]:
    if invocation.route in _ALONE:
        return []
    address, here = invocation.address, invocation.agent.id
    binding = tx.agents.binding_at(address.platform, address.channel)
    return [
        agent for agent in tx.agents.all() if agent.active and agent.id != here and _may(invocation, agent, binding)
    ]


def _may(invocation: Invocation, agent: Agent, binding: Binding | None) -> bool:
    person = invocation.principal
    sender = invocation.sender or Sender(person.user_id, person.name, paired=person.paired)
    question = IncomingMessage(invocation.address, "", sender, "", is_direct=invocation.conversation.direct)
    return permit(question, agent, "mention", person.role, binding) is None


def how_to_address(tx: Transaction, invocation: Invocation) -> str:
    """Return one line that says how to address the agent in this place."""
    agent = brief(invocation.agent.name, _LONGEST)
    address = invocation.address
    binding = tx.agents.binding_at(address.platform, address.channel)
    open_to_all = binding is not None and binding.respond is Respond.ALL
    if open_to_all or invocation.conversation.direct or address.platform == WEB:
        return f"Here every message is for {agent}."
    if address.thread:
        return f"In this thread every message is for {agent}."
    return f"Here {agent} answers people who {_mention(tx, invocation)}, reply to its messages, or send a command."


def _mention(tx: Transaction, invocation: Invocation) -> str:
    """Return the instruction how to mention the bot, with the bot's name on the platform if this name is known."""
    place = (invocation.address.platform, invocation.address.connector)
    names = [bot.user_name for bot in tx.bots.statuses() if (bot.platform, bot.name) == place and bot.user_name]
    return f"mention @{names[0]}" if names else "mention it"


_LONGEST_NAME, _LONGEST_ABOUT = 120, 300
#: The form of the argument that a link to a bot can add to `/start`. If the argument has another form, the text is an
#: ordinary message.
_CARRIED = regex(r"[A-Za-z0-9_-]{0,64}")


def is_start(argument: str) -> bool:
    return _CARRIED.fullmatch(argument) is not None


def start(tx: Transaction, invocation: Invocation, _now: int) -> str:
    agent = invocation.agent
    greeting = f"Hello, I am {brief(agent.name, _LONGEST_NAME)}."
    about = brief(agent.description, _LONGEST_ABOUT) if agent.description else ""
    return "\n".join(filter(None, (greeting, about, how_to_address(tx, invocation), "/help lists the commands.")))
