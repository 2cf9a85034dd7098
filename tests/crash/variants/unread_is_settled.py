from __future__ import annotations

from tests.crash.calls import a_reply_read_what_it_answers
from tests.crash.chat_episode import ChatPlan
from tests.crash.disturbances import Instant
from tests.crash.variants.build import Edit, Variant

VARIANT = Variant(
    name="unread_is_settled",
    breaks="messages that joined a turn leave its prompt with the oldest round of tools, but are settled",
    edits=(
        Edit(
            "arvis/prompt/tool_rounds.py",
            old="    return [record, *whole] if record.content else whole\n",
            new="    return whole\n",
        ),
        Edit("arvis/turns/requeue.py", old="    if not unread:\n", new="    if asked:\n"),
    ),
    caught_by=[a_reply_read_what_it_answers],
    plan=ChatPlan(disturbances=5, instant=Instant.RANDOM, patience=60, rate=3.0, working=4),
)
