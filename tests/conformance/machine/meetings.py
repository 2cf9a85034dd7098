"""Pairs of actions that people or processes do at the same time, and that meet in the database.

Each meeting prepares a town so that the two transactions wait to run: the last two of `town.waiting`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from arvis.domain.messages import Address
from arvis.ports.operations import WaitAnswer
from arvis.store.sql.session import Row
from arvis.turns import cancellation
from tests.conformance.machine.calm import come_to_rest, drain
from tests.conformance.machine.invariants import check
from tests.conformance.machine.process import BOT, OWNER_IN_PERSON, PLATFORM, Process, Write
from tests.conformance.machine.script import content_of
from tests.conformance.machine.town import Event, Town

YES = WaitAnswer("approve")


class Meeting:
    """A room in a town with two processes, `here` and `there`, and no other activity."""

    def __init__(self, town: Town, room: str) -> None:
        self.town = town
        self.room = room
        self.here, self.there = town.processes.values()

    def say(self, process: Process, *words: str, person: str = "ann") -> Event:
        number = len(self.town.records.events)
        self.town.say(process, person, self.room, content_of(number, list(words)))
        return self.town.records.events[number]

    def said(self, *words: str, person: str = "ann") -> Event:
        """Send a message, and carry out all work that follows without time passing."""
        event = self.say(self.here, *words, person=person)
        drain(self.town)
        return event

    def until(self, waits: Callable[[], bool]) -> None:
        while not waits():
            self.town.proceed(self.town.waiting[0])

    def calling(self) -> bool:
        return any(not isinstance(one, Write) for one in self.town.waiting)

    def rows(self, table: str) -> list[Row]:
        return list(self.town.backend.rows(f"SELECT * FROM {table} ORDER BY id"))

    def answer(self, process: Process) -> None:
        """Approve the newest question."""
        wait = [row for row in self.rows("waits") if row["kind"] != "child"][-1]
        process.do(process.operations.answer_wait(wait["id"], YES, OWNER_IN_PERSON))

    def cancel_last_job(self, process: Process) -> None:
        process.do(process.operations.cancel_job(self.rows("jobs")[-1]["id"]))

    def shut_up(self, process: Process) -> None:
        process.do(process.inbox.stop(Address(PLATFORM, BOT, self.room), "ann"))


def the_same_event(meeting: Meeting) -> None:
    event = meeting.say(meeting.here)
    meeting.town.bring(meeting.there, event)


def the_first_two_messages(meeting: Meeting) -> None:
    meeting.say(meeting.here)
    meeting.say(meeting.there, person="bob")


def an_answer_and_a_claim(meeting: Meeting) -> None:
    """One branch waits for an answer, while the retry of another one is due."""
    meeting.said("split", "timeout", "ask")
    meeting.town.wall.move(300)
    meeting.answer(meeting.here)
    meeting.there.look()


def an_answer_and_an_end(meeting: Meeting) -> None:
    """One branch waits for an answer, while another one ends the execution."""
    meeting.say(meeting.here, "split")
    meeting.until(meeting.calling)
    meeting.until(lambda: not meeting.calling())
    meeting.until(meeting.calling)
    meeting.until(lambda: not meeting.calling())
    meeting.answer(meeting.there)


def two_answers_in_words(meeting: Meeting) -> None:
    meeting.said("ask")
    meeting.say(meeting.here)
    meeting.say(meeting.there)


def an_answer_and_its_deadline(meeting: Meeting) -> None:
    meeting.said("approve")
    meeting.town.wall.move(3_700)
    meeting.answer(meeting.here)
    meeting.there.look()


def a_stop_and_an_end(meeting: Meeting) -> None:
    meeting.say(meeting.here)
    meeting.until(meeting.calling)
    meeting.until(lambda: not meeting.calling())
    meeting.shut_up(meeting.there)


def a_fold_and_a_cancel(meeting: Meeting) -> None:
    meeting.say(meeting.here, person="bob")
    meeting.until(meeting.calling)
    (call,) = meeting.town.waiting
    for _ in range(2):
        meeting.say(meeting.here)
        meeting.town.proceed(meeting.town.waiting[-1])
    meeting.town.proceed(call)
    meeting.town.proceed(meeting.town.waiting[0])  # the answer to bob; a turn begins that folds the other message
    meeting.cancel_last_job(meeting.there)


def a_parent_and_its_child(meeting: Meeting) -> None:
    """The child ends while its parent is cancelled."""
    meeting.say(meeting.here, "call")
    meeting.town.proceed(meeting.town.waiting[0])
    meeting.town.proceed(meeting.town.waiting[0])
    parent = meeting.rows("executions")[-2]["id"]
    meeting.there.do(meeting.there.store.write(cancellation.cancel_turn, parent, "ann", meeting.town.wall.now))


def two_rescues(meeting: Meeting) -> None:
    """A process dies, and two others rescue its job."""
    meeting.say(meeting.there)
    meeting.until(meeting.calling)
    node = meeting.there.node
    meeting.town.kill(node)
    meeting.town.wall.move(40)
    meeting.town.start(node)
    for process in meeting.town.processes.values():
        process.loop.pass_time(11)


def a_retry_and_a_message(meeting: Meeting) -> None:
    meeting.said("refused")
    (*_, job) = [row for row in meeting.rows("jobs") if row["status"] == "failed"]
    meeting.here.do(meeting.here.operations.retry_job(job["id"]))
    meeting.say(meeting.there)


MEETINGS = (
    the_same_event,
    the_first_two_messages,
    an_answer_and_a_claim,
    an_answer_and_an_end,
    two_answers_in_words,
    an_answer_and_its_deadline,
    a_stop_and_an_end,
    a_fold_and_a_cancel,
    a_parent_and_its_child,
    two_rescues,
    a_retry_and_a_message,
)


def hold(town: Town, meet: Callable[[Meeting], None], stride: int) -> None:
    """Race the two transactions, the first pausing before every `stride`-th of its statements; then exchange them."""
    for swapped in (False, True):
        for pause in count(0, stride):
            meet(Meeting(town, f"room {swapped} {pause}"))
            town.rest()
            first, second = [one for one in town.waiting if isinstance(one, Write)][-2:]
            met = town.race(second, first, pause) if swapped else town.race(first, second, pause)
            check(town)
            drain(town)
            if not met:
                break
    come_to_rest(town)
