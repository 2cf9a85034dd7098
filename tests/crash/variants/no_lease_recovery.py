from __future__ import annotations

from tests.crash.episode import Aim
from tests.crash.variants.build import Edit, Variant
from tests.crash.verdict import Kind

VARIANT = Variant(
    name="no_lease_recovery",
    breaks="a job that a dead daemon was running is never given back to the queue, neither at start nor by the sweep",
    edits=(
        Edit(
            "arvis/store/queries/jobs.sql",
            old="WHERE ready = 3 AND owner <> :boot AND (lease_until < :now OR node = :node)\n",
            new="WHERE ready = 3 AND owner <> :boot AND (lease_until < :now OR node = :node) AND 1 = 0\n",
        ),
    ),
    caught_by=frozenset({Kind.LOST, Kind.LATE}),
    aim=Aim.AT_THE_MODEL,
    patience=6,
)
