"""Cases for deliveries to chat platforms: parts, drafts, closed or moved channels, incidents."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.agents import Binding, Permission
from arvis.domain.jobs import Done, NewJob, Snooze
from arvis.domain.memory import Category, NewFact, State, room_scope
from arvis.domain.messages import Address, Button, ButtonStyle, Delivery, DeliveryState, OutgoingFile
from arvis.domain.platforms import ChannelStatus, Draft, DraftState, Part, PartState, Piece
from arvis.domain.taint import CLEAN
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import AGENT, NOW, PLACE, add_agent, claim, claim_one, part, said
from tests.conformance.store.transactions import TransactionCases

OLD, NEW = Address("chat", "main", "old"), Address("chat", "main", "new")
DRAFT = Draft("turn-1", "draft-1", OLD, DraftState.SENDING, None, NOW)


def deliver(tx: Transaction, number: int, address: Address = PLACE) -> Delivery:
    """Store a delivery with its job."""
    tx.messages.add(said(f"m{number}"))
    seq = tx.deliveries.next_seq(address)
    delivery = replace(part(f"d{number}", f"m{number}", seq), address=address)
    tx.deliveries.add(delivery)
    tx.jobs.add(NewJob.deliver(address, 5, delivery_id=delivery.id, message_id=delivery.message_id), NOW)
    return delivery


def move(tx: Transaction) -> None:
    tx.channel_status.move(OLD, NEW.channel, NOW)


def where(tx: Transaction, delivery_id: str) -> tuple[str, int]:
    delivery = tx.deliveries.get(delivery_id)
    assert delivery is not None
    return delivery.address.channel, delivery.seq


def sent_in_order(tx: Transaction) -> list[tuple[str, str | None]]:
    """Claim the remaining deliveries one after the other, and return them."""
    found = []
    while jobs := claim(tx):
        for job in jobs:
            found.append((job.lane, job.delivery_id))
            assert tx.jobs.settle(job, Done(), NOW)
    return found


class SendingCases(TransactionCases):
    async def test_parts_are_kept_in_order_with_all_they_hold(self, store: Store) -> None:
        delivery = await store.write(deliver, 1)
        rich = Piece(
            "two", (Button("b", "Press", ButtonStyle.DANGER),), (OutgoingFile("a.md", "text/markdown", 3, "x"),)
        )
        parts = [
            Part(delivery, 0, Piece("one"), PartState.SENDING, "draft", NOW),
            Part(delivery, 1, rich),
        ]
        assert await store.read(lambda tx: tx.parts.of_delivery(delivery.id)) == []
        await store.write(lambda tx: tx.parts.plan(parts[0].delivery.id, parts))
        assert await store.read(lambda tx: tx.parts.of_delivery(delivery.id)) == parts

        def go_on(tx: Transaction) -> None:
            tx.parts.put(parts[0], PartState.SENT)
            tx.parts.put(parts[1], PartState.SENDING, tried_at=NOW + 1)
            tx.parts.put(parts[1], PartState.RESERVED, platform_id="p")

        await store.write(go_on)
        assert await store.read(lambda tx: tx.parts.of_delivery(delivery.id)) == [
            replace(parts[0], state=PartState.SENT),
            replace(parts[1], state=PartState.RESERVED, platform_id="p", tried_at=NOW + 1),
        ]

    async def test_a_turn_has_one_draft_and_what_is_gone_stays_gone(self, store: Store) -> None:
        assert await store.write(lambda tx: tx.drafts.add(DRAFT))
        assert not await store.write(lambda tx: tx.drafts.add(replace(DRAFT, id="draft-2")))

        def put(tx: Transaction, state: DraftState, platform_id: str | None) -> Draft | None:
            tx.drafts.put("turn-1", state, platform_id=platform_id, now=NOW)
            return tx.drafts.get("turn-1")

        shown = await store.write(put, DraftState.SHOWN, "p")
        assert shown == replace(DRAFT, state=DraftState.SHOWN, platform_id="p")
        assert await store.read(lambda tx: tx.drafts.open(10)) == [shown]
        gone = await store.write(put, DraftState.GONE, None)
        assert gone == replace(DRAFT, state=DraftState.GONE, platform_id="p")
        assert await store.write(put, DraftState.SHOWN, "q") == gone
        assert await store.read(lambda tx: tx.drafts.open(10)) == []

    async def test_drafts_are_forgotten_by_the_age_of_their_turns(self, store: Store) -> None:
        def add(tx: Transaction) -> str:
            execution_id = tx.new_id()
            tx.drafts.add(replace(DRAFT, execution_id=execution_id))
            return execution_id

        await store.write(add)
        assert await store.write(lambda tx: tx.drafts.prune(0, 10)) == 0
        assert await store.write(lambda tx: tx.drafts.prune(2 * NOW, 10)) == 1

    async def test_a_place_is_shut_until_it_is_back(self, store: Store) -> None:
        gone = ChannelStatus(OLD, "gone", "kicked", None, NOW)
        await store.write(lambda tx: tx.channel_status.put(replace(gone, reason="blocked")))
        await store.write(lambda tx: tx.channel_status.put(gone))
        assert await store.read(lambda tx: tx.channel_status.get(replace(OLD, thread="t"))) == gone
        assert await store.read(lambda tx: tx.channel_status.get(NEW)) is None
        assert await store.write(lambda tx: tx.channel_status.clear(OLD))
        assert not await store.write(lambda tx: tx.channel_status.clear(OLD))
        assert await store.read(lambda tx: tx.channel_status.get(OLD)) is None

    async def test_what_has_become_another_channel_stays_so(self, store: Store) -> None:
        await store.write(move)
        await store.write(
            lambda tx: tx.channel_status.put(ChannelStatus(OLD, "unreachable", "The bot left.", None, NOW + 1))
        )
        assert not await store.write(lambda tx: tx.channel_status.clear(OLD))
        place = await store.read(lambda tx: tx.channel_status.get(OLD))
        assert place is not None
        assert place.moved_to == NEW.channel

    async def test_incidents_are_told_once(self, store: Store) -> None:
        def begin(tx: Transaction) -> str:
            add_agent(tx)
            return tx.conversations.open(AGENT.id, PLACE, NOW).id

        conversation = await store.write(begin)
        for number in range(3):
            await store.write(lambda tx, text: tx.incidents.add(conversation, text, NOW), f"{number}")
        untold = await store.read(lambda tx: tx.incidents.unreported(conversation, 2))
        assert [incident.text for incident in untold] == ["1", "2"]
        await store.write(lambda tx: tx.incidents.mark_reported(conversation, "turn", untold[0].id))
        assert [one.text for one in await store.read(lambda tx: tx.incidents.unreported(conversation, 9))] == ["2"]


class MovingCases(TransactionCases):
    async def test_deliveries_take_their_order_along(self, store: Store) -> None:
        for number, address in enumerate((OLD, OLD, NEW, OLD, replace(OLD, thread="t"), PLACE)):
            await store.write(deliver, number, address)
        await store.write(move)
        assert await store.read(lambda tx: [where(tx, f"d{number}") for number in range(6)]) == [
            ("new", 5),
            ("new", 6),
            ("new", 1),
            ("new", 7),
            ("new", 8),
            ("hall", 1),
        ]
        sent = await store.write(sent_in_order)
        assert [delivery for lane, delivery in sent if lane == NEW.lane] == ["d2", "d0", "d1", "d3"]
        assert [delivery for lane, delivery in sent if lane == replace(NEW, thread="t").lane] == ["d4"]
        assert len(sent) == 6, "nothing is left behind"
        await store.write(deliver, 6, NEW)
        assert (await store.write(claim_one)).delivery_id == "d6", "the lanes are empty again"

    async def test_what_is_being_sent_stays_where_it_is_until_it_is_put_off(self, store: Store) -> None:
        for number in range(3):
            await store.write(deliver, number, OLD)
        running = await store.write(claim_one)
        await store.write(move)
        assert [job.delivery_id for job in await store.write(claim)] == ["d1"]

        def put_off(tx: Transaction) -> None:
            assert tx.jobs.settle(running, Snooze(NOW, "moved"), NOW)
            move(tx)

        await store.write(put_off)
        head = await store.read(lambda tx: tx.jobs.head_of_lane(NEW.lane))
        assert head is not None
        assert head.delivery_id == "d1"
        assert await store.read(lambda tx: tx.jobs.head_of_lane(OLD.lane)) is None
        assert await store.write(lambda tx: tx.jobs.settle(head, Done(), NOW))
        assert [delivery for _, delivery in await store.write(sent_in_order)] == ["d2", "d0"]
        await store.write(deliver, 3, OLD)
        assert (await store.write(claim_one)).delivery_id == "d3", "the old lane is empty again"

    async def test_conversations_and_bindings_go_along_unless_the_new_channel_has_its_own(self, store: Store) -> None:
        other = replace(AGENT, id="agent-2", slug="other", name="Other")

        def begin(tx: Transaction) -> list[str]:
            add_agent(tx)
            tx.agents.add(other, NOW)
            tx.agents.bind(Binding("chat", "old", AGENT.id, Permission.FULL), NOW)
            places = ((AGENT.id, OLD), (other.id, OLD), (other.id, NEW))
            return [tx.conversations.open(agent, address, NOW).id for agent, address in places]

        moved, closed, kept = await store.write(begin)
        await store.write(move)
        await store.write(move)
        assert {one.id for one in await store.read(lambda tx: tx.conversations.in_place(NEW))} == {moved, kept}
        assert await store.read(lambda tx: tx.conversations.in_place(OLD)) == []
        assert (await store.read(lambda tx: tx.conversations.get(closed))) is not None
        assert await store.read(lambda tx: tx.agents.binding_at("chat", "old")) is None
        bound = await store.read(lambda tx: tx.agents.binding_at("chat", "new"))
        assert bound is not None
        assert bound.agent_id == AGENT.id
        place = await store.read(lambda tx: tx.channel_status.get(OLD))
        assert place is not None
        assert (place.state, place.moved_to) == ("moved", "new")

    async def test_what_is_known_of_a_room_goes_along(self, store: Store) -> None:
        def begin(tx: Transaction) -> None:
            add_agent(tx)
            tx.conversations.open(AGENT.id, OLD, NOW)
            tx.facts.add(NewFact(AGENT.id, room_scope(OLD), Category.STICKY, "The password is swordfish"), NOW)
            for scope, key in ((OLD, "a"), (OLD, "b"), (NEW, "b")):
                tx.agent_state.put(State(AGENT.id, room_scope(scope), key, scope.channel, CLEAN, None, None, NOW))
            tx.drafts.add(DRAFT)

        await store.write(begin)
        await store.write(move)
        scope = room_scope(NEW)
        assert [one.content for one in await store.read(lambda tx: tx.facts.of(AGENT.id, [scope], limit=9))]
        assert await store.read(lambda tx: tx.facts.search(AGENT.id, [scope], ["swordfish"], 9))
        states = await store.read(lambda tx: tx.agent_state.of(AGENT.id, [scope], limit=9))
        assert {(state.key, state.value) for state in states} == {("a", "old"), ("b", "new")}
        draft = await store.read(lambda tx: tx.drafts.get(DRAFT.execution_id))
        assert draft is not None
        assert draft.address == NEW

    async def test_a_channel_that_becomes_itself_is_left_alone(self, store: Store) -> None:
        await store.write(deliver, 0, OLD)
        await store.write(lambda tx: tx.channel_status.move(OLD, OLD.channel, NOW))
        assert await store.read(lambda tx: tx.channel_status.get(OLD)) is None
        delivery = await store.read(lambda tx: tx.deliveries.get("d0"))
        assert delivery is not None
        assert (delivery.address, delivery.state) == (OLD, DeliveryState.PENDING)
