"""Several processes on one database, with the same disturbances and rules as one daemon.

The long form is `python -m tests.crash --kills 200 --workers 4 --webs 2`.
"""

from __future__ import annotations

from tests.crash.campaign import fresh_seed
from tests.crash.chat_episode import ChatPlan, play
from tests.crash.cluster import Shape
from tests.crash.report import explain
from tests.crash.triggers import Observation, Trigger
from tests.crash.variants.build import copied
from tests.postgres import PostgresServer


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
