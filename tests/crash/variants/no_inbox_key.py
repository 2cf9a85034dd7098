from __future__ import annotations

from tests.crash.chat_episode import ChatPlan
from tests.crash.disturbances import Instant
from tests.crash.oracle import an_id_means_one_message
from tests.crash.variants.build import Edit, Variant

VARIANT = Variant(
    name="no_inbox_key",
    breaks="an event that is delivered again makes a second message and a second turn",
    edits=(
        Edit(
            "arvis/store/repositories/messages.py",
            old="    def by_event(self, address: Address, event_id: str) -> StoredMessage | None:\n",
            new="    def by_event(self, address: Address, event_id: str) -> StoredMessage | None:\n        return None\n",
        ),
        Edit(
            "migrations/0001_initial.sql",
            old="CREATE UNIQUE INDEX messages_inbox ON",
            new="CREATE INDEX messages_inbox ON",
        ),
    ),
    caught_by=[an_id_means_one_message],
    rows=["a platform event is stored once"],
    plan=ChatPlan(disturbances=1, instant=Instant.ACK_LOST, patience=10),
)
