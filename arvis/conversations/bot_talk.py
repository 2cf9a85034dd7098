"""Two bots that answer one another would never stop: after a few turns it takes a person, or a pause, to go on (H29)."""

from __future__ import annotations

from arvis.domain.messages import Address
from arvis.ports.store import Transaction

#: Turns in one place that other programs ask for, one after the other.
MOST_BOT_TURNS = 5
#: Of silence, after which they begin anew: who reports every hour is in no talk.
PAUSE_MS = 15 * 60_000


def may_begin_turn(tx: Transaction, address: Address, *, bot: bool, now: int) -> bool:
    """Counts a turn that somebody in this place is about to begin; False when it is a bot's and one too many. A person's
    word sets the count back. To be asked once for each event, after permission, in the transaction that accepts it."""
    key = f"bot_turns:{address.lane}"
    known = tx.settings.get(key)
    count, _, at = (known or "0:0").partition(":")
    if not bot:
        if int(count):
            tx.settings.put(key, f"0:{now}", now)
        return True
    turns = 0 if now - int(at) >= PAUSE_MS else int(count)
    if turns >= MOST_BOT_TURNS:
        return False
    tx.settings.put(key, f"{turns + 1}:{now}", now)
    return True
