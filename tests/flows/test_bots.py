"""Bots start, stop and restart when their rows change; errors of their platforms are reported and survived."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from arvis.bots.registry import seal_all
from arvis.domain.errors import ConfigError
from arvis.domain.messages import Address
from arvis.domain.platforms import BotState
from arvis.ports.connector import BotUp, TokenRefused
from arvis.ports.store import Store
from arvis.process.secrets import SealedBox
from tests.flows.bot_kit import ANN, TOKEN, Puppet, TurnedClock, Workshop, entry, playing
from tests.flows.web_server import eventually

HERE = Address("plain", "main", "room")


def _has_run(puppet: Puppet, times: int) -> bool:
    return puppet.runs == times


def is_pause(seconds: float) -> bool:
    """Return true for a pause of a bot, but not for the check for outages, which sleeps for half a minute."""
    return seconds != 30.0


# -- rows ----------------------------------------------------------------------------------------------------


async def test_a_bot_that_is_entered_comes_up_and_says_who_it_is(store: Store, tmp_path: Path) -> None:
    async with playing(store, tmp_path) as troupe:
        assert troupe.fleet.connector_of(HERE) is None
        await troupe.put(troupe.stored(respond="all"))
        await troupe.until(BotState.STARTING, BotState.RUNNING)
        status = await troupe.status()
        assert (status.state, status.error, status.user_id, status.user_name) == (BotState.RUNNING, "", "7", "Arvis")
        assert troupe.workshop.last.values == {"respond": "all", "token": TOKEN}
        assert troupe.fleet.connector_of(HERE) is troupe.workshop.last
        assert troupe.keeper.health() == {"plain/main": True}


async def test_a_changed_bot_starts_anew_and_others_go_on(store: Store, tmp_path: Path) -> None:
    async with playing(store, tmp_path, configured=[entry("other")]) as troupe:
        await troupe.put(troupe.stored(respond="all"))
        await troupe.until(BotState.RUNNING, BotState.RUNNING)
        other, first = troupe.workshop.made
        await troupe.put(troupe.stored(respond="never", at=2))
        await troupe.until(BotState.STOPPED, BotState.RUNNING)
        assert first.closed
        assert troupe.workshop.last.values["respond"] == "never"
        assert (other.runs, other.running) == (1, True)


async def test_nothing_starts_anew_when_nothing_changed(store: Store, tmp_path: Path) -> None:
    async with playing(store, tmp_path) as troupe:
        bot = troupe.stored()
        await troupe.put(bot)
        await troupe.until(BotState.RUNNING)
        await troupe.put(bot)
        await troupe.put(replace(bot, id="id-next", name="next"))
        await troupe.until(BotState.RUNNING)
        assert [puppet.name for puppet in troupe.workshop.made] == ["main", "next"]


async def test_a_bot_that_is_switched_off_is_nowhere_until_it_is_on(store: Store, tmp_path: Path) -> None:
    async with playing(store, tmp_path) as troupe:
        await troupe.put(troupe.stored())
        await troupe.until(BotState.RUNNING)
        await troupe.put(troupe.stored(enabled=False, at=2))
        await troupe.until(BotState.STOPPED)
        await eventually(lambda: troupe.fleet.connector_of(HERE) is None)
        assert troupe.workshop.last.closed
        await troupe.put(troupe.stored(at=3))
        await troupe.until(BotState.RUNNING)
        assert len(troupe.workshop.made) == 2


async def test_a_removed_bot_ends(store: Store, tmp_path: Path) -> None:
    async with playing(store, tmp_path) as troupe:
        await troupe.put(troupe.stored())
        await troupe.until(BotState.RUNNING)
        await troupe.desk.remove("plain", "main")
        await troupe.until(BotState.STOPPED)
        await eventually(lambda: troupe.workshop.last.closed)
        assert troupe.fleet.bots == ()


async def test_a_bot_of_the_configuration_wins_and_restarts_on_demand(store: Store, tmp_path: Path) -> None:
    async with playing(store, tmp_path, configured=[entry(token="configured")]) as troupe:
        await troupe.until(BotState.RUNNING)
        await troupe.put(troupe.stored())
        await troupe.put(troupe.stored("next"))
        await troupe.until(BotState.RUNNING)
        assert [bot.name for bot in troupe.book.passed_over] == ["main"]
        first = troupe.workshop.made[0]
        assert first.values == {"token": "configured"}
        await troupe.desk.restart("plain", "main")
        await troupe.until(BotState.STOPPED, BotState.RUNNING)
        assert first.closed
        assert troupe.workshop.last.values == {"token": "configured"}


async def test_a_bot_that_cannot_be_made_says_why_and_costs_only_itself(store: Store, tmp_path: Path) -> None:
    async with playing(store, tmp_path) as troupe:
        await troupe.put(troupe.stored(bad=1))
        await troupe.until(BotState.ERROR)
        status = await troupe.status()
        assert status.error == "The setting `bad` is wrong. Take it away."
        assert troupe.told == [("setup", f"The bot main of plain cannot be used: {status.error}")]
        await troupe.put(troupe.stored("next"))
        await troupe.until(BotState.RUNNING)
        assert troupe.keeper.health() == {"plain/main": False, "plain/next": True}


async def test_a_token_that_cannot_be_opened_is_said(store: Store, tmp_path: Path) -> None:
    strange = SealedBox(file=tmp_path / "strange.key", given=None, tell=lambda _: None)
    async with playing(store, tmp_path) as troupe:
        await troupe.put(replace(troupe.stored(), secrets=seal_all(strange, {"token": "x"})))
        await eventually(lambda: troupe.book.specs)
        (spec,) = troupe.book.specs
        assert "key" in spec.trouble
        assert spec.values == {}


async def test_a_bad_entry_of_the_configuration_ends_the_start_with_its_line(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        async with playing(store, tmp_path, configured=[entry(token="x", bad=1)]):
            pass
    assert refused.value.what == "`bots.plain[0].bad` is wrong"
    assert refused.value.why == "config.yaml, line 4"
    assert refused.value.fix == "Take it away."


async def test_a_bad_bot_that_only_a_variable_asked_for_is_left_out(store: Store, tmp_path: Path) -> None:
    asked = replace(entry(bad=1), variable="PLAIN_TOKEN")
    async with playing(store, tmp_path, configured=[asked]) as troupe:
        await troupe.until(BotState.ERROR)


# -- platforms -----------------------------------------------------------------------------------------------


REFUSED = TokenRefused(f"The token {TOKEN} is refused. Make a new one.")


async def test_a_token_counts_as_refused_after_three_rejections_within_five_minutes(
    store: Store, tmp_path: Path
) -> None:
    clock, workshop = TurnedClock(), Workshop()
    workshop.opening = [REFUSED]
    async with playing(store, tmp_path, clock=clock, workshop=workshop) as troupe:
        await troupe.put(troupe.stored())
        await troupe.until(BotState.ERROR)
        shown = "The token *** is refused. Make a new one."
        assert (await troupe.status()).error == shown
        pauses = []
        for runs in range(1, 9):
            pauses.append(await clock.asleep(is_pause))
            if runs < 3:
                assert not troupe.told
            else:  # another task tells the owner
                await eventually(lambda: troupe.told)
            assert workshop.last.runs == runs
            workshop.last.play.put_nowait(REFUSED)
            clock.turn(pauses[-1])
            await eventually(partial(_has_run, workshop.last, runs + 1))
        assert pauses == [5, 20, 60, 120, 240, 480, 600, 600]
        assert troupe.told[0] == ("token", f"The bot main of plain cannot log in: {shown}")
        workshop.opening = [ANN]
        await troupe.put(troupe.stored(at=2))
        await troupe.until(BotState.RUNNING)


async def test_a_token_that_is_rejected_for_seconds_costs_seconds(store: Store, tmp_path: Path) -> None:
    clock, workshop = TurnedClock(), Workshop()
    async with playing(store, tmp_path, clock=clock, workshop=workshop) as troupe:
        await troupe.put(troupe.stored())
        await troupe.until(BotState.RUNNING)
        for _ in range(5):
            for pause in (5, 20):
                workshop.last.play.put_nowait(REFUSED)
                assert await clock.asleep(is_pause) == pause
                workshop.last.play.put_nowait(ANN)
                clock.turn(pause)
                await troupe.until(BotState.RUNNING)
            clock.turn(300)
        assert not troupe.told


async def test_no_error_of_python_is_told_of_a_bot(store: Store, tmp_path: Path) -> None:
    clock, workshop = TurnedClock(), Workshop()
    async with playing(store, tmp_path, clock=clock, workshop=workshop) as troupe:
        await troupe.put(troupe.stored())
        told: dict[str, Exception] = {"The gateway is away": ConnectionError("The gateway is away")}
        told |= {"Its platform cannot be reached": OSError(111, "Connect call failed")}
        defect = "The bot stopped because of a defect in its connector. Arvis restarts it. The log contains the details"
        for words, failure in [*told.items(), (defect, KeyError("url"))]:
            await troupe.until(BotState.RUNNING)
            workshop.last.play.put_nowait(failure)
            await troupe.until(BotState.ERROR)
            assert (await troupe.status()).error == words
            workshop.last.play.put_nowait(ANN)
            clock.turn(await clock.asleep(is_pause))


async def test_a_hundred_disconnects_are_no_storm(store: Store, tmp_path: Path) -> None:
    clock = TurnedClock()
    async with playing(store, tmp_path, clock=clock) as troupe:
        await troupe.put(troupe.stored())
        await troupe.until(BotState.RUNNING)
        puppet, pauses = troupe.workshop.last, []
        for _ in range(100):
            puppet.play.put_nowait(ConnectionResetError("gone"))
            pauses.append(await clock.asleep(is_pause))
            puppet.play.put_nowait(ANN)
            runs = puppet.runs
            clock.turn(pauses[-1])
            await eventually(partial(_has_run, puppet, runs + 1))
        assert pauses[:7] == [1, 2, 4, 8, 16, 32, 60]
        assert sum(pauses) >= len(pauses)


async def test_an_error_stands_until_the_bot_is_back(store: Store, tmp_path: Path) -> None:
    clock = TurnedClock()
    async with playing(store, tmp_path, clock=clock) as troupe:
        await troupe.put(troupe.stored())
        await troupe.until(BotState.RUNNING)
        troupe.workshop.last.play.put_nowait(ConnectionError(f"https://api/bot{TOKEN}/getMe"))
        await troupe.until(BotState.ERROR)
        assert (await troupe.status()).error == "https://api/bot***/getMe"
        assert troupe.keeper.health() == {"plain/main": False}
        troupe.workshop.last.play.put_nowait(BotUp("7", "Renamed"))
        clock.turn(await clock.asleep(is_pause))
        await troupe.until(BotState.RUNNING)
        status = await troupe.status()
        assert (status.error, status.user_name) == ("", "Renamed")


@pytest.mark.parametrize("fails", [True, False])
async def test_an_outage_of_five_minutes_is_told_once(store: Store, tmp_path: Path, *, fails: bool) -> None:
    clock, workshop = TurnedClock(), Workshop()
    workshop.opening = [OSError("no route")] if fails else []
    async with playing(store, tmp_path, clock=clock, workshop=workshop) as troupe:
        await troupe.put(troupe.stored())
        await eventually(lambda: workshop.made and workshop.last.runs)
        for _ in range(20):
            assert not troupe.told
            await clock.asleep(lambda seconds: seconds == 30)
            if (clock.monotonic() - 1_800_000_000) >= 270:
                break
            clock.turn(30)
        clock.turn(30)
        await eventually(lambda: troupe.told)
        trouble = "Its platform cannot be reached" if fails else "The platform does not respond."
        assert troupe.told == [("down", f"The bot main of plain has been down for five minutes: {trouble}")]
        for _ in range(20):
            await clock.asleep(lambda seconds: seconds == 30)
            clock.turn(30)
        assert len(troupe.told) == 1


async def test_at_the_end_bots_stop_taking_events_before_they_are_closed(store: Store, tmp_path: Path) -> None:
    async with playing(store, tmp_path) as troupe:
        await troupe.put(troupe.stored())
        await troupe.until(BotState.RUNNING)
        puppet = troupe.workshop.last
        await troupe.stop()
        assert not puppet.running
        assert not puppet.closed
        assert troupe.fleet.connector_of(HERE) is puppet, "deliveries still leave"
        assert (await troupe.status()).state is BotState.STOPPED
    assert puppet.closed


async def test_a_connector_that_ends_by_itself_is_run_again(store: Store, tmp_path: Path) -> None:
    clock = TurnedClock()
    async with playing(store, tmp_path, clock=clock) as troupe:
        await troupe.put(troupe.stored())
        await troupe.until(BotState.RUNNING)
        troupe.workshop.last.play.put_nowait(None)
        await troupe.until(BotState.ERROR)
        assert (await troupe.status()).error == "The connector ended without an error"
        clock.turn(await clock.asleep(is_pause))
        await eventually(lambda: troupe.workshop.last.runs == 2)
