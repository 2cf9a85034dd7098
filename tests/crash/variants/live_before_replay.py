from __future__ import annotations

from tests.crash.chat_episode import ChatPlan
from tests.crash.disturbances import Instant
from tests.crash.oracle import a_client_receives_everything_once
from tests.crash.variants.build import Edit, Variant

SOCKET = "arvis/web/realtime/socket.py"

#: The pause simulates a long replay to a slow client.
VARIANT = Variant(
    name="live_before_replay",
    breaks="a socket joins its channel after the replay, so a message sent in between reaches no client",
    edits=(
        Edit(SOCKET, old="        self._connector.join(client)\n", new=""),
        Edit(
            SOCKET,
            old="        await self._replay(socket, client)\n        while True:\n",
            new="        await self._replay(socket, client)\n        await asyncio.sleep(0.5)\n"
            "        self._connector.join(client)\n        while True:\n",
        ),
        # Otherwise a gap in the numbers would also make the connector look for missed messages.
        Edit(
            "arvis/web/realtime/connector.py",
            old="            if ready.seq is not None and ready.seq > self.seen + 1:\n                return REPLAY\n",
            new="",
        ),
    ),
    caught_by=[a_client_receives_everything_once],
    plan=ChatPlan(disturbances=1, instant=Instant.SHOWN, patience=2, wait_before=2.0, rate=4.0),
)
