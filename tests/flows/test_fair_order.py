"""A person who writes in many places at the same time delays another person's message by only a few turns."""

from __future__ import annotations

from arvis.domain.messages import MessageStatus
from arvis.inbox.accept import InboxRules
from arvis.services.allowances import Allowed
from arvis.store.open import Database
from tests.flows.app_harness import open_app

WORKERS = 2
PLACES = 60


async def test_a_flood_in_many_places_does_not_delay_others(either_database: Database) -> None:
    async with open_app(either_database, workers=WORKERS, started=False) as app:
        app.inbox = app.inbox_with(InboxRules(allowed=Allowed(messages_per_minute=1_000)))
        flood = [await app.say("Hello", channel=f"room-{number}") for number in range(PLACES)]
        asked = await app.say("Hello", user="bob", channel="home")
        await app.start()
        for each in (asked, *flood):
            await app.until_status(each.message_id, MessageStatus.ANSWERED)
        ended = [delivery.address.channel for delivery in app.connector.sent]
    # A turn of the other person may run in each worker, and two of that person's messages have the same rank or a lower
    # one: the first message of an unknown person is not counted.
    assert ended.index("home") <= WORKERS + 2
