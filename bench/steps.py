"""Attribute work of the daemon to the fourteen steps of a message (`arvis/message_flow.py`), by the functions on the
stack. Also lists the SQL statements of each step."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from arvis.store.sqlite.session import SqliteSession

#: The functions of each step. Work counts for the innermost of these functions on the stack. After the fourteen steps
#: follow the parts of the path that serve several steps.
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "1  receive": (
        "arvis.web.realtime.socket:SocketRoute._read",
        "arvis.web.realtime.socket:SocketRoute._take",
        "uvicorn.protocols.websockets.websockets_sansio_impl:WebSocketsSansIOProtocol.data_received",
        "arvis.inbox.inbox:InboxService.receive",
    ),
    "2  route and permit": ("arvis.inbox.accept:handle_message",),
    "3  typing": ("arvis.inbox.inbox:InboxService._publish_received",),
    "4  store the message": ("arvis.turns.turns:begin_turn",),
    "5  load the context": ("arvis.engine.lifecycle:load",),
    "6  recall facts": ("arvis.memory.recall:recall",),
    "7  compose the prompt": ("arvis.graphs.agent.graph:_Nodes.prepare",),
    "8  enqueue": ("arvis.turns.turns:_queue_turn",),
    "9  claim and join": (
        "arvis.store.repositories.jobs:SqlJobs.claim",
        "arvis.queue.slots:SlotPool.reserve",
        "arvis.queue.slots:SlotPool.deliver",
        "arvis.graphs.agent.steering:join_waiting_messages",
    ),
    "10 call the model": ("arvis.graphs.agent.graph:_Nodes.call_model",),
    "11 parse the reply": ("arvis.actions.turn_end:parse_reply",),
    "12 apply and store": (
        "arvis.actions.turn_end:TurnEnd.end_walk",
        "arvis.engine.unit_of_work:ExecutionUpdate.write",
    ),
    "13 send": (
        "arvis.delivery.deliverer:Deliverer.show",
        "arvis.web.realtime.connector:WebConnector.show",
        "arvis.web.realtime.socket:SocketRoute._write",
    ),
    "14 end the job": ("arvis.engine.lifecycle:complete",),
    "begin and commit": (
        "arvis.store.sqlite.session:SqliteSession.begin_write",
        "arvis.store.sqlite.session:SqliteSession.commit",
        "arvis.store.sqlite.store:Writer._run_in_savepoint",
    ),
    "engine: nodes and state": ("arvis.engine.engine:Engine.advance", "arvis.message_flow:MessageFlow.run"),
}
#: The row for all other work: the event loop, its timers, and the hand-over between threads.
BETWEEN = "event loop and threads"
ROWS = (*FUNCTIONS, BETWEEN)

_STEPS = {tuple(name.split(":")): step for step, names in FUNCTIONS.items() for name in names}


def step_of(frame: FrameType | None) -> str:
    """Return the step for which this stack works."""
    while frame is not None:
        step = _STEPS.get((frame.f_globals.get("__name__", ""), frame.f_code.co_qualname))
        if step is not None:
            return step
        frame = frame.f_back
    return BETWEEN


@contextmanager
def counting_statements() -> Iterator[Counter[tuple[str, str]]]:
    """Count the statements by (step, name of the query) until the end of the block."""
    counts: Counter[tuple[str, str]] = Counter()

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(session: SqliteSession, query: str, *args: Any, **parameters: Any) -> Any:
            counts[step_of(sys._getframe(1)), query] += 1
            return call(session, query, *args, **parameters)

        return run

    originals = {name: getattr(SqliteSession, name) for name in ("rows", "execute", "execute_many")}
    try:
        for name, call in originals.items():
            setattr(SqliteSession, name, counting(call))
        yield counts
    finally:
        for name, call in originals.items():
            setattr(SqliteSession, name, call)
