from __future__ import annotations

from tests.crash.calls import interrupted_work_is_claimed_again_soon
from tests.crash.chat_episode import ChatPlan
from tests.crash.disturbances import Instant
from tests.crash.oracle import every_accepted_message_is_answered
from tests.crash.variants.build import Edit, Variant

VARIANT = Variant(
    name="no_lease_recovery",
    breaks="a job that a killed daemon was running is never given back to the queue, neither at start nor by the sweep",
    edits=(
        Edit(
            "arvis/store/repositories/jobs.py",
            old='        self._session.execute("shorten_leases", longest=now + LONGEST_LEASE_MS)\n',
            new="        return []\n",
        ),
    ),
    caught_by=[every_accepted_message_is_answered, interrupted_work_is_claimed_again_soon],
    plan=ChatPlan(disturbances=1, instant=Instant.MODEL_CALL, patience=3),
)
