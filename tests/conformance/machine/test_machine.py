"""Short histories of the machine on both databases, and the histories that once failed.

`python -m tests.conformance.machine` runs long ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from arvis.graphs.compaction.scripts import DUE_MESSAGES
from tests.conformance.machine.calm import come_to_rest, drain
from tests.conformance.machine.invariants import check
from tests.conformance.machine.machine import Tally
from tests.conformance.machine.process import OWNER_IN_PERSON, OutsideCall
from tests.conformance.machine.running import run_histories
from tests.conformance.machine.script import content_of
from tests.conformance.machine.tables import Violation
from tests.conformance.machine.town import Town
from tests.parts import LONG

NODE = "node-1"


def test_histories_on_sqlite(figures: list[str]) -> None:
    tally = Tally()
    run_histories(None, tally, histories=25 if LONG else 15, steps=40)
    figures.append(f"state machine on SQLite: {tally.steps} steps, {tally.happened.total()} calls of the job store")


def test_histories_on_postgres(postgres_url: str, figures: list[str]) -> None:
    tally = Tally()
    run_histories(postgres_url, tally, histories=8 if LONG else 5, steps=40)
    figures.append(f"state machine on PostgreSQL: {tally.steps} steps, {tally.happened['race']} races")


# -- histories that once failed ----------------------------------------------------------------------------


@pytest.fixture
def town() -> Iterator[Town]:
    """Start a process that has no work."""
    with closing(Town(None, safe_resend=False)) as town:
        town.start(NODE)
        drain(town)
        yield town


def say(town: Town, *words: str) -> None:
    number = len(town.records.events)
    town.say(town.processes[NODE], "ann", "square", content_of(number, list(words)))


def until_outside(town: Town, what: str) -> OutsideCall:
    """Proceed until a process is about to make this external call."""
    for _ in range(100):
        for one in town.waiting:
            if isinstance(one, OutsideCall) and one.what.startswith(what):
                return one
        town.proceed(town.waiting[0])
        check(town)
    raise AssertionError(f"no process calls {what}")


def die_and_begin_again(town: Town) -> None:
    town.kill(NODE)
    town.start(NODE)
    drain(town)
    check(town)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["call", "approve"], id="a child that sleeps has not ended"),
        pytest.param(["call", "rest"], id="nor one that rests"),
        pytest.param(["split"], id="questions end with what asked them"),
        pytest.param(["split", "call", "approve"], id="and so do children"),
        pytest.param(["split", "throw"], id="a branch that fails takes no other one with it"),
    ],
)
def test_it_comes_to_its_end(town: Town, words: list[str]) -> None:
    say(town, *words)
    drain(town)
    check(town)
    come_to_rest(town)


def test_a_conversation_that_grows_too_long_comes_to_its_end(town: Town) -> None:
    """No compaction is possible here: its job fails, and its execution with it."""
    for _ in range(DUE_MESSAGES // 2 + 1):
        say(town)
        drain(town)
    check(town)
    come_to_rest(town)
    assert "compact" in {job.new.kind for job in town.jobs.jobs.values()}


def test_a_word_about_an_interrupted_payment_holds_for_one_start(town: Town) -> None:
    """The process dies twice while it pays: before the payment, and again after the payment that a person has
    allowed to repeat."""
    say(town, "pay")
    until_outside(town, "pay")
    die_and_begin_again(town)
    (wait,) = town.backend.rows("SELECT * FROM waits")
    process = town.processes[NODE]
    process.do(process.operations.answer_wait(wait["id"], town.word_about(wait, "approve"), OWNER_IN_PERSON))
    town.rest()
    town.proceed_and_die(until_outside(town, "pay"))
    come_to_rest(town)


def test_a_payment_in_a_new_branch_is_found_again(town: Town) -> None:
    say(town, "split")
    town.proceed_and_die(until_outside(town, "pay"))
    come_to_rest(town)


def test_a_lease_from_before_the_clock_was_put_back_ends_soon(town: Town) -> None:
    """A process of another node dies, and the clock is set back."""
    town.start("node-2")
    drain(town)
    town.say(town.processes["node-2"], "ann", "square", content_of(0, []))
    until_outside(town, "model")
    town.kill("node-2")
    town.wall.move(-90_000)
    come_to_rest(town)
    (job,) = [job for job in town.jobs.jobs.values() if job.new.message_id and not job.new.delivery_id]
    assert (job.status, job.crashes) == ("done", 1)


# -- the machine itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lie",
    [
        "UPDATE jobs SET attempts = 1",
        "UPDATE jobs SET status = 'pending' WHERE kind = 'message'",
        "INSERT INTO lanes (lane, tail, live) VALUES ('nobody', 1, 1)",
        "UPDATE messages SET status = 'accepted' WHERE role = 'user'",
        "UPDATE messages SET superseded = 1 WHERE role <> 'user'",
        "UPDATE messages SET content = 'something else' WHERE role <> 'user'",
        "DELETE FROM messages WHERE role = 'user'",
        "UPDATE messages SET execution_id = NULL WHERE role = 'user'",
        "UPDATE executions SET status = 'running'",
        "UPDATE executions SET status = 'paused'",
        "UPDATE deliveries SET state = 'pending'",
        "DELETE FROM deliveries",
    ],
)
def test_what_is_wrong_is_seen(town: Town, lie: str) -> None:
    """A machine that compares nothing would accept everything."""
    say(town)
    drain(town)
    check(town)
    town.backend.rows("DELETE FROM delivery_parts")  # parts would keep the deliveries from being deleted
    town.backend.rows(lie)
    with pytest.raises(Violation):
        check(town)


def test_a_second_payment_is_seen(town: Town) -> None:
    say(town, "pay")
    call = until_outside(town, "pay")
    check(town)
    town.records.happened[call.what] += 2
    with pytest.raises(Violation, match="happened 2 times"):
        check(town)


def test_a_call_that_answers_otherwise_is_seen(town: Town) -> None:
    """Every call of a committed transaction must have the model's result."""
    say(town)
    town.proceed(town.waiting[0])
    (job,) = town.jobs.jobs.values()
    job.claim += 1
    with pytest.raises(Violation, match="settle"):
        drain(town)


def test_whoever_waits_for_ever_is_seen(town: Town) -> None:
    say(town)
    town.proceed(town.waiting[0])
    town.waiting.clear()
    with pytest.raises(Violation, match="never"):
        come_to_rest(town)
