"""Files that come with messages: the prompts with them, the notices to people, and work that is never repeated."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from arvis.domain.messages import Attachment, FileKind, FileState, MessageStatus, OutgoingFile, Upload
from arvis.domain.runs import RunRequest
from arvis.domain.tools import Source, ToolOutput
from arvis.ports.connector import FetchError
from arvis.ports.store import Transaction
from arvis.ports.transcriber import Sound, Speaker, SpeechError
from arvis.process.subprocesses import GuardedPrograms
from arvis.providers.speech import CommandTranscriber
from arvis.store.open import Database
from arvis.tasks.rounds import TOOL_EFFECT
from arvis.tasks.state import WorkState
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.media_kit import KeepingConnector, docx, pdf, png, waiting, wav
from tests.flows.scripted import BOT, PLATFORM, Held, asking, call


class Ears:
    """A `Transcriber` that returns the given texts."""

    def __init__(self, *heard: str | SpeechError | Held) -> None:
        self.heard = list(heard)
        self.sounds: list[Sound] = []

    async def transcribe(self, sound: Sound) -> str:
        self.sounds.append(sound)
        match self.heard.pop(0):
            case SpeechError() as error:
                raise error
            case Held() as held:
                await held.wait()
                return held.text
            case words:
                return words

    async def close(self) -> None: ...


class Mouth:
    """A `Speaker` that records the texts."""

    def __init__(self, *, mute: bool = False) -> None:
        self.mute = mute
        self.spoken: list[str] = []

    async def speak(self, text: str) -> Sound:
        self.spoken.append(text)
        if self.mute:
            raise SpeechError("the voice is gone", permanent=True)
        return Sound(b"sound", "audio/ogg", "answer.ogg")

    async def close(self) -> None: ...


@asynccontextmanager
async def app_with_files(
    database: Database, *, ears: Ears | None = None, mouth: Speaker | None = None
) -> AsyncIterator[tuple[AppHarness, KeepingConnector]]:
    async with open_app(database, started=False, transcriber=ears, speaker=mouth) as app:
        platform = KeepingConnector()
        app.connector = app.connectors[PLATFORM, BOT] = platform
        yield app, platform


async def sent(app: AppHarness, text: str, *files: Attachment) -> str:
    """Queue a message with these files."""
    received = await app.say(text)

    def add(tx: Transaction) -> None:
        tx.files.add(received.message_id, files)

    await app.store.write(add)
    return received.message_id


async def answered(app: AppHarness, message_id: str) -> RunRequest:
    """Return the request for the answer."""
    await app.start()
    await app.until_status(message_id, MessageStatus.ANSWERED)
    return app.provider.asked[-1]


async def files_of(app: AppHarness, message_id: str) -> list[Attachment]:
    return await app.store.read(lambda tx: tx.files.of_message(message_id))


async def test_a_picture_reaches_a_model_that_sees(database: Database) -> None:
    async with app_with_files(database) as (app, platform):
        platform.files["cat.png"] = png()
        request = await answered(app, await sent(app, "What is this?", waiting("cat.png")))
        newest = request.turns[-1]
        assert [(image.media_type, image.data, image.name) for image in newest.images] == [
            ("image/png", png(), "cat.png")
        ]
        assert "[Picture cat.png (image/png, " in newest.content


async def test_a_model_that_does_not_see_is_told_of_it(database: Database) -> None:
    async with app_with_files(database) as (app, platform):
        app.senses.sighted = False
        platform.files["cat.png"] = png()
        request = await answered(app, await sent(app, "What is this?", waiting("cat.png")))
        assert request.turns[-1].images == ()
        assert "[Image cat.png: this model cannot see images." in request.turns[-1].content


async def test_later_turns_know_which_files_came(database: Database) -> None:
    async with app_with_files(database) as (app, platform):
        platform.files |= {"plan.txt": b"the plan", "a[b].txt": b"x"}
        message_id = await sent(app, "", *map(waiting, platform.files))
        await answered(app, message_id)
        for question in ("What did I send?", "And what does it say?"):
            await app.ask(question)
            earlier, *_ = app.provider.asked[-1].turns
            assert "[File plan.txt (text/plain, 8 bytes)." in earlier.content
            assert "> the plan" in earlier.content


async def test_documents_are_quoted_and_lie_in_the_agents_folder(database: Database) -> None:
    async with app_with_files(database) as (app, platform):
        platform.files |= {"a.pdf": pdf("page one"), "b.docx": docx("a letter"), "../c.txt": b"one\n[STATE:x] two"}
        message_id = await sent(app, "Read.", *map(waiting, platform.files))
        content = (await answered(app, message_id)).turns[-1].content
        assert "> page one" in content
        assert "> a letter" in content
        assert "> one\n> ［STATE:x] two" in content  # noqa: RUF001 (how tags are made harmless)
        files = await files_of(app, message_id)
        assert {file.kind for file in files} == {FileKind.DOCUMENT}
        laid_out = sorted(path.name[7:] for path in app.senses.sessions.glob("*/workspace/files/*"))
        assert laid_out == ["a.pdf", "b.docx", "c.txt"]
        told = {word.removesuffix(".") for word in content.split() if word.startswith("files/")}
        assert told == {
            path.relative_to(path.parents[1]).as_posix() for path in app.senses.sessions.glob("*/*/files/*")
        }


async def test_uploads_that_brought_their_bytes_are_read_too(database: Database) -> None:
    async with open_app(database) as app:
        timeline = await app.ask("Read.", uploads=(Upload("notes.md", "image/png", b"# Hello"),))
        assert "> # Hello" in app.provider.asked[-1].turns[-1].content
        (file,) = timeline.message.attachments
        assert (file.kind, file.content_type, file.content) == (FileKind.DOCUMENT, "text/markdown", "# Hello")


async def test_a_voice_message_is_heard_and_stays_in_the_history(database: Database) -> None:
    ears = Ears("Where is the train?")
    async with app_with_files(database, ears=ears) as (app, platform):
        platform.files["voice"] = wav()
        request = await answered(app, await sent(app, "", waiting("voice", voice=True)))
        assert request.turns[-1].content == "[Voice]: Where is the train?"
        assert [sound.content_type for sound in ears.sounds] == ["audio/wav"]
        await app.ask("And now?")
        assert app.provider.prompts[-1][0] == "user: [Voice]: Where is the train?"


async def test_a_program_hears_for_the_agents(database: Database) -> None:
    ears = CommandTranscriber(programs=GuardedPrograms(), command="basename {file}", environ=os.environ, memory=1 << 28)
    async with open_app(database, started=False, transcriber=ears) as app:
        platform = KeepingConnector()
        app.connectors[PLATFORM, BOT] = platform
        platform.files["voice"] = wav()
        request = await answered(app, await sent(app, "Listen:", waiting("voice", voice=True)))
        assert request.turns[-1].content == "Listen:\n[Voice]: voice.wav"


async def test_without_ears_the_person_is_told(database: Database) -> None:
    async with app_with_files(database) as (app, platform):
        platform.files["voice"] = wav()
        message_id = await sent(app, "", waiting("voice", voice=True))
        await app.start()
        await app.until_status(message_id, MessageStatus.ANSWERED)
        assert await app.until_sent(1) == [
            "I could not read voice: voice messages cannot be transcribed here: no speech engine is set up."
        ]
        assert not app.provider.asked


async def test_a_file_that_is_gone_is_told_to_the_model(database: Database) -> None:
    async with app_with_files(database) as (app, platform):
        platform.errors["a.txt"] = [FetchError("the link has expired", permanent=True)]
        message_id = await sent(app, "Sum this up.", waiting("a.txt"))
        content = (await answered(app, message_id)).turns[-1].content
        assert "could not be read: it could not be fetched (the link has expired). Tell the person.]" in content
        (file,) = await files_of(app, message_id)
        assert (file.state, file.kind) == (FileState.FAILED, FileKind.OTHER)
        assert platform.fetched == ["a.txt"]


@pytest.mark.parametrize("misses", [2, 3])
async def test_a_fetch_that_fails_is_tried_again_and_then_given_up(database: Database, misses: int) -> None:
    async with app_with_files(database) as (app, platform):
        platform.files["a.txt"] = b"found"
        platform.errors["a.txt"] = [FetchError("no connection")] * misses
        message_id = await sent(app, "Sum this up.", waiting("a.txt"))
        content = (await answered(app, message_id)).turns[-1].content
        assert ("> found" in content) == (misses == 2)
        assert len(platform.fetched) == 3


async def test_what_was_fetched_is_not_fetched_again(database: Database) -> None:
    ears = Ears(SpeechError("the engine is busy"), "at last")
    async with app_with_files(database, ears=ears) as (app, platform):
        platform.files |= {"a.txt": b"text", "voice": wav()}
        request = await answered(app, await sent(app, "", waiting("a.txt"), waiting("voice", voice=True)))
        assert platform.fetched == ["a.txt", "voice"]
        assert len(ears.sounds) == 2
        assert "[Voice]: at last" in request.turns[-1].content


async def test_what_is_too_large_is_not_kept(database: Database) -> None:
    async with app_with_files(database) as (app, platform):
        platform.files["big"] = bytes(2_000_000)
        message_id = await sent(app, "Read.", waiting("big"))
        assert "it has 2000000 bytes" in (await answered(app, message_id)).turns[-1].content
        assert not list((database.folder / "blobs").rglob("*"))


async def test_a_restart_while_it_is_read_fetches_nothing_again(database: Database) -> None:
    ears = Ears(held := Held(), "heard after all")
    async with app_with_files(database, ears=ears) as (app, platform):
        platform.files |= {"a.txt": b"text", "voice": wav()}
        message_id = await sent(app, "", waiting("a.txt"), waiting("voice", voice=True))
        await app.start()
        await held.until_begun()
        await app.restart()
        await app.until_status(message_id, MessageStatus.ANSWERED)
        assert platform.fetched == ["a.txt", "voice"]
        assert [file.content for file in await files_of(app, message_id)] == ["text", "heard after all"]
        assert app.provider.asked[-1].turns[-1].content.count("heard after all") == 1


async def test_a_voice_message_is_answered_aloud(database: Database) -> None:
    mouth = Mouth()
    async with app_with_files(database, ears=Ears("hello"), mouth=mouth) as (app, platform):
        platform.files["voice"] = wav()
        app.provider.script.append("# Hi\n**Here** is [a link](http://x.example).")
        message_id = await sent(app, "", waiting("voice", voice=True))
        await answered(app, message_id)
        assert mouth.spoken == ["Hi\nHere is a link."]
        assert await app.store.read(state_files, message_id) == ["answer.ogg"]
        await app.ask("written")
        assert len(mouth.spoken) == 1


async def test_what_cannot_be_spoken_is_sent_as_text_and_told_to_the_agent(database: Database) -> None:
    async with app_with_files(database, ears=Ears("hello"), mouth=Mouth(mute=True)) as (app, platform):
        platform.files["voice"] = wav()
        message_id = await sent(app, "", waiting("voice", voice=True))
        await answered(app, message_id)
        assert await app.until_sent(1) == ["Re: [Voice]: hello"]
        assert await app.store.read(state_files, message_id) == []
        (incident,) = await app.store.read(untold, message_id)
        assert "the voice is gone" in incident


async def test_a_file_that_a_tool_gave_leaves_with_the_reply(database: Database) -> None:
    async with open_app(database, agents=[agent_with(tools=("look",), allow_users=("ann",))]) as app:
        app.tools.look.given = OutgoingFile("chart.png", "image/png", 5, await app.store.put_blob(b"chart"))
        app.provider.script += [asking(call(1, "look", words="x")), "Here it is."]
        timeline = await app.ask("Show me.")
        assert await app.store.read(state_files, timeline.message.id) == ["chart.png"]


async def test_a_page_that_a_tool_cited_is_stored_with_its_output(database: Database) -> None:
    async with open_app(database, agents=[agent_with(tools=("look",), allow_users=("ann",))]) as app:
        app.tools.look.cited = Source("https://moths.example/", "Moths")
        app.provider.script += [asking(call(1, "look", words="x")), "Here it is."]
        timeline = await app.ask("Look it up.")
        (output,) = await app.store.read(outputs_of, timeline.message.id)
        assert output.sources == (Source("https://moths.example/", "Moths"),)
        assert ToolOutput.from_json(output.to_json()) == output


def outputs_of(tx: Transaction, message_id: str) -> list[ToolOutput]:
    """Return the stored outputs of the tool calls of a message's turn."""
    message = tx.messages.get(message_id)
    effects = tx.executions.effects(message.execution_id or "") if message else []
    return [ToolOutput.from_json(each.result) for each in effects if each.name.startswith(TOOL_EFFECT) and each.result]


def state_files(tx: Transaction, message_id: str) -> list[str]:
    """Return the files that a message's turn sends."""
    message = tx.messages.get(message_id)
    execution = tx.executions.get(message.execution_id or "") if message else None
    return [file.filename for file in WorkState.from_json(execution.state).files] if execution else []


def untold(tx: Transaction, message_id: str) -> list[str]:
    message = tx.messages.get(message_id)
    return [each.text for each in tx.incidents.unreported(message.conversation_id or "", 10)] if message else []
