"""The deliberately broken builds: each has a fault that its episode must find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.crash.builds import Edit
from tests.crash.calls import (
    a_reply_read_what_it_answers,
    finished_calls_are_booked,
    interrupted_work_is_claimed_again_soon,
)
from tests.crash.chat_episode import ChatPlan
from tests.crash.cluster import Shape
from tests.crash.disturbances import Disturbance, Instant
from tests.crash.oracle import (
    a_client_receives_everything_once,
    an_id_means_one_message,
    every_accepted_message_is_answered,
    every_message_is_accepted,
)
from tests.crash.report import Result
from tests.crash.verdict import Rule, the_rows_agree

WRITER = "arvis/store/sqlite/store.py"
SOCKET = "arvis/web/realtime/socket.py"
JOBS = "arvis/store/queries/jobs.sql"


@dataclass(frozen=True, slots=True)
class Variant:
    """A broken build and the episode that finds its fault."""

    name: str
    #: The promise that the build breaks.
    breaks: str
    edits: Sequence[Edit]
    #: The rules of the oracle that must find the fault.
    caught_by: Sequence[Rule[Any]]
    #: The settings of the episode; its disturbances are enough to find the fault.
    plan: ChatPlan
    #: The rules over the database that must find the fault.
    rows: Sequence[str] = ()

    @property
    def needs_server(self) -> bool:
        return self.plan.shape != Shape()

    def is_caught(self, result: Result) -> bool:
        """Return whether the rules found the fault. A build that does not run proves nothing, although it breaks
        rules."""
        broken_rules = {violation.rule for violation in result.violations}
        ran = (
            result.kills + result.suspensions >= self.plan.disturbances
            and result.messages > 0
            and every_message_is_accepted.__name__ not in broken_rules
        )
        found = broken_rules >= {rule.__name__ for rule in self.caught_by}
        return ran and found and all(self._row_is_found(rule, result) for rule in self.rows)

    def _row_is_found(self, rule: str, result: Result) -> bool:
        return any(violation.detail.startswith(f"{rule}: ") for violation in result.violations)


_VARIANTS = (
    # The pause simulates a slow disk, so that a kill can come between answer and commit.
    Variant(
        name="ack_before_commit",
        breaks="a script is answered before its group is committed, so an acknowledged message may be lost",
        edits=(
            Edit(
                WRITER,
                old='        self._connection.execute("RELEASE script")\n',
                new='        self._connection.execute("RELEASE script")\n        wake([submission])\n',
            ),
            Edit(
                WRITER,
                old="            self._run_in_savepoint(following)\n",
                new="            self._run_in_savepoint(following)\n        time.sleep(0.25)\n",
            ),
        ),
        caught_by=[every_accepted_message_is_answered],
        plan=ChatPlan(disturbances=1, instant=Instant.ACKNOWLEDGED, patience=8),
    ),
    # The pause simulates a second transaction on a busy disk.
    Variant(
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
    ),
    # The pause simulates a long replay to a slow client.
    Variant(
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
    ),
    # Two complete daemons share a database. One is suspended during a model call, for longer than its lease.
    Variant(
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
    ),
    Variant(
        name="no_inbox_key",
        breaks="an event that is delivered again makes a second message and a second turn",
        edits=(
            Edit(
                "arvis/store/repositories/messages.py",
                old="    def by_event(self, address: Address, event_id: str) -> StoredMessage | None:\n",
                new="    def by_event(self, address: Address, event_id: str) -> StoredMessage | None:\n        return None\n",
            ),
            Edit(
                "migrations/0001_initial.sql",
                old="CREATE UNIQUE INDEX messages_inbox ON",
                new="CREATE INDEX messages_inbox ON",
            ),
        ),
        caught_by=[an_id_means_one_message],
        rows=["a platform event is stored once"],
        plan=ChatPlan(disturbances=1, instant=Instant.ACK_LOST, patience=10),
    ),
    Variant(
        name="no_lease_recovery",
        breaks="a job that a killed daemon was running is never given back to the queue, neither at start nor by the sweep",
        edits=(
            Edit(
                "arvis/store/repositories/jobs.py",
                old='        self._session.execute("shorten_leases", longest=now + LONGEST_LEASE_MS)\n',
                new="        return []\n",
            ),
        ),
        caught_by=[every_accepted_message_is_answered, interrupted_work_is_claimed_again_soon],
        plan=ChatPlan(disturbances=1, instant=Instant.MODEL_CALL, patience=3),
    ),
    Variant(
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
    ),
    # The pause simulates a slow disk.
    Variant(
        name="send_before_commit",
        breaks="a delivery is shown before the commit of its turn, so a reply is shown that may be lost",
        edits=(
            Edit(
                "arvis/store/transaction.py",
                old="            claim.jobs = jobs.claim(claim.reserved, *claimer.lease())\n        commit()\n",
                new="            claim.jobs = jobs.claim(claim.reserved, *claimer.lease())\n"
                "        if notices.sent:\n"
                "            claimer.sent(notices.sent)\n"
                "            __import__('time').sleep(0.25)\n"
                "        commit()\n",
            ),
        ),
        caught_by=[a_client_receives_everything_once],
        plan=ChatPlan(disturbances=1, instant=Instant.SHOWN, patience=10),
    ),
    Variant(
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
    ),
)
#: The broken builds by name.
VARIANTS = {variant.name: variant for variant in _VARIANTS}
