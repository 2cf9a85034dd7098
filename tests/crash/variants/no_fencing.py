from __future__ import annotations

from tests.crash.chat_episode import ChatPlan
from tests.crash.cluster import Shape
from tests.crash.disturbances import Disturbance, Instant
from tests.crash.variants.build import Edit, Variant
from tests.crash.verdict import the_rows_agree

JOBS = "arvis/store/queries/jobs.sql"

#: Two complete daemons share a database. One is suspended during a model call, for longer than its lease.
VARIANT = Variant(
    name="no_fencing",
    breaks="a worker whose lease was lost to another still commits its turn, and its turn is not cancelled",
    edits=(
        Edit(
            JOBS,
            old="    finished_at = :now, key = CASE WHEN key_live = 1 THEN NULL ELSE key END\n"
            "WHERE id = :id AND ready = 3 AND owner = :owner AND claim = :claim",
            new="    finished_at = :now, key = CASE WHEN key_live = 1 THEN NULL ELSE key END\n"
            "WHERE id = :id AND :claim > 0 AND :owner <> ''",
        ),
        # Otherwise the unique numbers of steps would also prevent the second commit.
        Edit(
            "arvis/store/queries/executions.sql",
            old="INSERT INTO steps (execution_id, number, node, decision, changes, at)\n"
            "VALUES (:execution_id, :number, :node, :decision, :changes, :at);\n",
            new="INSERT INTO steps (execution_id, number, node, decision, changes, at)\n"
            "VALUES (:execution_id, :number, :node, :decision, :changes, :at) ON CONFLICT DO NOTHING;\n",
        ),
        Edit(
            "arvis/queue/queue.py",
            old="                self.abandon(job.id)\n",
            new="                pass\n",
        ),
    ),
    caught_by=[the_rows_agree],
    rows=["a turn is paid once"],
    plan=ChatPlan(
        disturbances=1,
        instant=Instant.MODEL_CALL,
        patience=10,
        disturbance=Disturbance.SUSPEND,
        shape=Shape(daemons=2),
        lease=1.0,
    ),
)
