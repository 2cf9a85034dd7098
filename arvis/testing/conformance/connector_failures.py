"""Cases for sends that fail (F2)."""

from __future__ import annotations

import asyncio
import time

import pytest

from arvis.ports.connector import Connector, Guarantee, SendError
from arvis.testing.conformance.connector_incoming import StageCases, need
from arvis.testing.conformance.connector_parts import delivery, failure_of, parts_of, send_all, send_as_promised
from arvis.testing.conformance.connector_stage import Stage

#: More refusals than any client library retries.
_MANY = 100
#: Guarantees under which a reply appears in the chat once, whatever happens during the send.
_ONCE = {Guarantee.IDEMPOTENT, Guarantee.RECONCILED, Guarantee.RESERVE_THEN_FILL}


async def _refused(connector: Connector, stage: Stage) -> SendError:
    [part] = parts_of(connector, delivery(stage.address(direct=True), "hello"))
    error = await failure_of(connector, part)
    assert error is not None
    assert str(error)
    return error


class FailureCases(StageCases):
    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    async def test_what_was_cut_off_stands_there_once(self, *, after: bool) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector, address = await stage.connector(), stage.address(direct=True)
            stage.reset_sends(1, after=after)
            [part] = parts_of(connector, delivery(address, "only once"))
            receipt = await send_as_promised(connector, part)
            shown = [one for one in stage.shown(address) if "only once" in one.text]
            assert receipt.platform_id in {one.platform_id for one in shown}
            if connector.capabilities.guarantee in _ONCE or not after:
                assert len(shown) == 1

    async def test_a_send_that_may_have_arrived_is_said_to_be_uncertain(self) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector = await stage.connector()
            if connector.capabilities.guarantee is Guarantee.IDEMPOTENT:
                pytest.skip("sending again is harmless here")
            stage.reset_sends(_MANY, after=True)
            error = await _refused(connector, stage)
            stage.reset_sends(0, after=True)
            assert error.uncertain
            assert not error.permanent

    async def test_other_parts_are_other_messages(self) -> None:
        async with self.stage() as stage:
            connector, address = await stage.connector(), stage.address(direct=True)
            for number in (1, 2):
                await send_all(connector, delivery(address, "the same words", number=number))
            assert len(stage.shown(address)) == 2

    async def test_nothing_is_sent_before_the_platform_wants_it(self) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector, address = await stage.connector(), stage.address(direct=True)
            stage.refuse_sends(1, status=429, retry_after=1.0)
            [part] = parts_of(connector, delivery(address, "patience"))
            started = time.monotonic()
            if (error := await failure_of(connector, part)) is not None:
                assert not error.permanent
                assert error.retry_after is not None
                assert 1.0 <= error.retry_after <= 3.0
                await asyncio.sleep(error.retry_after)
                await connector.send(part)
            first, second = [at for at in stage.sends if at >= started]
            assert second - first >= 1.0
            assert len(stage.shown(address)) == 1

    async def test_a_long_pause_is_left_to_the_queue(self) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector = await stage.connector()
            stage.refuse_sends(1, status=429, retry_after=300.0)
            async with asyncio.timeout(10):
                error = await _refused(connector, stage)
            assert error.retry_after is not None
            assert 300.0 <= error.retry_after <= 303.0
            assert not error.permanent

    @pytest.mark.parametrize("status", [500, 503])
    async def test_trouble_of_the_platform_passes(self, status: int) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector, address = await stage.connector(), stage.address(direct=True)
            stage.refuse_sends(_MANY, status=status)
            error = await _refused(connector, stage)
            assert not error.permanent
            stage.refuse_sends(0)
            await send_all(connector, delivery(address, "hello"))
            assert [one.text.strip() for one in stage.shown(address)] == ["hello"]

    async def test_what_the_platform_never_takes_is_not_tried_again(self) -> None:
        async with self.stage() as stage:
            need(stage, "failures")
            connector = await stage.connector()
            stage.refuse_sends(_MANY, status=400)
            error = await _refused(connector, stage)
            assert error.permanent
            assert not error.gone

    async def test_a_chat_that_takes_nothing_any_more_is_gone(self) -> None:
        async with self.stage() as stage:
            need(stage, "gone")
            connector = await stage.connector()
            stage.close_channel()
            error = await _refused(connector, stage)
            assert error.gone
            assert error.permanent
