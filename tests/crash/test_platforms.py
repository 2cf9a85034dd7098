"""The shipped daemon with bots on Discord, Telegram and Slack under kill -9, and a broken build that proves that this
test can fail.

The long campaign is `python -m tests.crash.platforms --kills 300`.
"""

from __future__ import annotations

import pytest

from tests.crash.campaign import CHECKOUT, Case, fresh_seed
from tests.crash.platform_report import explain
from tests.crash.platform_variants import NO_NONCE
from tests.crash.platforms import Campaign
from tests.crash.variants.build import copied, edited

KILLS = 6


async def test_a_few_kills_lose_nothing_on_three_platforms() -> None:
    case = Case(fresh_seed(), KILLS)
    print(f"seed {case.seed}")
    with copied(CHECKOUT) as code:
        result = await Campaign(code=code, window=2.0).play(case)
    assert not result.violations, explain([result])
    assert result.kills == case.blows
    assert min(result.messages[platform] for platform in ("discord", "slack", "telegram")) > case.blows


@pytest.mark.long
async def test_a_build_without_nonces_is_caught() -> None:
    with edited(NO_NONCE.edits, CHECKOUT) as code:
        campaign = Campaign(code=code, aim=NO_NONCE.aim, troubles=False)
        result = await campaign.play(Case(fresh_seed(), NO_NONCE.kills))
    assert NO_NONCE.caught_by.__name__ in {violation.rule for violation in result.violations}, explain([result])
    assert result.kills == NO_NONCE.kills
