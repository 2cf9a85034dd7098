"""The short form of `python -m tests.crash rewinds`, a broken build, and the rules for versions on rows with one fault."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.crash.builds import Edit, copied
from tests.crash.campaign import fresh_seed
from tests.crash.disturbances import Instant
from tests.crash.report import explain
from tests.crash.rewinds import RewindPlan, play_one
from tests.crash.version_tree import Exchange, Tree, offences

KILLS = 6
#: A build in which a request that a crash has interrupted is carried out again, so one edit makes two versions.
REPEATS = Edit(
    "arvis/web/http/idempotency.py",
    old="        if endpoint.method not in _REPEATABLE and not endpoint.repeatable:\n",
    new='        if endpoint.method not in _REPEATABLE and "messages" not in endpoint.path:\n',
)
#: Kills, each during a rewind, that are enough to find the fault.
CONTROL_KILLS = 12

FIRST, OLD, NEW = (Exchange(f"id-{n}", f"m-00000{n}", f"Answer {n} to m-00000{n}.") for n in (1, 2, 3))
TREE = Tree([FIRST, NEW], {"v-old": [OLD]}, {"v-old": ("v-old", "id-2"), "v-new": ("v-old", "id-3")})
Rows = list[dict[str, Any]]


def rows() -> tuple[Rows, Rows]:
    """Return the messages and versions of a conversation that was rewound once."""
    messages: Rows = []
    for place, (exchange, version) in enumerate(((FIRST, None), (OLD, "v-old"), (NEW, None)), 1):
        common = {"version_id": version, "place": place, "turn": place if version is None else None}
        reply = f"r-{place}"
        messages += [
            common | {"id": exchange.message_id, "role": "user", "content": exchange.token, "answered_by": reply},
            common | {"id": reply, "role": "assistant", "content": exchange.reply, "answered_by": None},
        ]
    versions: Rows = [
        {"id": "v-old", "point_id": "v-old", "message_id": "id-2", "active": 0},
        {"id": "v-new", "point_id": "v-old", "message_id": "id-3", "active": 1},
    ]
    return messages, versions


def lose_a_version(messages: Rows, versions: Rows) -> None:
    del messages[2:4]


def ask_twice(messages: Rows, versions: Rows) -> None:
    messages.append(messages[4] | {"id": "id-9", "answered_by": None})


def two_are_active(messages: Rows, versions: Rows) -> None:
    versions[0]["active"] = 1


def activate_the_other(messages: Rows, versions: Rows) -> None:
    versions[0]["active"], versions[1]["active"] = 1, 0


def one_too_many(messages: Rows, versions: Rows) -> None:
    versions.append(versions[1] | {"id": "v-9", "message_id": "id-9", "active": 0})


def keep_active(messages: Rows, versions: Rows) -> None:
    for message in messages[2:4]:
        message |= {"version_id": None, "turn": 2}


def split(messages: Rows, versions: Rows) -> None:
    messages[3] |= {"version_id": None, "turn": 2}


def swap_replies(messages: Rows, versions: Rows) -> None:
    messages[2]["answered_by"], messages[4]["answered_by"] = "r-3", "r-2"


def keep_the_turn(messages: Rows, versions: Rows) -> None:
    messages[2]["turn"] = 2


def reorder(messages: Rows, versions: Rows) -> None:
    messages[:] = [*messages[4:], *messages[:4]]


def answer_twice(messages: Rows, versions: Rows) -> None:
    messages.append(messages[5] | {"id": "r-9"})


FAULTS: dict[Callable[[Rows, Rows], None], str] = {
    lose_a_version: "no exchange is lost",
    ask_twice: "no message is asked twice",
    two_are_active: "one version of a point is active",
    activate_the_other: "the chosen version is active",
    one_too_many: "each rewind makes one version",
    keep_active: "a message is in its version",
    split: "a reply is in the version of its message",
    swap_replies: "a reply belongs to its message",
    keep_the_turn: "only active messages have a turn",
    reorder: "active messages are in order",
    answer_twice: "a message has one reply",
}


def test_a_correct_conversation_has_no_offence() -> None:
    assert list(offences(TREE, *rows())) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_breaks_its_rule(fault: Callable[[Rows, Rows], None]) -> None:
    messages, versions = rows()
    fault(messages, versions)
    assert FAULTS[fault] in {rule for rule, _ in offences(TREE, messages, versions)}


def test_a_tree_follows_rewinds_and_switches() -> None:
    tree = deepcopy(TREE)
    assert tree.switchable() == ["v-old"]
    tree.switch("v-old")
    assert (tree.path, tree.inactive) == ([FIRST, OLD], {"v-new": [NEW]})
    shown = [
        {"id": "v-1", "pointId": "v-1", "messageId": "id-1"},
        {"id": "v-2", "pointId": "v-1", "messageId": "id-4"},
    ]
    tree.rewind(0, shown[1], shown)
    assert (tree.path, tree.inactive["v-1"], tree.switchable()) == ([], [FIRST, OLD], [])


async def test_a_few_kills_lose_no_version_and_repeat_no_effect() -> None:
    with copied() as code:
        result = await play_one(RewindPlan(fresh_seed(), KILLS, code))
    print(result)
    assert not result.violations, explain(result)
    assert result.kills == KILLS
    assert result.operations["write"] > 0


@pytest.mark.long
async def test_a_build_that_repeats_interrupted_rewinds_is_caught() -> None:
    with copied(REPEATS) as code:
        result = await play_one(RewindPlan(fresh_seed(), CONTROL_KILLS, code, instant=Instant.REWOUND))
    assert result.violations, result
