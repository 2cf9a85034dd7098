"""The short form of the fault matrix: some calls of each connector, each with one kind of fault.

The long form, `python -m tests.platforms.faults`, plays all calls with all kinds.
"""

from __future__ import annotations

import pytest

from tests.platforms.faults.case import Case
from tests.platforms.faults.matrix import calls, run
from tests.platforms.faults.platforms import PLATFORMS
from tests.platforms.faults.wire import Fault, Kind

#: The cases take these in turn, so that each platform meets each kind.
_KINDS = (
    Fault("", Kind.TRUE, carried_out=True),
    Fault("", Kind.HTML),
    Fault("", Kind.INSIDE, carried_out=True),
    Fault("", Kind.CUT),
    Fault("", Kind.S401),
    Fault("", Kind.NOTHING_LEFT, carried_out=True),
    Fault("", Kind.S429),
    Fault("", Kind.NULLS, carried_out=True),
    Fault("", Kind.S500),
    Fault("", Kind.LIST, carried_out=True),
)
_PATIENCE = 60
#: Calls of a platform that one run plays; the full matrix plays all.
_MOST = 8


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_no_wrong_answer_stops_a_bot(platform: str) -> None:
    known = (await calls(platform))[::2][:_MOST]
    faults = [(call, _KINDS[number % len(_KINDS)]) for number, call in enumerate(known)]
    chosen = [Case(platform, Fault(call, fault.kind, fault.carried_out)) for call, fault in faults]
    found = await run(chosen, patience=_PATIENCE, parallel=8)
    assert sum(outcome.record.hits > 0 for outcome in found) >= len(known) - 2
    assert {outcome.record.case.label: outcome.problems for outcome in found if outcome.problems} == {}
