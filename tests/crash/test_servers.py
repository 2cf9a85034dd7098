"""The PostgreSQL server is killed under load. The long form is `python -m tests.crash servers --kills 300
--server-kills 30`."""

from __future__ import annotations

import pytest

from tests.crash.campaign import fresh_seed
from tests.crash.chat_episode import play
from tests.crash.cluster import Shape
from tests.crash.report import explain
from tests.crash.servers import Disturbances, plan_of, plans_of
from tests.crash.variants.build import copied
from tests.parts import require
from tests.unsteady_postgres import unsteady_postgres


@pytest.mark.parametrize("disturbances", [pytest.param(Disturbances(0, 2), marks=pytest.mark.long), Disturbances(2, 1)])
async def test_kills_of_the_server_are_charged_to_no_job(disturbances: Disturbances) -> None:
    with unsteady_postgres(require("initdb"), durable=True) as unsteady, copied() as code:
        result = await play(plan_of(unsteady, code, fresh_seed(), disturbances, Shape(0, webs=1, workers=2)))
    assert not result.violations, explain(result)
    assert result.messages > 0


def test_a_campaign_has_as_many_disturbances_as_were_asked_for() -> None:
    plans = plans_of(300, 30)
    assert (sum(each.kills for each in plans), sum(each.servers for each in plans)) == (300, 30)
    assert any(each.kills == 0 for each in plans)
