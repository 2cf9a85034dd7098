"""Cases for compaction: a message is in the prompts or in exactly one summary, and can be restored."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.conversations import Compaction, CompactionStatus
from arvis.domain.messages import Attachment, FileKind, MessageStatus, PastMessage, Role, StoredMessage
from arvis.domain.past_rounds import Excerpt, PastCall, PastRound
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.ports.conversations import Size
from arvis.ports.store import Store, Transaction
from arvis.store.repositories.messages import LONGEST_FILE
from tests.conformance.store.scripts import AGENT, NOW, PLACE, add_agent, said
from tests.conformance.store.transactions import TransactionCases

DAY_MS = 86_400_000
#: More than any of these conversations contains.
ALL = 100
NOTES = Attachment("notes.md", "text/markdown", 9, "1" * 64, kind=FileKind.DOCUMENT)


def talk(tx: Transaction, turns: int) -> str:
    """Write a conversation of this number of ended turns, each a question and a reply, and an open question."""
    add_agent(tx)
    conversation = tx.conversations.open(AGENT.id, PLACE, NOW)
    for number in range(1, turns + 1):
        end_turn(tx, conversation.id, number)
    tx.messages.add(said("open", execution="open-turn", conversation=conversation.id))
    return conversation.id


def end_turn(tx: Transaction, conversation_id: str, number: int) -> None:
    execution, turn = f"turn-{number}", tx.conversations.next_turn(conversation_id, NOW)
    asked = said(f"asked-{number}", execution=execution, conversation=conversation_id)
    tx.messages.add(replace(asked, content=f"Question {number}"))
    reply = said(f"reply-{number}", role=Role.ASSISTANT, execution=execution, conversation=conversation_id)
    tx.messages.add(replace(reply, content=f"Answer {number}", turn=turn, position=1))
    tx.messages.settle_turn(execution, MessageStatus.ANSWERED, reason=None, turn=turn, reply_id=reply.id)


def summary(
    compaction_id: str, conversation_id: str, first_turn: int, last_turn: int, *, taint: Taint = CLEAN, at: int = NOW
) -> Compaction:
    return Compaction(
        id=compaction_id,
        conversation_id=conversation_id,
        execution_id="compacting",
        first_turn=first_turn,
        last_turn=last_turn,
        summary=f"Turns {first_turn} to {last_turn}",
        tokens=5,
        taint=taint,
        messages_before=20,
        messages_after=16,
        tokens_saved=3,
        status=CompactionStatus.ACTIVE,
        created_at=at,
    )


def ids_of(tx: Transaction, conversation_id: str, first_turn: int, last_turn: int) -> list[str]:
    return [each.id for each in tx.compactions.oldest(conversation_id, ALL) if first_turn <= each.turn <= last_turn]


def compact(tx: Transaction, compaction: Compaction) -> bool:
    ids = ids_of(tx, compaction.conversation_id, compaction.first_turn, compaction.last_turn)
    return tx.compactions.add(compaction, ids)


def oldest(tx: Transaction, conversation_id: str) -> list[PastMessage]:
    return [*tx.compactions.oldest(conversation_id, ALL)]


def history(tx: Transaction, conversation_id: str) -> list[PastMessage]:
    return [*tx.messages.history(conversation_id, ALL)]


ROUNDS = (
    PastRound(
        "Let me look.",
        (
            PastCall("look", {"words": "Grüße", "list": [1, {"a": None}]}, Excerpt("short", 5)),
            PastCall("dig", {}, Excerpt("begin", 900, "end"), failed=True, place=("c", 3, "tool 2: dig")),
            PastCall("vault", {}, Excerpt("", 0), secret=True),
        ),
    ),
    PastRound("", (PastCall("look", {}, Excerpt("", 0)),)),
)
LONG = "a" + "b" * LONGEST_FILE + "c"


def talk_with_rounds_and_files(tx: Transaction) -> str:
    """Write a conversation of three turns, of which the second has files and rounds."""
    conversation = talk(tx, 1)
    turn = tx.conversations.next_turn(conversation, NOW)
    for number in range(2):
        asked = said(f"files-{number}", execution="turn-2", conversation=conversation)
        tx.messages.add(replace(asked, content="Look", position=number))
        tx.files.add(asked.id, [replace(NOTES, content=text) for text in ("small", LONG)])
    reply = said("reply-2", role=Role.ASSISTANT, execution="turn-2", conversation=conversation)
    tx.messages.add(replace(reply, content="Answer 2", turn=turn, position=2, rounds=ROUNDS))
    tx.messages.settle_turn("turn-2", MessageStatus.ANSWERED, reason=None, turn=turn, reply_id=reply.id)
    end_turn(tx, conversation, 3)
    return conversation


class CompactionCases(TransactionCases):
    async def test_the_history_has_the_rounds_and_files_of_its_turns(self, store: Store) -> None:
        conversation = await store.write(talk_with_rounds_and_files)
        for found in (await store.read(history, conversation), await store.read(oldest, conversation)):
            assert [message.rounds for message in found] == [(), (), (), (), ROUNDS, (), ()]
            files = [
                [(each.number, each.text.head[:5], each.text.characters) for each in message.files] for message in found
            ]
            length = len(LONG)
            assert files == [
                [],
                [],
                [(1, "small", 5), (2, "abbbb", length)],
                [(3, "small", 5), (4, "abbbb", length)],
                [],
                [],
                [],
            ]
            assert [message.taint for message in found[1:4]] == [CLEAN, {Label.FILES}, {Label.FILES}]
            text = found[2].files[1].text
            assert (len(text.head), len(text.tail), text.tail[-2:]) == (LONGEST_FILE // 2, LONGEST_FILE // 2, "bc")
            assert found[2].text == "Look\n[Files: notes.md, notes.md]"

    async def test_emptied_messages_have_no_rounds(self, store: Store) -> None:
        conversation = await store.write(talk_with_rounds_and_files)
        assert await store.write(compact, summary("c1", conversation, 1, 2))
        assert await store.write(lambda tx: tx.compactions.forget(NOW + 1, 9, NOW)) == 1

        def back(tx: Transaction) -> StoredMessage | None:
            (kept,) = [each for each in tx.interchange.messages(conversation, "", None, ALL) if each.id == "reply-2"]
            return kept

        kept = await store.write(back)
        assert kept is not None
        assert (kept.content, kept.rounds) == ("", ())

    async def test_a_summary_takes_its_messages_out_of_the_prompts(self, store: Store) -> None:
        conversation = await store.write(talk, 5)
        assert await store.read(lambda tx: tx.compactions.size(conversation)) == Size(messages=10, tokens=20)
        made = summary("c1", conversation, 1, 2, taint=frozenset({Label.PEOPLE, Label.TOOLS}))
        assert await store.write(compact, made)
        assert await store.read(lambda tx: tx.compactions.get("c1")) == made
        assert await store.read(lambda tx: tx.compactions.size(conversation)) == Size(messages=6, tokens=12)
        kept = await store.read(history, conversation)
        assert [message.turn for message in kept] == [3, 3, 4, 4, 5, 5]
        assert await store.read(lambda tx: tx.compactions.oldest(conversation, 2)) == kept[:2]

    async def test_nothing_changes_when_the_range_is_not_what_was_summarised(self, store: Store) -> None:
        conversation = await store.write(talk, 4)
        before = await store.read(history, conversation)

        def wrong(tx: Transaction) -> list[bool]:
            made, right = summary("c1", conversation, 1, 2), ids_of(tx, conversation, 1, 2)
            given: list[list[str]] = [right[:-1], [*right, "asked-3"], [*right, "open"], [*right[:-1], "unknown"], []]
            outside = summary("c1", conversation, 9, 10)
            return [*(tx.compactions.add(made, ids) for ids in given), tx.compactions.add(outside, [])]

        assert await store.write(wrong) == [False] * 6
        assert await store.read(lambda tx: tx.compactions.get("c1")) is None
        assert await store.read(history, conversation) == before

    async def test_no_message_is_in_two_summaries(self, store: Store) -> None:
        conversation = await store.write(talk, 4)
        both = await store.read(ids_of, conversation, 1, 2)
        assert await store.write(compact, summary("c1", conversation, 1, 1))
        assert not await store.write(lambda tx: tx.compactions.add(summary("c2", conversation, 1, 2), both))
        assert await store.write(compact, summary("c2", conversation, 1, 2))
        assert len(await store.read(history, conversation)) == 4

    async def test_a_turn_that_is_tried_again_is_told_anew(self, store: Store) -> None:
        """Its messages leave a range that is being summarised, and a finished summary."""
        conversation = await store.write(talk, 3)
        ids = await store.read(ids_of, conversation, 1, 2)
        await store.write(lambda tx: tx.messages.reopen_turn("turn-2"))
        assert not await store.write(lambda tx: tx.compactions.add(summary("c1", conversation, 1, 2), ids))
        assert await store.write(compact, summary("c1", conversation, 1, 3))

        def again(tx: Transaction) -> None:
            tx.messages.reopen_turn("turn-1")
            turn = tx.conversations.next_turn(conversation, NOW)
            tx.messages.settle_turn("turn-1", MessageStatus.ANSWERED, reason=None, turn=turn, reply_id=None)

        await store.write(again)
        assert [message.id for message in await store.read(history, conversation)] == ["asked-1"]

    async def test_the_last_summaries_come_in_the_order_of_their_turns(self, store: Store) -> None:
        conversation = await store.write(talk, 6)
        for number in range(1, 6):
            assert await store.write(compact, summary(f"c{number}", conversation, number, number))
        await store.write(lambda tx: tx.compactions.restore("c4", NOW))
        found = await store.read(lambda tx: tx.compactions.summaries(conversation, 3))
        assert [each.id for each in found] == ["c2", "c3", "c5"]

    async def test_what_is_restored_is_back_as_it_was(self, store: Store) -> None:
        conversation = await store.write(talk, 4)
        before = await store.read(history, conversation)
        await store.write(compact, summary("c1", conversation, 1, 3))
        assert await store.write(lambda tx: tx.compactions.restore("c1", NOW)) == 6
        assert await store.read(history, conversation) == before
        restored = await store.read(lambda tx: tx.compactions.get("c1"))
        assert restored is not None
        assert restored.status is CompactionStatus.RESTORED
        assert await store.write(lambda tx: tx.compactions.restore("c1", NOW)) is None
        assert await store.write(lambda tx: tx.compactions.restore("unknown", NOW)) is None

    async def test_only_what_is_past_its_time_is_forgotten(self, store: Store) -> None:
        conversation = await store.write(talk, 6)
        for number in range(1, 5):
            await store.write(compact, summary(f"c{number}", conversation, number, number, at=NOW + number * DAY_MS))
        await store.write(lambda tx: tx.compactions.restore("c1", NOW))
        before = NOW + 4 * DAY_MS

        def forget(tx: Transaction) -> int:
            return tx.compactions.forget(before, 1, before)

        assert [await store.write(forget) for _ in range(3)] == [1, 1, 0]
        found = [await store.read(lambda tx, each: tx.compactions.get(f"c{each}"), number) for number in range(1, 5)]
        statuses = [each.status.value for each in found if each is not None]
        assert statuses == ["restored", "final", "final", "active"]
        assert await store.write(lambda tx: tx.compactions.restore("c2", NOW)) is None

        def contents(tx: Transaction) -> list[str]:
            found = [tx.messages.get(f"asked-{number}") for number in range(1, 6)]
            return [each.content for each in found if each is not None]

        assert await store.read(contents) == ["Question 1", "", "", "Question 4", "Question 5"]

    async def test_a_conversation_rests_for_so_many_turns(self, store: Store) -> None:
        conversation = await store.write(talk, 2)

        def rests(tx: Transaction) -> tuple[bool, bool]:
            return tx.compactions.is_postponed(conversation, planned=True), tx.compactions.is_postponed(
                conversation, planned=False
            )

        assert await store.read(rests) == (False, False)
        await store.write(lambda tx: tx.compactions.postpone(conversation, 2, planned_only=True))
        assert await store.read(rests) == (True, False)
        await store.write(lambda tx: tx.compactions.postpone(conversation, 1))
        assert await store.read(rests) == (True, True)
        await store.write(end_turn, conversation, 3)
        assert await store.read(rests) == (True, False)
        await store.write(end_turn, conversation, 4)
        assert await store.read(rests) == (False, False)
