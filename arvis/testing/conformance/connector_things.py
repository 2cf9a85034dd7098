"""Cases for files and buttons."""

from __future__ import annotations

import pytest

from arvis.domain.messages import Button, OutgoingFile
from arvis.ports.connector import FetchError, FetchesFiles
from arvis.testing.conformance.connector_incoming import StageCases, need, need_limit
from arvis.testing.conformance.connector_parts import RememberingInbox, delivery, running, send_all

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
BUTTONS = (Button("yes:01J0", "Yes, do it"), Button("no:01J0", "No"))


class ThingCases(StageCases):
    async def test_a_file_is_named_and_fetched_later(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            connector, inbox = await stage.connector(), RememberingInbox()
            async with running(connector, inbox):
                await stage.say_file("notes.txt", "text/plain", PICTURE, text="look")
                message = await inbox.message("look")
            [file] = message.files
            assert not message.uploads
            assert not file.voice
            assert file.filename == "notes.txt"
            assert file.size in {None, len(PICTURE)}
            assert isinstance(connector, FetchesFiles)
            assert await connector.fetch(file.source, len(PICTURE)) == PICTURE
            with pytest.raises(FetchError) as caught:
                await connector.fetch(file.source, len(PICTURE) - 1)
            assert caught.value.permanent

    async def test_what_was_spoken_is_known_as_such(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            connector, inbox = await stage.connector(), RememberingInbox()
            async with running(connector, inbox):
                await stage.say_file("voice.ogg", "audio/ogg", PICTURE, voice=True)
                await inbox.until(lambda: inbox.messages)
            [file] = inbox.messages[0].files
            assert file.voice
            assert file.content_type.startswith("audio/")

    async def test_a_file_that_is_not_there_cannot_be_fetched(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            connector = await stage.connector()
            assert isinstance(connector, FetchesFiles)
            with pytest.raises(FetchError):
                await connector.fetch("nothing", 1_000)

    async def test_a_file_goes_out_with_its_text(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            address = stage.address(direct=True)
            file = OutgoingFile("answer.md", "text/markdown", 6, content="# Hello"[:6])
            await send_all(await stage.connector(), delivery(address, "here it is", files=[file]))
            shown = stage.shown(address)
            assert [name for one in shown for name in one.files] == ["answer.md"]
            assert "here it is" in "".join(one.text for one in shown)

    async def test_a_file_goes_out_alone(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            address = stage.address(direct=True)
            file = OutgoingFile("answer.md", "text/markdown", 5, content="Hello")
            await send_all(await stage.connector(), delivery(address, "", files=[file]))
            assert [name for one in stage.shown(address) for name in one.files] == ["answer.md"]

    async def test_what_is_too_long_becomes_a_file(self) -> None:
        async with self.stage() as stage:
            need(stage, "files")
            need_limit(stage)
            address = stage.address(direct=True)
            text = "Words of some length. " * stage.text_limit
            await send_all(await stage.connector(), delivery(address, text))
            shown = stage.shown(address)
            assert [name for one in shown for name in one.files] == ["answer.md"]
            assert shown[0].text.startswith("Words of some length.")
            assert all(stage.length(one.text) <= stage.text_limit for one in shown)

    async def test_buttons_stand_below_the_last_part(self) -> None:
        async with self.stage() as stage:
            need(stage, "buttons")
            need_limit(stage)
            address = stage.address(direct=True)
            text = "Shall I? " * (stage.text_limit // 6)
            await send_all(await stage.connector(), delivery(address, text, buttons=BUTTONS))
            *above, last = stage.shown(address)
            assert above
            assert not any(one.buttons for one in above)
            assert last.buttons == tuple(button.id for button in BUTTONS)

    async def test_a_click_comes_in(self) -> None:
        async with self.stage() as stage:
            need(stage, "buttons")
            address = stage.address(direct=True)
            connector, inbox = await stage.connector(), RememberingInbox()
            async with running(connector, inbox):
                await stage.say("do it")
                asked = await inbox.message("do it")
                await send_all(connector, delivery(address, "Shall I?", buttons=BUTTONS))
                [shown] = stage.shown(address)
                await stage.click(shown.platform_id, BUTTONS[1].id)
                await inbox.until(lambda: inbox.clicks)
            click = inbox.clicks[0]
            assert (click.data, click.address, click.message_ref) == (BUTTONS[1].id, address, shown.platform_id)
            assert click.sender.user_id == asked.sender.user_id
            assert click.event_id

    async def test_two_clicks_are_two_events(self) -> None:
        async with self.stage() as stage:
            need(stage, "buttons")
            address = stage.address(direct=True)
            connector, inbox = await stage.connector(), RememberingInbox()
            async with running(connector, inbox):
                await send_all(connector, delivery(address, "Shall I?", buttons=BUTTONS))
                [shown] = stage.shown(address)
                for button in BUTTONS:
                    await stage.click(shown.platform_id, button.id)
                await inbox.until(lambda: len(inbox.clicks) > 1)
            assert [click.data for click in inbox.clicks] == [button.id for button in BUTTONS]
            assert len({click.event_id for click in inbox.clicks}) == 2
