"""The negative controls: the harness must find the fault of every broken build."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crash.builds import copied
from tests.crash.campaign import fresh_seed
from tests.crash.chat_episode import play
from tests.crash.report import explain
from tests.crash.variants import VARIANTS

#: The builds of the short form, one for each kind of fault. `make long` plays all.
SHORT = frozenset({"ack_before_commit", "effects_outside_commit", "no_inbox_key", "send_before_commit"})


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SHORT else pytest.mark.long) for name in sorted(VARIANTS)]
)
async def test_a_broken_build_is_caught(name: str, request: pytest.FixtureRequest) -> None:
    variant = VARIANTS[name]
    server = request.getfixturevalue("postgres").url("postgres") if variant.needs_server else None
    with copied(*variant.edits) as code:
        result = await play(replace(variant.plan, seed=fresh_seed(), code=code, server=server))
    assert variant.is_caught(result), explain(result)


def test_a_control_takes_five_disturbances_at_most() -> None:
    assert max(variant.plan.disturbances for variant in VARIANTS.values()) <= 5
