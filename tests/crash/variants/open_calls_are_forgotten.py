from __future__ import annotations

from tests.crash.calls import finished_calls_are_booked
from tests.crash.chat_episode import ChatPlan
from tests.crash.disturbances import Instant
from tests.crash.variants.build import Edit, Variant

VARIANT = Variant(
    name="open_calls_are_forgotten",
    breaks="a call that was answered just before a kill is not charged",
    edits=(
        Edit(
            "arvis/llm/budgets.py",
            old="        spender, receipt = call.spender, replace(call.receipt, error=INTERRUPTED",
            new="        continue\n        spender, receipt = call.spender, replace(call.receipt, error=INTERRUPTED",
        ),
    ),
    caught_by=[finished_calls_are_booked],
    plan=ChatPlan(disturbances=5, instant=Instant.ANSWERED, patience=60, rate=2.0, working=4),
)
