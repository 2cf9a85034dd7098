"""Random histories of several processes, checked after every step.

People write and platforms repeat events; processes start, stop, freeze and die; commits are refused, lost or raced
against each other; clocks advance and jump; operators retry, cancel, delete and answer. `invariants.py` defines the
forbidden states, and `calm.py` checks the final state.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from arvis.domain.jobs import Done, Fail, Job, NewJob, Released, Retry, Settlement, Snooze
from arvis.domain.messages import Address
from tests.conformance.machine import invariants
from tests.conformance.machine.backends import Fate
from tests.conformance.machine.calm import come_to_rest
from tests.conformance.machine.job_model import LIVE
from tests.conformance.machine.process import BOT, OWNER, OWNER_IN_PERSON, PLAIN, PLATFORM, OutsideCall, Process, Write
from tests.conformance.machine.script import WORDS, content_of
from tests.conformance.machine.town import NODES, Town

WHICH = st.integers(min_value=0, max_value=10_000)
#: The indexes of the waiting requests to carry out, one after the other.
THEN = st.lists(WHICH, max_size=6)
FATES = st.sampled_from([Fate.REFUSED, Fate.FULL, Fate.LOST])
SECONDS = st.sampled_from([0.02, 1, 5, 11, 31, 70, 240, 4_000])
JUMPS = st.sampled_from([-90_000, -3_600, -40, -1, 1, 40, 3_600, 90_000])


@dataclass(slots=True)
class Tally:
    """The counts of all histories."""

    steps: int = 0
    happened: Counter[str] = field(default_factory=Counter)


class Machine(RuleBasedStateMachine):
    """A history. The choices of a rule never depend on earlier results (a rule does nothing where it does not apply),
    so a history repeats the same choices even if a race ends differently. `url` names a PostgreSQL database; None is
    SQLite."""

    url: ClassVar[str | None] = None
    tally: ClassVar[Tally] = Tally()

    def __init__(self) -> None:
        super().__init__()
        self.town: Town

    @initialize(safe_resend=st.booleans())
    def found(self, *, safe_resend: bool) -> None:
        self.town = Town(self.url, safe_resend=safe_resend)
        for node in NODES:
            self.town.start(node)

    def teardown(self) -> None:
        if not hasattr(self, "town"):
            return
        try:
            come_to_rest(self.town)
        finally:
            self.tally.happened.update(self.town.records.calls)
            self.town.close()

    @invariant()
    def nothing_is_wrong(self) -> None:
        self.tally.steps += 1
        if hasattr(self, "town"):
            invariants.check(self.town)

    def _go_on(self, then: list[int]) -> None:
        """Carry out some waiting requests; if nothing waits, a person writes."""
        self.town.rest()
        for which in then:
            if ready := self.town.ready():
                self.town.proceed(ready[which % len(ready)])
            else:
                self._say(which, "ann", "square", words_of(which))

    def _awake(self) -> list[Process]:
        return [process for process in self.town.processes.values() if not process.frozen]

    def _one(self, which: int) -> Process | None:
        awake = self._awake()
        return awake[which % len(awake)] if awake else None

    # -- processes -----------------------------------------------------------------------------------------

    @rule(which=WHICH, then=THEN)
    def start(self, which: int, then: list[int]) -> None:
        if missing := [node for node in NODES if node not in self.town.processes]:
            self.town.start(missing[which % len(missing)])
            self._go_on(then)

    @rule(which=WHICH, then=THEN)
    def crash(self, which: int, then: list[int]) -> None:
        if nodes := sorted(self.town.processes):
            self.town.kill(nodes[which % len(nodes)])
            self._go_on(then)

    @rule(which=WHICH, then=THEN)
    def crash_unheard(self, which: int, then: list[int]) -> None:
        """Let a process die after its commit or its external call, before it receives the result."""
        ready = self.town.ready()
        outside = [one for one in ready if isinstance(one, OutsideCall)]
        if chosen := outside if outside and which % 2 else ready:
            self.town.proceed_and_die(chosen[which % len(chosen)])
            self._go_on(then)

    @rule(times=st.integers(2, 6), seconds=st.sampled_from([2, 31, 31]), then=st.lists(WHICH, min_size=2, max_size=8))
    def crash_loop(self, times: int, seconds: int, then: list[int]) -> None:
        """Let a process start, begin its work, and die, several times."""
        for _ in range(times):
            for node in list(self.town.processes):
                self.town.kill(node)
            self.town.pass_time(seconds)
            self.town.start(NODES[0])
            self._go_on(then)

    @rule(which=WHICH, drain=st.sampled_from([0, 25]), then=THEN)
    def stop(self, which: int, drain: int, then: list[int]) -> None:
        if process := self._one(which):
            process.stop(drain)
            self._go_on(then)

    @rule(which=WHICH, then=THEN)
    def freeze_or_wake(self, which: int, then: list[int]) -> None:
        """Suspend or resume a process, which does not notice the time that passed."""
        if nodes := sorted(self.town.processes):
            process = self.town.processes[nodes[which % len(nodes)]]
            process.frozen = not process.frozen
            self._go_on(then)

    # -- commits -------------------------------------------------------------------------------------------

    @rule(then=st.lists(WHICH, min_size=1, max_size=25))
    def proceed(self, then: list[int]) -> None:
        self._go_on(then)

    @rule(which=WHICH, fate=FATES, then=THEN)
    def suffer(self, which: int, fate: Fate, then: list[int]) -> None:
        if ready := self.town.ready():
            self.town.proceed(ready[which % len(ready)], fate)
            self._go_on(then)

    @rule(
        words=st.lists(st.lists(st.sampled_from(WORDS), max_size=2), max_size=3),
        races=st.lists(st.tuples(WHICH, WHICH, st.integers(0, 25)), min_size=1, max_size=8),
        then=THEN,
    )
    def race(self, words: list[list[str]], races: list[tuple[int, int, int]], then: list[int]) -> None:
        """Run two transactions concurrently when there is much work; the first pauses after a number of statements."""
        if self.url is None:
            return
        for number, some in enumerate(words):
            self._say(number, "ann", "square", some)
        for process in self._awake():
            process.look()
        self.town.rest()
        for first, second, pause in races:
            if len(writes := self._writes()) > 1:
                leader = writes.pop(first % len(writes))
                self.town.race(leader, writes[second % len(writes)], pause)
        self._go_on(then)

    def _writes(self) -> list[Write]:
        return [one for one in self.town.ready() if isinstance(one, Write)]

    # -- people --------------------------------------------------------------------------------------------

    @rule(
        which=WHICH,
        person=st.sampled_from([*["ann"] * 5, "bob", OWNER]),
        room=st.sampled_from([*["square"] * 4, "yard"]),
        words=st.lists(st.sampled_from(WORDS), max_size=3),
        times=st.integers(1, 3),
        then=THEN,
    )
    def say(self, *, which: int, person: str, room: str, words: list[str], times: int, then: list[int]) -> None:
        for _ in range(times):
            self._say(which, person, room, words)
        self._go_on(then)

    def _say(self, which: int, person: str, room: str, words: list[str]) -> None:
        if process := self._one(which):
            self.town.say(process, person, room, content_of(len(self.town.records.events), words))

    @rule(which=WHICH, events=st.lists(WHICH, min_size=1, max_size=4), then=THEN)
    def bring_again(self, which: int, events: list[int], then: list[int]) -> None:
        known = self.town.records.events
        if known and (process := self._one(which)):
            for event in events:
                self.town.bring(process, known[event % len(known)])
            self._go_on(then)

    @rule(which=WHICH, room=st.sampled_from(["square", "yard"]), then=THEN)
    def shut_up(self, which: int, room: str, then: list[int]) -> None:
        if process := self._one(which):
            process.do(process.inbox.stop(Address(PLATFORM, BOT, room), "ann"))
            self._go_on(then)

    # -- operators -----------------------------------------------------------------------------------------

    @rule(which=WHICH, job=WHICH, verb=st.sampled_from([*["retry_job"] * 3, "cancel_job", "delete_job"]), then=THEN)
    def operate(self, which: int, job: int, verb: str, then: list[int]) -> None:
        fitting = {"failed"} if verb == "retry_job" else LIVE
        likely = [known.id for known in self.town.jobs.jobs.values() if known.status in fitting]
        known = likely or list(self.town.jobs.jobs)
        if known and (process := self._one(which)):
            process.do(getattr(process.operations, verb)(known[job % len(known)]))
            self._go_on(then)

    @rule(which=WHICH, wait=WHICH, decision=st.sampled_from(["approve", "reject"]), then=THEN)
    def answer(self, which: int, wait: int, decision: str, then: list[int]) -> None:
        personal = "SELECT * FROM waits WHERE kind IN ('approval', 'review', 'user') "
        asked = self.town.backend.rows(personal + "AND answered_at IS NULL") or self.town.backend.rows(personal)
        if asked and (process := self._one(which)):
            chosen = asked[wait % len(asked)]
            word = self.town.word_about(chosen, decision)
            process.do(process.operations.answer_wait(chosen["id"], word, OWNER_IN_PERSON))
            self._go_on(then)

    # -- time ----------------------------------------------------------------------------------------------

    @rule(seconds=SECONDS, then=THEN)
    def pass_time(self, seconds: float, then: list[int]) -> None:
        self.town.pass_time(seconds)
        self._go_on(then)

    @rule(seconds=JUMPS, then=THEN)
    def jump(self, seconds: float, then: list[int]) -> None:
        self.town.wall.move(seconds)
        self._go_on(then)

    # -- the job store alone -------------------------------------------------------------------------------

    @rule(
        lane=st.sampled_from(["a", "a", "b", None]),
        kind=st.sampled_from(PLAIN),
        key=st.sampled_from([None, None, ("k", True), ("l", False)]),
        delay=st.sampled_from([0, 0, 1, 5_000, 40_000]),
        priority=st.sampled_from([1, 5, 10]),
        does=st.sampled_from(["done", "done", "again", "rest", "give up", "throw"]),
        then=THEN,
    )
    def add(self, *, key: tuple[str, bool] | None, delay: int, does: str, then: list[int], **fields: Any) -> None:
        name, live = key or (None, False)
        now = self.town.wall.now
        run_at = now + delay if delay else None
        new = NewJob(**fields, key=name, key_live=live, run_at=run_at, payload={"does": does}, principal_id="ann")
        self.town.write(lambda tx: tx.jobs.add(new, now))
        self._go_on(then)

    @rule(which=WHICH, delay=st.sampled_from([1, 1_500, 40_000]), then=THEN)
    def defer(self, which: int, delay: int, then: list[int]) -> None:
        """Let a message wait for related ones; a job that has begun, or is over, does not wait."""
        jobs = self.town.jobs.jobs
        if known := [job.id for job in jobs.values() if job.status == "pending"] or list(jobs):
            until = self.town.wall.now + delay
            self.town.write(lambda tx: tx.jobs.defer(known[which % len(known)], until))
        self._go_on(then)

    @rule(which=WHICH, kind=st.sampled_from([Done, Fail, Retry, Snooze, Released]))
    def settle_stale(self, which: int, kind: type[Settlement]) -> None:
        """Check that a lost claim settles nothing, joins nothing and is not held."""
        if not (stale := self._stale()):
            return
        claim, now = stale[which % len(stale)], self.town.wall.now
        assert self.town.write(lambda tx: tx.jobs.held(claim)) is False
        assert self.town.write(lambda tx: tx.jobs.settle(claim, outcome_of(kind, now), now)) is False
        assert self.town.write(lambda tx: tx.jobs.fold(claim, 10, 8_000, now)) == []

    def _stale(self) -> list[Job]:
        """Return the lost claims, first those whose job runs again."""
        jobs = self.town.jobs
        stale = [claim for claim in self.town.claims if not jobs.holds(claim)]
        return [claim for claim in stale if claim.id in jobs.jobs and jobs.jobs[claim.id].status == "running"] or stale

    @rule(age=st.sampled_from([0, 60_000, 3_600_000]), limit=st.sampled_from([1, 500]), then=THEN)
    def prune(self, age: int, limit: int, then: list[int]) -> None:
        self.town.write(lambda tx: tx.jobs.prune(self.town.wall.now - age, limit))
        self._go_on(then)


def words_of(number: int) -> list[str]:
    """Return up to three words, all with about the same frequency."""
    first, second, third = number % 14, number // 14 % 14, number // 196 % 14
    return [WORDS[each] for each in (first, second, third) if each < len(WORDS)]


def outcome_of(kind: type[Settlement], now: int) -> Settlement:
    if kind is Retry:
        return Retry("no", now, needs_model=True)
    if kind is Snooze:
        return Snooze(now, "busy")
    return Fail("x", "x") if kind is Fail else Done() if kind is Done else Released()
