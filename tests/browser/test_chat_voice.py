"""Voice in the chat: the daemon transcribes a recording, and speech that the browser recognises becomes a message."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.chatting import answers, connected, expect_statuses, log_in, questions
from tests.browser.daemon import Daemon
from tests.browser.watching import Watch
from tests.parts import require

RECOGNISER = Path(__file__).parents[1] / "wings" / "recogniser.py"
WORDS = "please tell me what the weather will be like in the north tomorrow"

#: Replaces the speech recognition of some browsers: `hear(words, isFinal)` sets its result.
RECOGNITION = """
window.SpeechRecognition = window.webkitSpeechRecognition = class {
    start() {
        window.hear = (words, isFinal) => this.onresult({resultIndex: 0, results: [{0: {transcript: words}, isFinal}]});
    }
    stop() { this.onend(); }
};
"""


@pytest_asyncio.fixture(loop_scope="session")
async def hearing(tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon that transcribes voice messages."""
    (tmp_path / "config.yaml").write_text(
        f"speech:\n  stt:\n    engine: command\n    command: {sys.executable} {RECOGNISER} {{file}}\n"
    )
    daemon = Daemon(tmp_path)
    try:
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()


@pytest_asyncio.fixture(loop_scope="session")
async def speaking(browser: Browser, tmp_path: Path) -> AsyncIterator[Page]:
    """A page whose microphone plays a recording of speech."""
    sound = tmp_path / "voice.wav"
    speech = (require("espeak-ng"), "-v", "en-us", "-s", "130", "-w", str(sound), WORDS)
    assert await (await asyncio.create_subprocess_exec(*speech)).wait() == 0
    arguments = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    arguments.append(f"--use-file-for-fake-audio-capture={sound}")
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    other = await browser.browser_type.launch(executable_path=require("chromium"), args=arguments)
    try:
        yield await other.new_page()
    finally:
        await other.close()


async def test_a_recording_is_heard_and_answered(speaking: Page, hearing: Daemon) -> None:
    require("ffmpeg")
    watch = Watch(hearing.address)
    await watch.over(speaking)
    await log_in(speaking, hearing)
    await speaking.get_by_role("button", name="Record a voice message").click()
    await expect(speaking.get_by_role("timer")).to_have_text("Recording · 4 s", timeout=10_000)
    await speaking.get_by_role("button", name="Send the recording").click()
    await expect(answers(speaking)).to_have_count(1, timeout=20_000)
    (talk,) = (await hearing.api("GET", "/api/conversations"))["items"]
    messages = (await hearing.api("GET", f"/api/conversations/{talk['id']}/messages"))["items"]
    (file,) = messages[-1]["attachments"]
    assert (file["kind"], file["contentType"], file["problem"]) == ("voice", "audio/webm", "")
    await expect(questions(speaking)).to_contain_text(["[Voice]:"])
    heard = str(await questions(speaking).text_content()).split()
    assert len(set(heard) & set(WORDS.split())) >= 2, heard
    await expect_statuses(speaking, "Answered")
    watch.check()


async def test_a_recording_can_be_discarded(speaking: Page, hearing: Daemon) -> None:
    await log_in(speaking, hearing)
    await speaking.get_by_role("button", name="Record a voice message").click()
    await speaking.get_by_role("button", name="Discard the recording").click()
    await expect(speaking.get_by_role("button", name="Record a voice message")).to_be_visible()
    await expect(speaking.locator("[data-kind=user]")).to_have_count(0)


async def test_what_the_browser_hears_becomes_a_message(dashboard: Page) -> None:
    await dashboard.add_init_script(RECOGNITION)
    await dashboard.goto("/chat")
    await connected(dashboard)
    await dashboard.get_by_role("button", name="Dictate").click()
    await dashboard.evaluate("hear('demo: say heard you', true)")
    await dashboard.evaluate("hear('and thank', false)")
    await expect(dashboard.get_by_text("and thank", exact=True)).to_be_visible()
    await dashboard.evaluate("hear('and thank you', true)")
    await dashboard.get_by_role("button", name="Stop dictating").click()
    await expect(questions(dashboard)).to_have_text(["demo: say heard you and thank you"])
    await expect(answers(dashboard)).to_have_text(["heard you and thank you"])
