"""Cases for other stored records: messages, conversations, people, waits, deliveries, logins, settings."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from arvis.domain.accounts import AccountStatus, StoredAccount, Variable
from arvis.domain.agents import Binding, Permission
from arvis.domain.conversations import Conversation
from arvis.domain.errors import StoreError
from arvis.domain.executions import Answer, Cursor, Effect, EffectState, Step, Wait, WaitKind
from arvis.domain.messages import Address, Attachment, DeliveryState, MessageStatus, Principal, PrincipalRole, Role
from arvis.ports.job_store import AddedJob
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import (
    AGENT,
    NOW,
    PLACE,
    add_agent,
    begin_execution,
    get_setting,
    message,
    part,
    put_setting,
    said,
)
from tests.conformance.store.transactions import TransactionCases


def accept(tx: Transaction, event_id: str) -> tuple[str, AddedJob | None]:
    """Accept a message as the inbox does: inbox key, person, conversation, message and job in one script."""
    if (known := tx.messages.by_event(PLACE, event_id)) is not None:
        return known.id, None
    tx.principals.seen(PLACE.platform, "ann", "Ann", None, NOW)
    conversation = tx.conversations.open(AGENT.id, PLACE, NOW)
    accepted = said(tx.new_id(), conversation=conversation.id)
    tx.messages.add(accepted, event_id=event_id)
    return accepted.id, tx.jobs.add(message(conversation.lane), NOW)


class RecordCases(TransactionCases):
    # -- acceptance ----------------------------------------------------------------------------------------

    async def test_the_same_event_is_one_message_however_often_it_comes(self, store: Store) -> None:
        await store.write(add_agent)
        outcomes = await asyncio.gather(*(store.write(accept, "event-1") for _ in range(32)))
        assert len({message_id for message_id, _ in outcomes}) == 1
        assert len([job for _, job in outcomes if job is not None]) == 1

    async def test_first_messages_at_once_make_one_conversation(self, store: Store) -> None:
        await store.write(add_agent)
        outcomes = await asyncio.gather(*(store.write(accept, f"event-{number}") for number in range(16)))
        assert sorted(job.position for _, job in outcomes if job is not None) == list(range(1, 17))
        assert len(await store.read(lambda tx: tx.conversations.in_place(PLACE))) == 1

    async def test_an_event_belongs_to_its_channel(self, store: Store) -> None:
        def script(tx: Transaction) -> None:
            for number, channel in enumerate(("hall", "garden")):
                stored = replace(said(f"message-{number}"), address=replace(PLACE, channel=channel))
                tx.messages.add(stored, event_id="event-1")

        await store.write(script)
        found = await store.read(lambda tx: tx.messages.by_event(replace(PLACE, channel="garden"), "event-1"))
        assert found is not None
        assert found.id == "message-1"

    async def test_places_of_two_agents_and_threads_are_conversations_of_their_own(self, store: Store) -> None:
        def script(tx: Transaction) -> list[Conversation]:
            add_agent(tx)
            tx.agents.add(replace(AGENT, id="agent-2", slug="other"), NOW)
            places = [PLACE, replace(PLACE, thread="t")]
            return [tx.conversations.open(agent, place, NOW) for agent in ("agent-1", "agent-2") for place in places]

        made = await store.write(script)
        assert len({conversation.id for conversation in made}) == 4
        assert await store.write(lambda tx: tx.conversations.open("agent-1", PLACE, NOW + 1)) == made[0]

    # -- turns ---------------------------------------------------------------------------------------------

    async def test_a_turn_has_one_reply(self, store: Store) -> None:
        def script(tx: Transaction, message_id: str) -> None:
            tx.messages.add(said(message_id, role=Role.ASSISTANT, execution="turn-1"))

        await store.write(script, "reply-1")
        with pytest.raises(StoreError):
            await store.write(script, "reply-2")

    async def test_history_is_in_the_order_in_which_turns_ended(self, store: Store) -> None:
        def script(tx: Transaction) -> list[str]:
            add_agent(tx)
            conversation = tx.conversations.open(AGENT.id, PLACE, NOW)
            for execution in ("turn-1", "turn-2", "turn-3"):
                asked = said(f"asked-{execution}", execution=execution, conversation=conversation.id)
                tx.messages.add(replace(asked, content=asked.id))
            for execution in ("turn-2", "turn-1"):
                turn = tx.conversations.next_turn(conversation.id, NOW)
                reply = said(
                    f"reply-{execution}", role=Role.ASSISTANT, execution=execution, conversation=conversation.id
                )
                tx.messages.add(replace(reply, content=reply.id, turn=turn, position=1))
                tx.messages.settle_turn(
                    execution, MessageStatus.ANSWERED, reason=None, turn=turn, reply_id=f"reply-{execution}"
                )
            return [each.content for each in tx.messages.history(conversation.id, 3)]

        assert await store.write(script) == ["reply-turn-2", "asked-turn-1", "reply-turn-1"]

    async def test_a_reopened_turn_takes_a_new_reply_and_shows_no_old_notice(self, store: Store) -> None:
        def script(tx: Transaction) -> list[StoredIds]:
            tx.messages.add(said("asked", execution="turn-1"))
            tx.messages.add(said("notice", role=Role.NOTICE, execution="turn-1"))
            tx.messages.settle_turn("turn-1", MessageStatus.FAILED, reason="x", turn=None, reply_id="notice")
            tx.messages.reopen_turn("turn-1")
            tx.messages.add(said("reply", role=Role.ASSISTANT, execution="turn-1"))
            return [(each.id, each.status, each.reason) for each in tx.messages.of_turn("turn-1")]

        assert await store.write(script) == [("asked", MessageStatus.ACCEPTED, None)]

    async def test_joined_messages_stand_in_their_turn_in_order_with_their_files(self, store: Store) -> None:
        picture = Attachment("a.png", "image/png", 3, "0" * 64)

        def script(tx: Transaction) -> list[tuple[str, tuple[Attachment, ...]]]:
            for position, execution in enumerate(("turn-1", "turn-2", "turn-3"), start=1):
                tx.messages.add(replace(said(f"m{position}", execution=execution), position=position))
            tx.files.add("m2", [picture, picture])
            for joining in ("turn-3", "turn-2"):
                tx.messages.join_turn(joining, "turn-1")
            return [(each.id, each.attachments) for each in tx.messages.of_turn("turn-1")]

        assert await store.write(script) == [("m1", ()), ("m2", (picture, picture)), ("m3", ())]

    # -- people --------------------------------------------------------------------------------------------

    async def test_a_person_is_known_by_the_id_of_the_platform(self, store: Store) -> None:
        def script(tx: Transaction) -> list[Principal]:
            first = tx.principals.seen("web", "ann", "Ann", None, NOW)
            renamed = tx.principals.seen("web", "ann", "Anna", PrincipalRole.OWNER, NOW)
            tx.principals.set_role(first.id, PrincipalRole.BLOCKED, NOW)
            return [first, renamed, tx.principals.seen("web", "ann", "Anna", PrincipalRole.OWNER, NOW)]

        first, renamed, blocked = await store.write(script)
        assert (first.role, renamed.role, blocked.role) == tuple(PrincipalRole(role) for role in ROLES)
        assert {first.id, renamed.id, blocked.id} == {first.id}

    async def test_people_seen_at_once_are_one_person(self, store: Store) -> None:
        seen = await asyncio.gather(
            *(store.write(lambda tx: tx.principals.seen("web", "ann", "Ann", None, NOW)) for _ in range(16))
        )
        assert len({person.id for person in seen}) == 1

    async def test_a_channel_has_one_binding(self, store: Store) -> None:
        binding = Binding("web", "hall", AGENT.id, Permission.READ_ONLY)

        def script(tx: Transaction) -> None:
            tx.agents.bind(binding, NOW)

        await store.write(add_agent)
        await store.write(script)
        with pytest.raises(StoreError):
            await store.write(script)
        assert await store.read(lambda tx: (tx.agents.binding_at("web", "hall"), tx.agents.bindings())) == (
            binding,
            (binding,),
        )

    # -- deliveries ----------------------------------------------------------------------------------------

    async def test_a_channel_is_numbered_without_gaps_in_the_order_of_commits(self, store: Store) -> None:
        def script(tx: Transaction, number: int) -> int:
            seq = tx.deliveries.next_seq(PLACE)
            tx.messages.add(said(f"m{number}"))
            tx.deliveries.add(part(f"d{number}", f"m{number}", seq))
            if number % 4 == 0:
                raise ValueError("rolled back, and its number with it")
            return seq

        outcomes = await asyncio.gather(*(store.write(script, number) for number in range(48)), return_exceptions=True)
        assert sorted(seq for seq in outcomes if isinstance(seq, int)) == list(range(1, 37))
        assert await store.write(lambda tx: tx.deliveries.next_seq(replace(PLACE, thread="t"))) == 37
        assert await store.write(lambda tx: tx.deliveries.next_seq(Address("web", "web", "garden"))) == 1

    async def test_a_delivery_keeps_the_platforms_id(self, store: Store) -> None:
        def script(tx: Transaction) -> DeliveryState | None:
            tx.messages.add(said("m1"))
            tx.deliveries.add(part("d1", "m1", tx.deliveries.next_seq(PLACE)))
            tx.deliveries.set_state("d1", DeliveryState.SENT, NOW, platform_id="p1")
            stored = tx.deliveries.get("d1")
            return stored.state if stored else None

        assert await store.write(script) is DeliveryState.SENT

    # -- executions and waits ------------------------------------------------------------------------------

    async def test_an_execution_comes_back_with_its_positions_steps_and_effects(self, store: Store) -> None:
        effect = Effect("e1", "e1-cursor", 1, "send", EffectState.STARTED, {"n": [1, None]}, NOW)

        def script(tx: Transaction) -> list[Effect]:
            begin_execution(tx, "e1")
            tx.executions.add_steps([Step("e1", 1, "think", "next", "{}", NOW)])
            tx.executions.put_effect(effect)
            tx.executions.put_effect(replace(effect, state=EffectState.FINISHED))
            return tx.executions.effects("e1")

        assert await store.write(script) == [replace(effect, state=EffectState.FINISHED)]
        assert await store.read(lambda tx: tx.executions.cursors("e1")) == [], "the first position is not stored"
        moved = replace(Cursor.start("e1"), node="think", value={"n": 1}, visits=1)
        await store.write(lambda tx: tx.executions.put_cursor(moved))
        assert await store.read(lambda tx: tx.executions.cursors("e1")) == [moved]

    async def test_a_begun_execution_is_not_discarded(self, store: Store) -> None:
        def script(tx: Transaction) -> None:
            for execution_id in ("e1", "e2"):
                begin_execution(tx, execution_id)
            begun = tx.executions.get("e2")
            assert begun is not None
            tx.executions.save(replace(begun, steps=1))
            for execution_id in ("e1", "e2"):
                tx.executions.discard(execution_id)

        await store.write(script)
        assert await store.read(lambda tx: tx.executions.get("e1")) is None
        assert await store.read(lambda tx: tx.executions.get("e2")) is not None

    async def test_the_first_answer_wins(self, store: Store) -> None:
        await store.write(ask, "w1", None)
        answers = [Answer({"said": number}, f"person-{number}") for number in range(16)]
        won = await asyncio.gather(*(store.write(lambda tx, a: tx.waits.answer("w1", a, NOW), a) for a in answers))
        assert won.count(True) == 1
        wait = await store.read(lambda tx: tx.waits.get("w1"))
        assert wait is not None
        assert wait.answer == answers[won.index(True)]

    async def test_questions_fall_due_in_order_and_only_while_open(self, store: Store) -> None:
        for wait_id, expires_at in (("w1", NOW + 20), ("w2", NOW + 10), ("w3", None), ("w4", NOW + 5)):
            await store.write(ask, wait_id, expires_at)
        await store.write(lambda tx: tx.waits.answer("w4", Answer(None, "ann"), NOW))
        assert await store.read(lambda tx: tx.waits.next_due()) == NOW + 10
        due = await store.read(lambda tx: [wait.id for wait in tx.waits.due(NOW + 20, 10)])
        assert due == ["w2", "w1"]
        await store.write(lambda tx: tx.waits.close("execution-w1", NOW))
        assert await store.read(lambda tx: tx.waits.next_due()) == NOW + 10
        open_in_lane = await store.read(lambda tx: tx.waits.open_in_lane("a", WaitKind.USER))
        assert [wait.id for wait in open_in_lane] == ["w2", "w3"]

    # -- accounts and variables ----------------------------------------------------------------------------

    async def test_an_account_comes_back_as_it_went_in(self, store: Store) -> None:
        account = StoredAccount(
            id="01B", name="main", provider="openai", model="m", models=("m", "ü"), sealed_key="v1.x.y",
            base_url="http://127.0.0.1", priority=7, created_at=NOW, updated_at=NOW,
        )  # fmt: skip
        plain = replace(account, id="01A", name="Backup", models=(), sealed_key=None, base_url=None)
        for added in (account, plain):
            assert await store.write(lambda tx, one: tx.accounts.add(one, NOW), added)
        assert await store.read(lambda tx: tx.accounts.all()) == [plain, account]
        changed = replace(account, model="n", status=AccountStatus.DISABLED, sealed_key=None, priority=0)
        await store.write(lambda tx: tx.accounts.update(changed, NOW + 5))
        found = await store.read(lambda tx: tx.accounts.by_name("main"))
        assert found == replace(changed, updated_at=NOW + 5)
        assert [await store.write(lambda tx: tx.accounts.remove("main")) for _ in range(2)] == [True, False]
        assert await store.read(lambda tx: tx.accounts.by_name("main")) is None

    async def test_accounts_of_one_name_at_once_are_one_account(self, store: Store) -> None:
        def script(tx: Transaction) -> bool:
            return tx.accounts.add(StoredAccount(id=tx.new_id(), name="main", provider="demo", model="demo"), NOW)

        assert (await asyncio.gather(*(store.write(script) for _ in range(16)))).count(True) == 1

    async def test_a_variable_is_replaced_and_removed(self, store: Store) -> None:
        for variable in (Variable("city", "Rome"), Variable("city", 'ü"\n', secret=True)):
            await store.write(lambda tx, one: tx.variables.put(one, NOW), variable)
        assert await store.read(lambda tx: tx.variables.get("city")) == Variable("city", 'ü"\n', True, NOW)
        assert [await store.write(lambda tx: tx.variables.remove("city")) for _ in range(2)] == [True, False]
        assert await store.read(lambda tx: tx.variables.get("city")) is None

    async def test_variables_are_read_in_pages_that_leave_none_out(self, store: Store) -> None:
        keys = {"A.b", "a.b", "a-b", "a_b", "z", "Z9", "é"}
        for key in keys:
            await store.write(lambda tx, key: tx.variables.put(Variable(key, key), NOW), key)
        seen: list[str] = []
        while page := await store.read(lambda tx, last: tx.variables.after(last, 2), seen[-1] if seen else ""):
            seen += [variable.key for variable in page]
        assert (len(seen), set(seen)) == (len(keys), keys)

    # -- small things --------------------------------------------------------------------------------------

    async def test_a_login_code_works_once_and_in_time(self, store: Store) -> None:
        await store.write(lambda tx: tx.logins.add_code("code", "owner", NOW + 10, NOW))
        assert not await store.write(lambda tx: tx.logins.use_code("other", NOW))
        assert not await store.write(lambda tx: tx.logins.use_code("code", NOW + 11))
        uses = await asyncio.gather(*(store.write(lambda tx: tx.logins.use_code("code", NOW + 10)) for _ in range(16)))
        assert sorted(uses, key=str) == [None] * 15 + ["owner"]

    async def test_a_session_lasts_until_it_is_closed(self, store: Store) -> None:
        ann = await store.write(lambda tx: tx.principals.seen("web", "ann", "Ann", None, NOW))
        await store.write(lambda tx: tx.logins.open_session("token", ann.id, "", NOW))
        await store.write(lambda tx: tx.logins.touch("token", NOW + 5))
        session = await store.read(lambda tx: tx.logins.session("token"))
        assert session is not None
        assert (session.principal, session.created_at, session.seen_at) == (ann, NOW, NOW + 5)
        await store.write(lambda tx: tx.logins.close_session("token"))
        assert await store.read(lambda tx: tx.logins.session("token")) is None

    async def test_a_setting_is_replaced(self, store: Store) -> None:
        for value in ("a", "b", 'ü"\n'):
            await store.write(put_setting, "word", value)
        assert await store.read(get_setting, "word") == 'ü"\n'

    async def test_a_payload_comes_back_as_it_went_in(self, store: Store) -> None:
        payload = {"text": "ü 🚀", "big": 2**53, "none": None, "list": [1.5, True]}
        added = await store.write(lambda tx: tx.jobs.add(replace(message(), payload=payload), NOW))
        stored = await store.read(lambda tx: tx.jobs.get(added.id))
        assert stored is not None
        assert stored.payload == payload


ROLES = ("member", "owner", "blocked")
StoredIds = tuple[str, MessageStatus, str | None]


def ask(tx: Transaction, wait_id: str, expires_at: int | None) -> None:
    """Store a question with its own execution."""
    execution_id = f"execution-{wait_id}"
    begin_execution(tx, execution_id)
    cursor = f"{execution_id}-cursor"
    tx.waits.add(Wait(wait_id, execution_id, cursor, WaitKind.USER, "Well?", ("yes", "no"), NOW, expires_at))
