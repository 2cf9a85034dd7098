"""Two bots that answer one another would never stop: after a few turns it takes a person, or a pause, to go on (H29)."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.messages import Address
from arvis.ports.store import Transaction

#: Turns in one place that other programs ask for, one after the other.
MOST_BOT_TURNS = 5
#: In a channel with all its threads: a bot that answers outside of them makes a new one begin each time.
MOST_IN_CHANNEL = 20
#: After this silence (ms) the count starts again: a bot that reports every hour is not in a conversation.
PAUSE_MS = 15 * 60_000


def may_begin_turn(tx: Transaction, address: Address, *, bot: bool, now: int) -> bool:
    """Count a turn that is about to begin in this place; return False if it is a bot's and over the limit. A person's
    message resets the count. Call it once for each event, after permission, in the transaction that accepts it."""
    channel = replace(address, thread="")
    limits = {f"bot_turns_in:{channel.lane}": MOST_IN_CHANNEL, f"bot_turns:{address.lane}": MOST_BOT_TURNS}
    counts = {key: _count(tx, key, now) for key in limits}
    if bot and any(counts[key] >= most for key, most in limits.items()):
        return False
    for key, count in counts.items():
        if bot or count:
            tx.kv.put(key, f"{count + 1 if bot else 0}:{now}", now)
    return True


def _count(tx: Transaction, key: str, now: int) -> int:
    count, _, at = (tx.kv.get(key) or "0:0").partition(":")
    return 0 if now - int(at) >= PAUSE_MS else int(count)
