"""Short forms of stops, fast restarts, a prompt that kills, a second daemon, a cluster, and kills of its server.

The long forms are `python -m tests.crash --stops 50`, `--restarts 200`, `--poison`, `--kills 200 --workers 4 --webs 2` and
`python -m tests.crash servers`.
"""

from __future__ import annotations

import pytest

from tests.crash.builds import Edit, copied
from tests.crash.campaign import fresh_seed
from tests.crash.chat_episode import ChatPlan, play
from tests.crash.cluster import Shape
from tests.crash.disturbances import ROW, Disturbance, Instant
from tests.crash.report import explain
from tests.crash.servers import Disturbances, plan_of, plans_of
from tests.crash.triggers import Observation, Trigger
from tests.parts import require
from tests.postgres import PostgresServer
from tests.unsteady_postgres import unsteady_postgres

#: Pauses after a crash, a tenth of the daemon's own, with which the prompt would take 36 seconds.
SHORT_PAUSES = Edit(
    "arvis/store/repositories/jobs.py",
    old="delay_2=1000 * second,\n            delay_3=1000 * third,\n            delay_4=1000 * fourth,",
    new="delay_2=100 * second,\n            delay_3=100 * third,\n            delay_4=100 * fourth,",
)


async def test_a_stop_under_load_loses_nothing_and_counts_as_no_crash() -> None:
    with copied() as code:
        result = await play(ChatPlan(fresh_seed(), 2, code, disturbance=Disturbance.STOP, window=1.0))
    assert len(result.drains) >= 1, "the clean stop at the end of an episode counts, too"
    assert not result.violations, explain(result)


@pytest.mark.long
async def test_a_row_of_fast_restarts_fails_no_job_and_a_second_daemon_exits() -> None:
    with copied() as code:
        result = await play(ChatPlan(fresh_seed(), ROW + 1, code, instant=Instant.RESTARTS))
    assert result.kills == ROW + 1
    assert not result.violations, explain(result)


async def test_a_prompt_that_kills_is_given_up_alone() -> None:
    """Jobs that run beside it crash as often at first, but they are answered in the end."""
    with copied(SHORT_PAUSES) as code:
        result = await play(ChatPlan(fresh_seed(), 0, code, poison=True, rate=2.0))
    assert not result.violations, explain(result)


async def test_kills_in_a_cluster_lose_nothing_and_repeat_nothing(postgres: PostgresServer) -> None:
    with copied() as code:
        server = postgres.url("postgres")
        shape = Shape(0, webs=2, workers=2)
        result = await play(ChatPlan(fresh_seed(), 3, code, shape=shape, window=1.0, server=server))
    assert result.kills >= 3
    assert not result.violations, explain(result)


def test_one_daemon_is_the_cluster_of_one() -> None:
    assert Shape().places == [("daemon", "daemon")]
    assert Shape(0, webs=2, workers=1).places == [("web", "web-1"), ("web", "web-2"), ("worker", "worker")]


def test_a_trigger_falls_once_and_only_for_its_message() -> None:
    trigger, seen = Trigger(), list[Observation]()
    mine = Observation("web-1", ("m-000001", "m-000002"))
    assert not trigger.fire(mine)
    trigger.arm(seen.append, token="m-000002")
    assert not trigger.fire(Observation("web-1", ("m-000001",)))
    assert trigger.fire(mine)
    assert not trigger.fire(mine)
    assert seen == [mine]


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
