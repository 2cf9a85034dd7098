"""The conditions that must hold after every step, checked against the rows and the facts known outside of the
database."""

from __future__ import annotations

from collections import Counter, defaultdict

from arvis.domain.messages import MessageStatus
from tests.conformance.machine.job_model import LIVE
from tests.conformance.machine.tables import FINAL, OPEN, Rows, check_jobs, check_lanes, demand, look
from tests.conformance.machine.town import Town


def check(town: Town) -> Rows:
    rows = look(town.backend)
    demand(not town.broken, town.broken)
    check_jobs(town.jobs, rows)
    check_lanes(town.jobs, rows)
    check_messages(town, rows)
    check_replies(rows)
    check_executions(rows)
    check_order(town, rows)
    check_deliveries(town, rows)
    check_effects(town)
    return rows


def check_messages(town: Town, rows: Rows) -> None:
    """Check that every acknowledged event is one message, and that the message stays in its turn."""
    events = Counter(row["event_id"] for row in rows.asked)
    demand(all(times == 1 for times in events.values()), f"an event has several messages: {events}")
    ids = {row["id"] for row in rows.asked}
    for event in town.records.events:
        demand(
            event.message_id is None or event.message_id in ids, f"{event} was acknowledged, but its message is missing"
        )
    for row in rows.asked:
        turn = town.turn_of.setdefault(row["id"], row["execution_id"])
        demand(row["execution_id"] == turn, f"{row['id']} is in {row['execution_id']}, not {turn}")
        demand(turn in rows.executions, f"the turn of {row['id']} is gone")


def check_replies(rows: Rows) -> None:
    """Check that a turn has one reply or notice, that its messages are linked to it, and that it answers all of
    them."""
    replies = {row["execution_id"]: row for row in rows.said}
    demand(len(replies) == len(rows.said), "a turn with two replies")
    contents: dict[str, list[str]] = defaultdict(list)
    for row in sorted(rows.asked, key=lambda row: row["position"]):
        reply = replies.get(row["execution_id"])
        over = row["status"] in FINAL
        demand((row["answered_by"] is not None) == over == (row["turn"] is not None), f"half ended: {dict(row)}")
        demand(over == (reply is not None), f"{row['id']} is {row['status']} with the reply {reply and dict(reply)}")
        demand(reply is None or row["answered_by"] == reply["id"], f"{row['id']} is linked to another reply")
        contents[row["execution_id"]].append(row["content"])
    for turn, reply in replies.items():
        if reply["role"] == "assistant":
            answered = reply["content"].split(" | ")
            demand(answered == contents[turn], f"asked {contents[turn]}, answered {answered}")


def check_executions(rows: Rows) -> None:
    """Check that an open execution has a live job, or waits for a person, a time or a child that is still open."""
    live = Counter(row["execution_id"] for row in rows.jobs.values() if row["status"] in LIVE)
    children = {row["parent_wait"]: row for row in rows.executions.values() if row["parent_wait"]}
    for execution in rows.executions.values():
        cursors = rows.cursors.get(execution["id"], ())
        if execution["status"] not in OPEN:
            demand(
                execution["status"] == "failed" or not cursors, f"{execution['id']} has ended and still has positions"
            )
            continue
        if live[execution["id"]]:
            continue
        demand(execution["status"] == "paused", f"{execution['id']} is running without a live job")
        waits = [rows.waits[cursor["wait_id"]] for cursor in cursors if cursor["wait_id"]]
        demand(waits and len(waits) == len(cursors), f"{execution['id']} is paused without a wait")
        for wait in waits:
            demand(wait["answered_at"] is None, f"{execution['id']} has not received the answer to {wait['prompt']}")
            child = children.get(wait["id"])
            demand(
                wait["kind"] != "child" or (child and child["status"] in OPEN), f"{execution['id']} has lost a child"
            )
    closed = {row["id"] for row in rows.executions.values() if row["status"] in {"done", "cancelled"}}
    left = [row["id"] for row in rows.waits.values() if row["execution_id"] in closed and row["answered_at"] is None]
    demand(not left, f"open questions of ended executions: {left}")


def check_order(town: Town, rows: Rows) -> None:
    """Check that the turns of a conversation end in the order in which they began, except for those that waited or
    were retried."""
    late = {row["execution_id"] for row in rows.waits.values()} | town.records.retried
    ended: dict[str, int] = {}
    for row in rows.asked:  # in the order of their ids, which grow
        if row["turn"] is None or row["execution_id"] in late or row["status"] == MessageStatus.CANCELLED:
            continue
        place = row["conversation_id"]
        demand(row["turn"] >= ended.get(place, 0), f"{row['id']} was overtaken")
        ended[place] = row["turn"]


def check_deliveries(town: Town, rows: Rows) -> None:
    """Check that a reply has one delivery, that a job carries the delivery until its end, and that it is sent once."""
    of = Counter(row["message_id"] for row in rows.deliveries.values())
    demand(all(times == 1 for times in of.values()), f"two deliveries of one message: {of}")
    said = {row["id"] for row in rows.messages if row["role"] != "user"}
    demand(said == of.keys(), f"replies without a delivery: {said - of.keys()}")
    carried = {row["delivery_id"] for row in rows.jobs.values() if row["status"] in LIVE}
    for row in rows.deliveries.values():
        if row["state"] in {"pending", "sending"}:
            demand(row["id"] in carried, f"{row['id']} is {row['state']} and no job sends it")
        elif row["state"] == "sent":
            demand(row["id"] in town.records.sent, f"{row['id']} was never sent")
    if not town.safe_resend:
        sent = Counter(town.records.sent)
        for delivery_id, times in sent.items():
            again = delivery_id in town.records.retried or town.records.excused[f"send {delivery_id}"]
            demand(times == 1 or again, f"{delivery_id} was sent {times} times")


def check_effects(town: Town) -> None:
    """Check that a payment happens once, unless its process had lost its lease without noticing it."""
    records = town.records
    for what, times in records.happened.items():
        if what.startswith("pay "):
            demand(times <= 1 + records.excused[what], f"{what} happened {times} times")
