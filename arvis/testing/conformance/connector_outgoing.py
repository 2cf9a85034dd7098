"""Cases for sending. None of them runs the connector: any process may send."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from arvis.ports.connector import ShowsDrafts, ShowsTyping
from arvis.testing.conformance.connector_incoming import TEXT, StageCases, need, need_limit
from arvis.testing.conformance.connector_parts import PATIENCE, delivery, parts_of, send_all

WORD = "wort{:05d}"
_CALLS = "@everyone @here @ann <@1> <@U1> <!channel> <!here> <!everyone> <@&1>"


class OutgoingCases(StageCases):
    async def test_a_text_goes_out(self) -> None:
        async with self.stage() as stage:
            address = stage.address(direct=True)
            receipts = await send_all(await stage.connector(), delivery(address, "Grüße, 東京 and 👩‍🚀"))
            shown = stage.shown(address)
            assert [one.platform_id for one in shown] == [receipt.platform_id for receipt in receipts]
            assert "Grüße, 東京 and 👩‍🚀" in shown[0].text

    async def test_it_goes_to_its_thread(self) -> None:
        async with self.stage() as stage:
            need(stage, "threads")
            address = stage.address(thread="plans")
            await send_all(await stage.connector(), delivery(address, "inside"))
            assert [one.text.strip() for one in stage.shown(address)] == ["inside"]
            assert not stage.shown(stage.address())

    async def test_it_replies_to_its_question(self) -> None:
        async with self.stage() as stage:
            need(stage, "replies", "groups")
            ref = await stage.say("a question", direct=False)
            address = stage.address()
            await send_all(await stage.connector(), delivery(address, "an answer", reply_ref=ref))
            assert stage.shown(address)[0].reply_ref == ref

    async def test_a_question_that_was_deleted_is_answered_all_the_same(self) -> None:
        async with self.stage() as stage:
            need(stage, "replies", "groups")
            ref = await stage.say("a question", direct=False)
            await stage.delete(ref)
            address = stage.address()
            await send_all(await stage.connector(), delivery(address, "an answer", reply_ref=ref))
            assert len(stage.shown(address)) == 1

    async def test_a_plan_stays_the_same(self) -> None:
        async with self.stage() as stage:
            connector = await stage.connector()
            planned = delivery(stage.address(), " ".join(map(WORD.format, range(stage.text_limit // 4))))
            assert list(connector.plan(planned)) == list(connector.plan(planned))

    async def test_a_long_text_leaves_in_order_within_the_limit(self) -> None:
        async with self.stage() as stage:
            need_limit(stage)
            words = list(map(WORD.format, range(stage.text_limit * 3 // len(WORD.format(0)))))
            connector, address = await stage.connector(), stage.address(direct=True)
            await send_all(connector, delivery(address, " ".join(words)))
            shown = stage.shown(address)
            assert all(stage.length(one.text) <= stage.text_limit for one in shown)
            assert " ".join(one.text for one in shown).split() == words

    async def test_long_code_stays_code(self) -> None:
        async with self.stage() as stage:
            need_limit(stage)
            lines = [f"{WORD.format(number)} = 1" for number in range(stage.text_limit // 8)]
            connector, address = await stage.connector(), stage.address(direct=True)
            await send_all(connector, delivery(address, "\n".join(["Look:", "```python", *lines, "```", "Done."])))
            shown = stage.shown(address)
            assert all(stage.length(one.text) <= stage.text_limit for one in shown)
            assert all(one.text.count("```") % 2 == 0 for one in shown)
            sent = [line.strip() for one in shown for line in one.text.splitlines()]
            assert [line for line in sent if line.endswith(" = 1")] == lines

    async def test_markup_that_is_not_closed_is_no_reason_to_fail(self) -> None:
        async with self.stage() as stage:
            connector, address = await stage.connector(), stage.address(direct=True)
            for number, text in enumerate(("**a", "```py\nx", "[a](", "_*`~|<b>&amp;", "> ", "# ", "|a|\n|-|"), 1):
                await send_all(connector, delivery(address, f"word {text}", number=number))
            assert len(stage.shown(address)) == 7

    async def test_nobody_is_called(self) -> None:
        async with self.stage() as stage:
            address = stage.address()
            await send_all(await stage.connector(), delivery(address, f"{_CALLS} hello"))
            assert [one.pings for one in stage.shown(address)] == [()]

    async def test_a_message_takes_its_content(self) -> None:
        async with self.stage() as stage:
            need(stage, "changes")
            connector, address = await stage.connector(), stage.address(direct=True)
            [receipt] = await send_all(connector, delivery(address, "one moment"))
            [part] = parts_of(connector, delivery(address, "the answer", number=2))
            filled = replace(part, platform_id=receipt.platform_id)
            for _ in range(2):
                assert await connector.send(filled) == receipt
            assert [one.text.strip() for one in stage.shown(address)] == ["the answer"]

    async def test_content_whose_message_is_gone_is_sent_anew(self) -> None:
        async with self.stage() as stage:
            need(stage, "changes")
            connector, address = await stage.connector(), stage.address(direct=True)
            [receipt] = await send_all(connector, delivery(address, "one moment"))
            await stage.delete(receipt.platform_id)
            [part] = parts_of(connector, delivery(address, "the answer", number=2))
            sent = await connector.send(replace(part, platform_id=receipt.platform_id))
            assert [one.platform_id for one in stage.shown(address)] == [sent.platform_id]

    async def test_typing_is_shown(self) -> None:
        async with self.stage() as stage:
            connector = await stage.connector()
            if not isinstance(connector, ShowsTyping):
                pytest.skip("this platform shows no typing")
            assert connector.typing_seconds > 0
            await connector.typing(stage.address(direct=True))
            assert not stage.shown(stage.address(direct=True))

    async def test_a_draft_changes_and_goes(self) -> None:
        async with self.stage() as stage:
            connector, address = await stage.connector(), stage.address(direct=True)
            if not isinstance(connector, ShowsDrafts):
                pytest.skip("this platform shows no drafts")
            assert connector.draft_seconds > 0
            shown = await connector.show_draft(address, "01JX0000000000000000000001", "thinking", ())
            if shown is not None:
                await connector.change_draft(address, shown, "thinking harder", ())
                assert [one.text.strip() for one in stage.shown(address)] == ["thinking harder"]
                await connector.remove_draft(address, shown)
                await connector.remove_draft(address, shown)
            assert not stage.shown(address)

    async def test_the_answer_takes_the_place_of_its_draft(self) -> None:
        async with self.stage() as stage:
            connector, address = await stage.connector(), stage.address(direct=True)
            if not isinstance(connector, ShowsDrafts):
                pytest.skip("this platform shows no drafts")
            shown = await connector.show_draft(address, "01JX0000000000000000000001", "thinking", ())
            [part] = parts_of(connector, delivery(address, TEXT))
            await connector.send(replace(part, platform_id=shown))
            assert len(stage.shown(address)) == 1

    async def test_nothing_is_left_open(self) -> None:
        async with self.stage() as stage:
            before = len(asyncio.all_tasks())
            connector = await stage.connector()
            await send_all(connector, delivery(stage.address(direct=True), "hello"))
            await connector.close()
            await connector.close()
            async with asyncio.timeout(PATIENCE):
                while len(asyncio.all_tasks()) > before:  # noqa: ASYNC110  (a server's side ends by itself, unseen)
                    await asyncio.sleep(0.01)
