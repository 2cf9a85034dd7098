"""Deliveries in parts, with every possible answer of the platform."""

from __future__ import annotations

import pytest

from arvis.delivery.late_replies import MARK, LateReplies
from arvis.domain.messages import DeliveryState, OutgoingFile
from arvis.domain.platforms import Part, PartState
from arvis.ports.connector import Capabilities, Guarantee, SendError
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import AGENT, add_agent
from tests.flows.delivery_kit import PLACEHOLDER, Voyage, bot_of

SENT, FAILED, UNKNOWN, EXPIRED = (
    DeliveryState.SENT,
    DeliveryState.FAILED,
    DeliveryState.UNKNOWN,
    DeliveryState.EXPIRED,
)
QUARTER, HOUR = 900, 3600


def voyage_by(store: Store, guarantee: Guarantee = Guarantee.AT_LEAST_ONCE) -> Voyage:
    return Voyage(store, Capabilities(guarantee))


async def parts_of(voyage: Voyage, delivery_id: str) -> list[Part]:
    return await voyage.store.read(lambda tx: tx.parts.of_delivery(delivery_id))


async def heard(voyage: Voyage, conversation: str) -> list[str]:
    return [one.text for one in await voyage.store.read(lambda tx: tx.incidents.unreported(conversation, 9))]


async def converse(voyage: Voyage) -> str:
    def begin(tx: Transaction) -> str:
        if tx.agents.get(AGENT.id) is None:
            add_agent(tx)
        return tx.conversations.open(AGENT.id, voyage.address, voyage.clock.now()).id

    return await voyage.store.write(begin)


async def test_the_platforms_ids_are_kept(either_store: Store) -> None:
    voyage = voyage_by(either_store)
    delivery_id = await voyage.begin("one|two")
    await voyage.play()
    parts = await parts_of(voyage, delivery_id)
    assert [(part.state, part.platform_id) for part in parts] == [(PartState.SENT, "m1"), (PartState.SENT, "m2")]
    assert [event.state for event in voyage.told] == [SENT]


async def test_a_refusal_midway_is_no_reason_to_begin_anew(store: Store) -> None:
    voyage = voyage_by(store)
    delivery_id = await voyage.begin("one|two|three")
    voyage.chat.script += [None, SendError("slow down", retry_after=7.0)]
    before = voyage.clock.now()
    await voyage.play()
    assert voyage.chat.texts == ["one", "two", "three"]
    assert voyage.clock.now() - before >= 7000, "never earlier than it asks for"
    assert await voyage.state(delivery_id) is SENT


@pytest.mark.parametrize("guarantee", Guarantee)
async def test_what_may_have_arrived_goes_by_the_guarantee(store: Store, guarantee: Guarantee) -> None:
    voyage = voyage_by(store, guarantee)
    delivery_id = await voyage.begin("one|two")
    voyage.chat.script += [None, None, SendError("no answer in time", uncertain=True)]
    if guarantee is not Guarantee.RESERVE_THEN_FILL:
        voyage.chat.script.popleft()
    await voyage.play()
    calls, state = voyage.chat.calls, await voyage.state(delivery_id)
    match guarantee:
        case Guarantee.IDEMPOTENT:
            assert (voyage.chat.texts, state) == (["one", "two"], SENT)
        case Guarantee.RECONCILED:
            assert (calls, state) == (["send 0", "send 1", "find 1"], SENT)
        case Guarantee.AT_LEAST_ONCE:
            assert (voyage.chat.texts, state) == (["one", "two", "two"], SENT)
        case Guarantee.AT_MOST_ONCE:
            assert (voyage.chat.texts, state) == (["one", "two"], UNKNOWN)
        case Guarantee.RESERVE_THEN_FILL:
            assert (calls.count("reserve 1"), state) == (2, SENT)


@pytest.mark.parametrize("guarantee", Guarantee)
async def test_what_is_acknowledged_without_an_id_is_not_sent_twice(store: Store, guarantee: Guarantee) -> None:
    voyage = voyage_by(store, guarantee)
    delivery_id = await voyage.begin("one|two")
    voyage.chat.script += [SendError("no id", acknowledged=True)]
    before = voyage.clock.now()
    await voyage.play()
    if guarantee is Guarantee.RESERVE_THEN_FILL:  # a placeholder that cannot be filled stays
        assert voyage.chat.texts == [PLACEHOLDER, "one", "two"]
    else:
        assert voyage.chat.texts == ["one", "two"]
    assert await voyage.state(delivery_id) is SENT
    assert voyage.clock.now() - before < 1000, "nothing waits for it"


async def test_what_is_acknowledged_and_cannot_be_looked_for_is_not_sent_twice(store: Store) -> None:
    voyage = voyage_by(store, Guarantee.RECONCILED)
    delivery_id = await voyage.begin("one")
    no_scope = SendError("no such scope", permanent=True)
    voyage.chat.script += [SendError("no id", acknowledged=True), SendError("not just now"), no_scope]
    await voyage.play()
    assert voyage.chat.calls[:2] == ["send 0", "find 0"]
    assert await voyage.state(delivery_id) is SENT


async def test_a_part_that_cannot_be_looked_for_is_sent_again(store: Store) -> None:
    voyage = voyage_by(store, Guarantee.RECONCILED)
    delivery_id = await voyage.begin("one")
    lost = SendError("no answer in time", uncertain=True)
    voyage.chat.script += [lost, SendError("not just now"), SendError("no such scope", permanent=True)]
    await voyage.play()
    assert voyage.chat.calls == ["send 0", "find 0", "find 0", "send 0"]
    assert (voyage.chat.texts, await voyage.state(delivery_id)) == (["one", "one"], SENT)


async def test_what_stays_uncertain_to_the_end_is_unknown(store: Store) -> None:
    voyage = voyage_by(store)
    delivery_id = await voyage.begin("one")
    voyage.chat.script += [SendError("no answer in time", uncertain=True) for _ in range(200)]
    await voyage.play()
    assert await voyage.state(delivery_id) is UNKNOWN
    assert 50 < len(voyage.chat.calls) < 100  # an hour of attempts, but not a storm


async def test_nothing_to_show_is_not_sent(store: Store) -> None:
    voyage = voyage_by(store)
    delivery_id = await voyage.begin(" \n")
    await voyage.play()
    assert (voyage.chat.calls, await voyage.state(delivery_id)) == ([], SENT)


async def test_files_bring_their_bytes(store: Store) -> None:
    voyage = voyage_by(store)
    sha256 = await store.put_blob(b"picture")
    files = (
        OutgoingFile("a.png", "image/png", 7, sha256),
        OutgoingFile("answer.md", "text/markdown", 4, content="text"),
    )
    delivery_id = await voyage.begin("one|two", files=files)
    await voyage.play()
    assert voyage.chat.data == {sha256: b"picture"}
    lost = await voyage.begin("three", files=(OutgoingFile("b.png", "image/png", 7, "0" * 64),))
    await voyage.play()
    assert [await voyage.state(each) for each in (delivery_id, lost)] == [SENT, FAILED]


async def test_a_part_gives_the_bytes_of_every_file(store: Store) -> None:
    voyage = voyage_by(store)
    delivery_id = await voyage.begin("one")
    await voyage.play()
    [part] = await parts_of(voyage, delivery_id)
    assert part.bytes_of(OutgoingFile("a", "text/plain", 4, content="wörd")) == "wörd".encode()


# -- places ------------------------------------------------------------------------------------------------


async def test_a_place_that_is_gone_is_not_asked_again_until_it_is_back(either_store: Store) -> None:
    voyage = voyage_by(either_store)
    first, second = await voyage.begin("one"), await voyage.begin("two")
    voyage.chat.script.append(SendError("kicked", gone=True))
    await voyage.play()
    assert [await voyage.state(each) for each in (first, second)] == [FAILED, FAILED]
    assert voyage.chat.calls == ["send 0"]
    await either_store.write(lambda tx: tx.channel_status.clear(voyage.address))
    third = await voyage.begin("three")
    await voyage.play()
    assert (voyage.chat.texts, await voyage.state(third)) == (["three"], SENT)


async def test_a_place_that_is_gone_is_tried_again_after_an_hour(store: Store) -> None:
    voyage = voyage_by(store)
    await voyage.begin("one")
    voyage.chat.script.append(SendError("kicked", gone=True))
    await voyage.play()
    await voyage.clock.sleep(HOUR)
    await voyage.begin("two")
    await voyage.play()
    assert voyage.chat.texts == ["two"]
    assert await store.read(lambda tx: tx.channel_status.get(voyage.address)) is None


async def test_a_channel_that_has_moved_takes_its_deliveries_along_in_order(either_store: Store) -> None:
    voyage = voyage_by(either_store)
    sent = [await voyage.begin(text) for text in ("one|two", "three", "four")]
    voyage.chat.script += [None, SendError("group upgraded", moved_to=f"{voyage.address.channel}-super")]
    await voyage.play()
    assert voyage.chat.texts == ["one", "two", "three", "four"]
    moved = [await voyage.delivery(each) for each in sent]
    assert {one.address.channel for one in moved} == {f"{voyage.address.channel}-super"}
    assert [one.state for one in moved] == [SENT] * 3
    late = await voyage.begin("to the old one")
    calls = len(voyage.chat.calls)
    await voyage.play()
    assert (await voyage.delivery(late)).address.channel.endswith("-super")
    assert len(voyage.chat.calls) == calls + 1, "the platform is not asked in the old channel"


async def test_a_bot_that_is_not_here_is_waited_for(store: Store) -> None:
    voyage = voyage_by(store)
    delivery_id = await voyage.begin("one")
    voyage.bot = None
    before = voyage.clock.now()
    await voyage.play()
    assert voyage.clock.now() - before >= HOUR * 1000
    assert await voyage.state(delivery_id) is FAILED


async def test_a_bot_that_comes_in_time_sends_what_waits(store: Store) -> None:
    voyage = voyage_by(store)
    voyage.bot, bot = None, bot_of(voyage.chat, Capabilities())
    await voyage.begin("one")
    sleep = voyage.clock.sleep

    async def wake(seconds: float) -> None:
        voyage.bot = bot
        await sleep(seconds)

    voyage.clock.sleep = wake  # type: ignore[method-assign]
    await voyage.play()
    assert voyage.chat.texts == ["one"]


# -- late messages -----------------------------------------------------------------------------------------


async def test_late_messages_are_marked_and_come_one_a_second(store: Store) -> None:
    voyage = voyage_by(store)
    for number in range(4):
        await voyage.begin(f"{number}")
    await voyage.clock.sleep(QUARTER + 1)
    before = voyage.clock.now()
    await voyage.play()
    assert voyage.chat.texts == [f"{MARK}\n\n{number}" for number in range(4)]
    assert voyage.clock.now() - before >= 3000


async def test_late_messages_are_dropped_where_the_policy_says_so(store: Store) -> None:
    voyage = Voyage(store, Capabilities(late="drop"), late_replies=LateReplies(after=1000, late="mark"))
    conversation = await converse(voyage)
    delivery_id = await voyage.begin("one", conversation_id=conversation)
    await voyage.clock.sleep(2)
    await voyage.play()
    assert (voyage.chat.calls, await voyage.state(delivery_id)) == ([], EXPIRED)
    assert [event.state for event in voyage.told] == [EXPIRED]
    [told] = await heard(voyage, conversation)
    assert "it was too old to send" in told


async def test_what_was_begun_in_time_is_not_late(store: Store) -> None:
    voyage = Voyage(store, Capabilities(late_after=5000))
    await voyage.begin("one")
    voyage.chat.script.append(SendError("no answer in time", uncertain=True, retry_after=60))
    await voyage.play()
    assert voyage.chat.texts[-1] == "one"


async def test_what_was_tried_in_time_and_is_shown_late_says_so(store: Store) -> None:
    voyage = Voyage(store, Capabilities(late_after=5000))
    await voyage.begin("one")
    voyage.chat.script.append(SendError("slow down", retry_after=60))
    await voyage.play()
    assert voyage.chat.texts == ["(delayed)\n\none"]


# -- notices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SendError("too\nrude", permanent=True), "could not be delivered: too rude"),
        (None, "may not have been delivered"),
    ],
)
async def test_the_agent_hears_of_what_did_not_arrive(either_store: Store, error: SendError | None, words: str) -> None:
    voyage = voyage_by(either_store, Guarantee.AT_MOST_ONCE)
    conversation = await converse(voyage)
    await voyage.begin("one", conversation_id=conversation)
    voyage.chat.script.append(error or SendError("no answer", uncertain=True))
    await voyage.play()
    [told] = await heard(voyage, conversation)
    assert words in told
    assert "(“one”)" in told
    assert [event.state for event in voyage.told] == [FAILED if error else UNKNOWN]


async def test_whoever_shows_the_draft_lets_go_of_it_first(store: Store) -> None:
    voyage = voyage_by(store)
    await voyage.draft("turn")
    await voyage.begin("one|two", execution_id="turn")
    await voyage.play()
    assert voyage.released == ["turn"]
    assert voyage.chat.texts == ["one", "two"]
