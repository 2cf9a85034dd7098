from __future__ import annotations

from tests.crash.blows import Aim
from tests.crash.oracle import every_accepted_message_is_answered, the_rows_agree
from tests.crash.variants.build import Edit, Variant

#: The pause stands for the work of a second transaction on a busy disk.
VARIANT = Variant(
    name="effects_outside_commit",
    breaks="the job ends in one transaction, its reply and delivery are written in the next",
    edits=(
        Edit(
            "arvis/engine/engine.py",
            old="        await self._commit(job, progress, closing=concluding(progress.execution))\n",
            new="        closing = concluding(progress.execution)\n"
            "        await self._commit(job, progress, closing=nothing(progress.execution))\n"
            "        await asyncio.sleep(0.5)\n"
            "        await self._store.write(closing, self._clock.now())\n",
        ),
    ),
    caught_by=[every_accepted_message_is_answered, the_rows_agree],
    rows=["an inbox row is answered"],
    blows=1,
    aim=Aim.ANSWERED,
    patience=2,
)
