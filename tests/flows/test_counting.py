"""A long conversation with a server that has a small window and its own token count: one prompt is refused at most."""

from __future__ import annotations

import random
from collections.abc import Sequence

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, Turn
from arvis.llm.attempts import RunFailed, Trail
from arvis.llm.model_limits import ModelLimits, note_counts
from arvis.llm.runner import Runner
from arvis.llm.tokens import Estimator, estimator_of
from arvis.net.client import open_http_client
from arvis.ports.store import Store
from arvis.providers.openai import create
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import GivenProviders, provider_services
from tests.flows.counting_server import count_text, counting_server
from tests.unit.vendor_counters import KINDS, said

NOW = 1_800_000_000_000


def fitting(history: Sequence[Turn], room: float, estimator: Estimator) -> RunRequest:
    """Return the newest messages that fit, beginning with a person's message."""
    kept: list[Turn] = []
    for turn in reversed(history):
        room -= estimator.tokens(turn.content) + estimator.message_tokens
        if room < 0 and kept:
            break
        kept.append(turn)
    kept = kept[:-1] if kept[-1].role == "assistant" else kept
    return RunRequest("You are Helper.", tuple(reversed(kept)), None, "Helper", now="Now: Sunday, 09:05")


async def talk(runner: Runner, store: Store, history: Sequence[Turn]) -> str | None:
    """Run one turn with the stored calibration, and store the new one. Return the reply, or None if the prompt was too
    long."""
    runner.learn((), await store.read(lambda tx: tx.calibrations.all()))
    window, model = runner.profile(None).window, runner.profile(None).name
    estimator = estimator_of(await store.read(lambda tx: tx.calibrations.get(model)))
    trail = Trail()
    try:
        run = await runner.run(
            fitting(history, window - min(20_000, window // 4), estimator),
            model=None,
            on_text=lambda offset, piece: None,
            trail=trail,
        )
    except RunFailed as failed:
        if failed.error.kind is not ProviderErrorKind.TOO_LONG:
            raise
        return None
    finally:
        await store.write(note_counts, trail.counted, trail.limits, NOW)
    return run.result.content


async def test_at_most_one_refusal_and_the_window_well_used(store: Store) -> None:
    chance = random.Random(11)
    async with counting_server(window=8_192) as server, open_http_client() as http:
        account = Account("main", "custom", "small", base_url=server.url)
        clock = SteppedClock()
        runner = Runner(
            providers=GivenProviders({"custom": create("custom", provider_services(http, clock))}),
            accounts=lambda: (account,),
            clock=clock,
            new_id=lambda: "call",
            random=lambda: 1.0,
            limits=ModelLimits(windows={}),
        )
        history: list[Turn] = []
        for turn in range(120):
            kind = KINDS[turn // 10 % len(KINDS)]
            history.append(Turn("user", said(chance, kind, chance.randrange(20, 200))))
            reply = await talk(runner, store, history) or await talk(runner, store, history)
            assert reply is not None
            history.append(Turn("assistant", reply))
    assert server.refusals <= 1
    assert runner.profile(None).window == 8_192
    late = server.prompts[60:]
    assert max(late) <= 0.75 * 8_192
    assert sum(late) / len(late) > 0.55 * 8_192


async def test_the_server_counts_its_own_way() -> None:
    assert [count_text(text) for text in ("东京", "привет", "a word", "{}[]")] == [4.0, 5.4, 1.5, 2.4]
