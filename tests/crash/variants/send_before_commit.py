from __future__ import annotations

from tests.crash.chat_episode import ChatPlan
from tests.crash.disturbances import Instant
from tests.crash.oracle import a_client_receives_everything_once
from tests.crash.variants.build import Edit, Variant

#: A delivery is claimed in the commit of its turn. The pause simulates a slow disk.
VARIANT = Variant(
    name="send_before_commit",
    breaks="a claimed delivery is handed out before the commit of its turn, so a reply is shown that may be lost",
    edits=(
        Edit(
            "arvis/store/transaction.py",
            old="            claim.jobs = jobs.claim(claim.reserved, *claimer.lease())\n        commit()\n",
            new="            claim.jobs = jobs.claim(claim.reserved, *claimer.lease())\n"
            "        if early := [job for job in claim.jobs if job.delivery is not None]:\n"
            "            claimer.deliver(claim.reserved, claim.ended, early)\n"
            "            __import__('time').sleep(0.05)\n"
            "            claim.ended, claim.reserved = (), claimer.reserve((), more=True)\n"
            "            claim.jobs = [job for job in claim.jobs if job.delivery is None]\n"
            "        commit()\n",
        ),
    ),
    caught_by=[a_client_receives_everything_once],
    plan=ChatPlan(disturbances=1, instant=Instant.SHOWN, patience=10),
)
