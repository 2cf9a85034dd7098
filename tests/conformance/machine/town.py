"""The surroundings of the processes: the database, the clock, people's messages, deliveries to people, and all facts
that are certain about these. This module decides which commit happens next and with what result."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from structlog.testing import capture_logs

from arvis.domain.agents import Agent
from arvis.domain.errors import StoreError
from arvis.domain.jobs import POISON_CRASHES, Job
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, Sender
from arvis.engine.engine import RUN_AGAIN, SKIP
from arvis.ports.inbox import Received
from arvis.ports.operations import WaitAnswer
from arvis.process.clock import IdMaker
from arvis.store.sql.session import Row
from tests.conformance.machine.backends import Backend, Fate, Outcome, PostgresBackend, Script, database_of
from tests.conformance.machine.job_model import Call, JobModel
from tests.conformance.machine.loop import WallClock
from tests.conformance.machine.process import BOT, PLATFORM, OutsideCall, Process, Write
from tests.conformance.machine.race import raced
from tests.conformance.machine.script import scripted_graphs
from tests.conformance.machine.tables import Violation, check_jobs, check_lanes, look

NODES = ("node-1", "node-2")
HELPER = Agent(id="agent-helper", slug="helper", name="Helper")


@dataclass(slots=True)
class Event:
    """A person's message, as the platform knows it."""

    message: IncomingMessage
    message_id: str | None = None  # the id that the platform received when the message was accepted
    taken: int = 0  # how often the message was acknowledged as new


@dataclass(slots=True)
class Records:
    """The facts outside of the database."""

    events: list[Event] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)  # deliveries that arrived
    happened: Counter[str] = field(default_factory=Counter)  # external calls
    # calls of a process that had lost its lease; no fence can prevent them
    excused: Counter[str] = field(default_factory=Counter)
    told: set[str] = field(default_factory=set)  # names that `_first_time` has seen
    retried: set[str] = field(default_factory=set)  # executions and deliveries whose jobs were retried
    calls: Counter[str] = field(default_factory=Counter)


def name_of(call: Call) -> str:
    """Return a name for the report, which shows that the histories did something."""
    if call.name == "settle":
        return f"settle {type(call.args[1]).__name__}" if call.result else "settle fenced"
    return call.name if call.result else f"{call.name} in vain"


class Town:
    """Implements `Desk` for all processes on one database."""

    def __init__(self, url: str | None, *, safe_resend: bool) -> None:
        self._stack = ExitStack()
        self._stack.enter_context(capture_logs())  # the log of these failures is not needed
        self.wall = WallClock()
        self.new_id = IdMaker(clock=self, random_bits=lambda _: 0)
        self.backend: Backend = self._stack.enter_context(database_of(url, self.new_id))
        self.safe_resend = safe_resend
        self.jobs = JobModel()
        self.turn_of: dict[str, str] = {}
        self.records = Records()
        self.processes: dict[str, Process] = {}
        self.waiting: list[Write | OutsideCall] = []
        self.claims: list[Job] = []
        self.broken: list[str] = []
        self._boots = 0
        self._graphs = scripted_graphs(self._first_time)
        self._keep(self.backend.write(lambda tx: tx.agents.add(HELPER, self.wall.now), None, Fate.KEPT))

    def now(self) -> int:
        return self.wall.now

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Return immediately: nothing waits here."""

    def close(self) -> None:
        for process in self.processes.values():
            process.die()
        self._stack.close()

    # -- processes -----------------------------------------------------------------------------------------

    def start(self, node: str) -> None:
        self._boots += 1
        self.processes[node] = Process(
            boot=f"boot-{self._boots}",
            node=node,
            wall=self.wall,
            desk=self,
            new_id=self.new_id,
            graphs=self._graphs,
            safe_resend=self.safe_resend,
        )
        self.rest()

    def start_all(self) -> None:
        """Start a process on each node; there is no work yet."""
        for node in NODES:
            self.start(node)
        while self.waiting:
            self.proceed(self.waiting[0])

    def kill(self, node: str) -> None:
        """Kill a process; its requests that were not submitted never happen."""
        process = self.processes.pop(node)
        self.waiting = [one for one in self.waiting if one.process is not process]
        process.die()

    def rest(self) -> None:
        """Let every process do all that it can; one that has stopped is removed."""
        for process in self.processes.values():
            process.rest()
        for node, process in list(self.processes.items()):
            if process.stopped:
                self.kill(node)
        self.waiting = [one for one in self.waiting if isinstance(one, Write) or not one.future.cancelled()]

    def pass_time(self, seconds: float) -> None:
        self.wall.move(seconds)
        for process in self.processes.values():
            process.loop.pass_time(seconds)
        self.rest()

    # -- requests of processes (`Desk`) --------------------------------------------------------------------

    def wait(self, something: Write | OutsideCall) -> None:
        self.waiting.append(something)

    def read(self, script: Script) -> Any:
        return self.backend.read(script)

    def entered(self, job: Job) -> None:
        if job.crashes >= POISON_CRASHES:
            self.broke(f"the poison {job.id} was run")

    def broke(self, what: str) -> None:
        self.broken.append(what)

    def _first_time(self, what: str) -> bool:
        first = what not in self.records.told
        self.records.told.add(what)
        return first

    # -- the next request ------------------------------------------------------------------------------------

    def ready(self) -> list[Write | OutsideCall]:
        """Return the waiting requests of processes that are not frozen, in order."""
        return [one for one in self.waiting if not one.process.frozen]

    def proceed(self, one: Write | OutsideCall, fate: Fate = Fate.KEPT) -> None:
        self.waiting.remove(one)
        self._let_happen(one, fate)
        self.rest()

    def proceed_and_die(self, one: Write | OutsideCall) -> None:
        """Carry out the last request of a process, which dies without receiving the result."""
        self.waiting.remove(one)
        self._let_happen(one, Fate.KEPT)
        self.kill(one.process.node)

    def _let_happen(self, one: Write | OutsideCall, fate: Fate) -> None:
        self.records.calls["refused"] += fate is not Fate.KEPT
        match one:
            case Write():
                self._keep(self.backend.write(one.script, one.process.claimer, fate), one)
            case OutsideCall():
                self._run_call(one, fate)

    def race(self, first: Write, second: Write, pause: int) -> bool:
        """Run two transactions concurrently, the first of which pauses after `pause` statements (False: it has
        fewer); their effect must equal that of running one after the other."""
        assert isinstance(self.backend, PostgresBackend)
        self.waiting.remove(first)
        self.waiting.remove(second)
        race = raced(
            self.backend,
            (first.script, first.process.claimer),
            (second.script, second.process.claimer),
            pause=pause,
            heard=lambda outcome: self._heard(second, outcome),
        )
        self.records.calls["race"] += 1
        self.records.calls["deadlock"] += race.deadlocks
        self._see_both(race.outcomes if race.first_won else race.outcomes[::-1])
        self._heard(first, race.outcomes[0])
        return race.met

    def _heard(self, write: Write, outcome: Outcome) -> None:
        self._answer(write, outcome)
        self.rest()

    def write(self, script: Script) -> Any:
        """Run a transaction of the test itself, which no process makes."""
        outcome = self.backend.write(script, None, Fate.KEPT)
        self._keep(outcome)
        if outcome.error is not None:
            raise outcome.error
        self.rest()
        return outcome.result

    def _keep(self, outcome: Outcome, write: Write | None = None) -> None:
        self._see(self.jobs, outcome.calls, alone=True)
        self._note(outcome.calls)
        if write is not None:
            self._answer(write, outcome)
        elif outcome.left:
            self._tell_others(None)

    def _answer(self, write: Write, outcome: Outcome) -> None:
        if outcome.left:
            self._tell_others(write.process)
        if write.future.done():
            return
        if outcome.error is not None:
            write.future.set_exception(outcome.error)
        else:
            write.future.set_result(outcome.result)

    def _tell_others(self, process: Process | None) -> None:
        for other in self.processes.values():
            if other is not process:
                other.news.set()

    def _run_call(self, call: OutsideCall, fate: Fate) -> None:
        if fate in {Fate.KEPT, Fate.LOST}:
            self._happen(call)
        if fate is Fate.KEPT:
            call.future.set_result(None)
        else:
            call.future.set_exception(call.refusal(fate))

    def _happen(self, call: OutsideCall) -> None:
        kind, _, what = call.what.partition(" ")
        self.records.happened[call.what] += 1
        if kind == "send":
            self.records.sent.append(what)
        if call.job is not None and not self.jobs.holds(call.job):
            self.records.excused[call.what] += 1

    # -- known facts ---------------------------------------------------------------------------------------

    def _see_both(self, outcomes: Sequence[Outcome]) -> None:
        """Compare in the order of the commits, else the other way round: one may have read before the other wrote."""
        errors = []
        for order in (outcomes, outcomes[::-1]):
            try:
                self.jobs = self._after_both(order)
            except AssertionError as error:
                errors.append(error)
                continue
            for outcome in order:
                self._note(outcome.calls)
            return
        raise Violation(f"no order explains both {[outcome.calls for outcome in outcomes]}: {errors}")

    def _after_both(self, order: Sequence[Outcome]) -> JobModel:
        """Return the model after both, if it matches the tables."""
        model = copy.deepcopy(self.jobs)
        for outcome in order:
            self._see(model, outcome.calls, alone=False)
        rows = look(self.backend)
        check_jobs(model, rows)
        check_lanes(model, rows)
        return model

    def _see(self, model: JobModel, calls: Sequence[Call], *, alone: bool) -> None:
        for call in calls:
            try:
                model.see(call, alone=alone)
            except AssertionError as error:
                raise Violation(f"{call}: {error}") from error

    def _note(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self.records.calls[name_of(call)] += 1
            match call:
                case Call("claim", _, jobs):
                    self.claims += jobs
                case Call("fold", (head, *_), jobs):
                    joined = {job.execution_id for job in jobs}
                    moved = [message for message, turn in self.turn_of.items() if turn in joined]
                    self.turn_of.update(dict.fromkeys(moved, head.execution_id))
                case Call("add_first", (jobs, *_)):
                    self.turn_of.update({job.message_id: job.execution_id for job in jobs})
                case Call("requeue", _, Job(execution_id=str(execution_id))):
                    self.records.retried.add(execution_id)
                case Call("requeue", _, Job(delivery_id=str(delivery_id))):
                    self.records.retried.add(delivery_id)

    # -- people --------------------------------------------------------------------------------------------

    def say(self, process: Process, person: str, room: str, content: str) -> None:
        number = len(self.records.events)
        address = Address(PLATFORM, BOT, room)
        message = IncomingMessage(address, f"event-{number}", Sender(person, person), content, assigned_agent="helper")
        self.records.events.append(Event(message))
        self.bring(process, self.records.events[-1])

    def bring(self, process: Process, event: Event) -> None:
        """Let the platform send an event, perhaps not for the first time."""
        process.do(self._bring(process, event))
        self.rest()

    def word_about(self, wait: Row, decision: str) -> WaitAnswer:
        """Return a person's answer to a question: about an interrupted effect, the truth."""
        if wait["subject"] is None:
            return WaitAnswer(decision) if wait["kind"] == "approval" else WaitAnswer("answer", text="this one")
        return WaitAnswer("answer", text=SKIP if self.records.happened[wait["subject"]] else RUN_AGAIN)

    async def _bring(self, process: Process, event: Event) -> None:
        try:
            received = await process.inbox.receive(event.message)
        except StoreError:
            return  # it will be brought again
        self._acknowledge(event, received)

    def _acknowledge(self, event: Event, received: Received) -> None:
        if event.message_id is not None and event.message_id != received.message_id:
            self.broke(f"{event.message.event_id} is {event.message_id} and {received.message_id}")
        event.taken += not received.duplicate
        if event.taken > 1:
            self.broke(f"{event.message.event_id} was acknowledged as new twice")
        if not received.duplicate and received.status is not MessageStatus.ACCEPTED:
            self.broke(f"{event.message.event_id} was {received.status}")
        event.message_id = received.message_id
