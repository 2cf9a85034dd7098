from __future__ import annotations

from tests.crash.chat_episode import ChatPlan
from tests.crash.disturbances import Instant
from tests.crash.oracle import every_accepted_message_is_answered
from tests.crash.variants.build import Edit, Variant
from tests.crash.verdict import the_rows_agree

#: The pause simulates a second transaction on a busy disk.
VARIANT = Variant(
    name="effects_outside_commit",
    breaks="the job ends in one transaction, its reply and delivery are written in the next",
    edits=(
        Edit(
            "arvis/engine/engine.py",
            old="        return update.execution, await self._complete(job, update, completion(update.execution))\n",
            new="        later = completion(update.execution)\n"
            "        await self._complete(job, update, nothing(update.execution))\n"
            "        await asyncio.sleep(0.5)\n"
            "        return update.execution, await self._store.write(later, self._clock.now())\n",
        ),
    ),
    caught_by=[every_accepted_message_is_answered, the_rows_agree],
    rows=["an inbox row is answered"],
    plan=ChatPlan(disturbances=1, instant=Instant.ANSWERED, patience=2),
)
