"""A delivery in three parts, killed at each commit and each call: people see what the platform's guarantee promises, on
both databases."""

from __future__ import annotations

import pytest

from arvis.domain.messages import DeliveryState
from arvis.ports.connector import Capabilities, Guarantee
from arvis.ports.store import Store
from tests.flows.delivery_kit import PLACEHOLDER, Voyage
from tests.flows.engine_kit import Cut, Death, deaths

TEXT = "one|two|three"
PARTS = TEXT.split("|")
SENT, UNKNOWN = DeliveryState.SENT, DeliveryState.UNKNOWN


async def sail(
    store: Store, guarantee: Guarantee, *, write: Death | None = None, call: Death | None = None, draft: bool = False
) -> tuple[Voyage, DeliveryState, int]:
    """Run a delivery to its end through a death at a write or a call. Return it, its state, and the number of writes of
    the last process."""
    voyage = Voyage(store, Capabilities(guarantee))
    turn = await store.write(lambda tx: tx.new_id())
    delivery_id = await voyage.begin(TEXT, execution_id=turn)
    if draft:
        await voyage.draft(turn)
    voyage.chat.death = call
    if write is not None or call is not None:
        with pytest.raises(Cut):
            await voyage.play(write)
    voyage.chat.death = None
    writes = await voyage.play()
    return voyage, await voyage.state(delivery_id), writes


def check(voyage: Voyage, state: DeliveryState, guarantee: Guarantee, death: Death | None) -> None:
    texts = voyage.chat.texts
    match guarantee:
        case Guarantee.IDEMPOTENT | Guarantee.RECONCILED:
            assert (texts, state) == (PARTS, SENT), death
        case Guarantee.AT_LEAST_ONCE:
            assert (list(dict.fromkeys(texts)), state) == (PARTS, SENT), death
            assert len(texts) <= len(PARTS) + 1, death
        case Guarantee.AT_MOST_ONCE:
            assert texts == PARTS[: len(texts)], death
            assert state is UNKNOWN or (state is SENT and texts == PARTS), death
        case Guarantee.RESERVE_THEN_FILL:
            assert ([text for text in texts if text != PLACEHOLDER], state) == (PARTS, SENT), death
            assert texts.count(PLACEHOLDER) <= 1, death


@pytest.mark.parametrize("guarantee", Guarantee)
async def test_a_delivery_survives_a_cut_at_every_commit(either_store: Store, guarantee: Guarantee) -> None:
    voyage, state, writes = await sail(either_store, guarantee)
    assert (voyage.chat.texts, state) == (PARTS, SENT)
    for death in deaths(writes, either_store):
        voyage, state, _ = await sail(either_store, guarantee, write=death)
        check(voyage, state, guarantee, death)


@pytest.mark.parametrize("guarantee", Guarantee)
async def test_a_delivery_survives_a_cut_at_every_call(store: Store, guarantee: Guarantee) -> None:
    voyage, _, _ = await sail(store, guarantee)
    for death in deaths(len(voyage.chat.calls)):
        voyage, state, _ = await sail(store, guarantee, call=death)
        check(voyage, state, guarantee, death)


@pytest.mark.parametrize("guarantee", Guarantee)
async def test_a_draft_becomes_the_answer_whatever_is_cut(store: Store, guarantee: Guarantee) -> None:
    """People see one complete message: the draft becomes the first part."""
    voyage, _, writes = await sail(store, guarantee, draft=True)
    assert voyage.chat.texts == PARTS
    for death in deaths(writes):
        voyage, state, _ = await sail(store, guarantee, write=death, draft=True)
        check(voyage, state, guarantee, death)
        assert voyage.chat.texts[0] == "one", death


async def test_three_parts_take_four_commits(store: Store) -> None:
    _, _, writes = await sail(store, Guarantee.IDEMPOTENT)
    assert writes == len(PARTS) + 1
