from __future__ import annotations

from tests.crash.episode import Aim
from tests.crash.variants.build import Edit, Variant
from tests.crash.verdict import Kind

WRITER = "arvis/store/writer.py"

#: The pause stands for a disk that takes its time, so that the gap between answer and commit can be hit.
VARIANT = Variant(
    name="ack_before_commit",
    breaks="a script is answered before its group is committed, so a client hears of a message that may vanish",
    edits=(
        Edit(
            WRITER,
            old='        self._connection.execute("RELEASE script")\n',
            new='        self._connection.execute("RELEASE script")\n        answer([submission])\n',
        ),
        Edit(
            WRITER,
            old='            self._connection.execute("COMMIT")\n',
            new='            time.sleep(0.005)\n            self._connection.execute("COMMIT")\n',
        ),
    ),
    caught_by=frozenset({Kind.LOST}),
    aim=Aim.ACKNOWLEDGED,
    patience=10,
)
