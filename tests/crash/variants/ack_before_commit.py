from __future__ import annotations

from tests.crash.chat_episode import ChatPlan
from tests.crash.disturbances import Instant
from tests.crash.oracle import every_accepted_message_is_answered
from tests.crash.variants.build import Edit, Variant

WRITER = "arvis/store/sqlite/store.py"

#: The pause simulates a slow disk, so that a kill can fall between answer and commit.
VARIANT = Variant(
    name="ack_before_commit",
    breaks="a script is answered before its group is committed, so an acknowledged message may be lost",
    edits=(
        Edit(
            WRITER,
            old='        self._connection.execute("RELEASE script")\n',
            new='        self._connection.execute("RELEASE script")\n        wake_waiters([submission])\n',
        ),
        Edit(
            WRITER,
            old="            self._run_in_savepoint(following)\n",
            new="            self._run_in_savepoint(following)\n        time.sleep(0.05)\n",
        ),
    ),
    caught_by=[every_accepted_message_is_answered],
    plan=ChatPlan(disturbances=1, instant=Instant.ACKNOWLEDGED, patience=4),
)
