"""A prepared call that was stored between two nodes is the same call."""

from __future__ import annotations

import json

import pytest

from arvis.domain.money import Spender
from arvis.domain.runs import Turn
from arvis.graphs.agent.prompt import CallingAgent, PreparedCall
from arvis.ports.conversations import Calibration
from tests.context_kit import AGENT


@pytest.mark.parametrize("calibration", [None, Calibration("demo/demo", (1.0, 2.0), 3, 4)])
@pytest.mark.parametrize("plugins", [None, {"names": ["one"]}])
def test_a_stored_call_is_the_same(calibration: Calibration | None, plugins: dict[str, list[str]] | None) -> None:
    call = PreparedCall(
        agent=CallingAgent.of(AGENT), system="s", changing="c", now="n", newest="m2", group=True, reply=1, room=2,
        most=3, turns=[Turn("user", "Hello", messages=("m1", "m2")), Turn("assistant", "Hi")],
        calibration=calibration, spender=Spender(execution_id="e", visit="v", turn="t", job_id="j", agent_id="a"), plugins=plugins, pictures=[["a", "b", "c"]],
    )  # fmt: skip
    found = PreparedCall.from_json(json.loads(json.dumps(call.to_json())))
    assert found == call
    assert [turn.messages for turn in found.turns] == [("m1", "m2"), ()]
