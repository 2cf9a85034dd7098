"""The shipped daemon with bots on Discord, Telegram and Slack under kill -9, and a broken build that proves that this
test can fail.

The long campaign is `python -m tests.crash platforms --kills 300`.
"""

from __future__ import annotations

import pytest

from tests.crash.builds import Edit, copied
from tests.crash.campaign import fresh_seed
from tests.crash.platform_history import DISCORD
from tests.crash.platform_oracle import a_keyed_platform_shows_it_once
from tests.crash.platforms import PlatformPlan, play_one
from tests.crash.report import explain

KILLS = 6
#: A build whose messages have no key, so Discord shows an interrupted message twice.
NO_NONCE = Edit(
    "connectors/discord/outgoing.py",
    old='    return body | {"nonce": nonce, "enforce_nonce": True} | reply\n',
    new="    return body | reply\n",
)
#: Kills, each just as something is sent on Discord, that are enough to find the fault.
CONTROL_KILLS = 3


async def test_a_few_kills_lose_nothing_on_three_platforms() -> None:
    with copied() as code:
        result = await play_one(PlatformPlan(fresh_seed(), KILLS, code, window=2.0))
    print(result)
    assert not result.violations, explain(result)
    assert result.kills == KILLS
    assert min(result.messages[platform] for platform in ("discord", "slack", "telegram")) > KILLS


@pytest.mark.long
async def test_a_build_without_nonces_is_caught() -> None:
    with copied(NO_NONCE) as code:
        result = await play_one(
            PlatformPlan(fresh_seed(), CONTROL_KILLS, code, kill_at_send_on=DISCORD, failures=False)
        )
    broken = {violation.rule for violation in result.violations}
    assert a_keyed_platform_shows_it_once.__name__ in broken, explain(result)
    assert result.kills == CONTROL_KILLS
