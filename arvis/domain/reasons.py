"""Explanations of reason codes: why an agent was chosen, why a message has no answer."""

from __future__ import annotations

from collections.abc import Mapping

#: The reason code of a message whose answer is incomplete.
CUT = "cut"

#: The routing rules (behaviour 1.3), as the end of "it was asked because …".
CHOSEN: Mapping[str, str] = {
    "named": "the message was sent to it by name",
    "bot_assignment": "this bot belongs to it",
    "channel_binding": "this channel is bound to it",
    "mention": "the message calls it by name",
    "conductor_channel": "this is the conductor's channel",
    "dashboard_direct": "this is its own channel",
    "dm": "direct messages go to the conductor",
    "fallback": "no other rule matched, and routing.fallback names it",
    "web_default": "no other rule matched, and it is the conductor, or else the first agent that this person may ask",
}

_REFUSED: Mapping[str, str] = {
    "blocked": "this person is blocked",
    "not_addressed": "it was not addressed to the bot",
    "none": "no rule matched, and routing.fallback drops such messages",
    "no_conductor": "there is no active conductor",
    "no_agent": "there is no active agent",
    "unknown_agent": "there is no such active agent",
    "not_allowed": "this person may not use this agent",
    "not_paired": "this agent has risky tools and this person is not paired",
    "too_many_messages": "this person wrote more messages within a minute than limits.messages_per_minute allows",
    "bot_loop": "too many turns in a row were asked for by other bots; a person's word ends that",
    "not_bound": "this agent is not bound to this channel",
    "paused": "the agent of this bot is paused",
    "too_old": "it was written too long before it reached us (delivery.answer_within)",
}

_FAILED: Mapping[str, str] = {
    "auth": "the model's account does not accept its key",
    "quota": "the model's account has no credit left",
    "too_long": "the conversation is too long for the model",
    "refused": "the model, or the content filter of its vendor, declined to answer",
    "empty": "the model gave an empty answer each time",
    CUT: "the answer reached the output limit and is cut",
    "bad_request": "the model did not understand the request",
    "too_late": "it could not be answered in time (delivery.answer_within)",
    "no_model": "no account serves the model that the agent is set to",
    "poison": "the process died each time this was worked on",
    "attempts": "the model did not answer after several attempts",
    "budget_turn": "the budget of one turn is used up",
    "budget_agent": "the agent's budget of the day is used up",
    "budget_principal": "this person's budget of the day is used up",
    "budget_share": "this person's share of the budget of the day is used up",
    "budget_client": "the client's budget of the month is used up",
    "budget_day": "the budget of the day is used up",
    "budget_turns": "this unpaired user has asked as many questions as unpaired users may ask in a day",
    "budget_credit": "the client's credit is used up",
    "budget_client_status": "the client is paused",
    "stopped": "a person stopped it",
    "handled_by_caller": "it failed, and the run that it worked for has dealt with that",
    "restored": "the database was restored from a backup while this was under way",
}


def in_words(code: str) -> str:
    """Return a reason code with its explanation, if it has one."""
    words = CHOSEN.get(code) or _REFUSED.get(code) or _FAILED.get(code)
    return f"{words} ({code})" if words else code
