"""The drill of `python -m tests.accounts`: every turn is answered, and soon after an account could."""

from __future__ import annotations

import pytest

from tests.accounts.drill import jump

#: Seconds.
GATE = 2.0


@pytest.mark.parametrize("seed", [0, 1])
def test_turns_are_answered_as_soon_as_any_account_can(seed: int) -> None:
    report = jump(turns=10_000, seed=seed)
    assert report.failed == []
    assert report.percentile(0.95) <= GATE, "\n".join(report.lines())
