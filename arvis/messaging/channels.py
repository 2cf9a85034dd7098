"""Selects the bot that posts in a channel without a question. Part of a script."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.messages import Address
from arvis.ports.store import Transaction

#: The platform whose one connector has its name.
WEB = "web"


#: The prefix of threads in which programs write over the OpenAI-compatible API.
_PROGRAMS = "v1/"


def is_of_programs(address: Address) -> bool:
    """Return whether a program wrote here over the API of OpenAI's form, rather than a person on the page."""
    return address.platform == WEB and address.thread.startswith(_PROGRAMS)


def posted_by(tx: Transaction, place: Address) -> Address | str:
    """Return the place with its bot, which needs no name where a platform has one bot; or the reason why there is no
    choice."""
    if place.connector:
        return place
    if place.platform == WEB:
        return replace(place, connector=WEB)
    names = sorted({bot.name for bot in tx.bots.statuses() if bot.platform == place.platform})
    if len(names) == 1:
        return replace(place, connector=names[0])
    if not names:
        return f"There is no bot of {place.platform} that could post it."
    return f"There are several bots of {place.platform}: say which one is to post it ({', '.join(names)})."
