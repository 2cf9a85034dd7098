"""The tutorial as its reader follows it: every command of its pages, in order, with the real daemon and a Telegram server.

The pages are the script. In their blocks

- `console` has commands after `$ `, each followed by lines that its output contains, in this order,
- `text title="Telegram"` has messages to the bot (`You: `) and lines that its answers contain (`Bot: `),
- any other block with a title is a file that the reader writes.

`…` stands for any text. CODE, USER, RUN and QUESTION are values that the reader copies from an earlier output.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipFile

from tests.acceptance.daemon import ROOT, Daemon, environment
from tests.platforms.telegram_stage import TOKEN, TelegramStage

TUTORIAL = ROOT / "docs" / "tutorial"
PAGES = ("first-conversation", "telegram-bot", "schedule", "workflow", "backup", "tool", "evaluation")

_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: Values that the reader copies: the form of each in an output, or in an answer of the bot.
_COPIED = {
    "CODE": re.compile(r"\b[A-Z0-9]{5}-[A-Z0-9]{5}\b"),
    "USER": re.compile(r"telegram +(\d+)"),
    "RUN": re.compile(r"\(run (\w+)\)"),
    "QUESTION": re.compile(r"^(\w{26}) +approval", re.MULTILINE),
}
#: Commands that prepare the reader's terminal.
_OF_THE_TERMINAL = (". .venv/bin/activate",)


@dataclass
class Reader:
    folder: Path
    daemon: Daemon
    telegram: TelegramStage
    copied: dict[str, str] = field(default_factory=dict)
    #: The number of the bot's messages that earlier blocks have described.
    seen: int = 0
    has_bot: bool = False

    async def follow(self, page: str) -> None:
        for language, title, text in blocks(page):
            if language == "console":
                for command, expected in commands(text):
                    await self.type(command, expected)
            elif title == "Telegram":
                await self.chat(text.splitlines())
            else:
                file = self.folder / title
                file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8")

    async def type(self, command: str, expected: list[str]) -> None:
        """Run a command of the reader, and compare its output with the page."""
        polls = self.polls()
        if command.startswith(_OF_THE_TERMINAL):
            return
        if command == "^C":
            await asyncio.to_thread(self.daemon.stop)
        elif command == "make run":
            await asyncio.to_thread(self.daemon.start)
        elif command.startswith("pip install "):
            await asyncio.to_thread(self.install, self.folder / command.removeprefix("pip install "))
        else:
            output = await asyncio.to_thread(self.run, self.filled(command))
            self.copy(output)
            check(expected, output.splitlines(), command)
            self.has_bot = self.has_bot or command.startswith("arvis bots create")
        if self.has_bot and command.startswith(("make run", "arvis bots create")):
            # A bot gets no messages that are older than its first poll.
            await self.telegram.server.until(lambda: self.polls() > polls)

    def polls(self) -> int:
        return self.telegram.server.counts["getupdates"]

    def run(self, command: str) -> str:
        first, *rest = shlex.split(command)
        if (first, *rest[:2]) == ("arvis", "bots", "create"):
            rest += ["--set", f"api_url={self.telegram.server.url}"]
        words = [sys.executable, "-m", "arvis", *rest] if first == "arvis" else [first, *rest]
        return subprocess.run(
            words,
            cwd=self.folder,
            env=environment(**self.daemon.settings),
            input=f"{TOKEN}\n" if "--secret" in rest else "",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        ).stdout

    def install(self, package: Path) -> None:
        """Install the package as pip does, but without a network."""
        out = self.folder / "out"
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
        subprocess.run(build, cwd=package, check=True, capture_output=True)
        (wheel,) = out.iterdir()
        with ZipFile(wheel) as opened:
            opened.extractall(self.folder / "site")

    async def chat(self, lines: list[str]) -> None:
        for line in lines:
            speaker, _, text = line.partition(": ")
            if speaker == "You":
                await self.telegram.say(self.filled(text))
                continue
            try:
                await self.telegram.server.until(lambda: len(self.shown()) > self.seen)
            except TimeoutError:
                raise AssertionError(f"no answer {line!r} after:\n" + "\n".join(self.shown())) from None
            answer = self.shown()[self.seen]
            self.seen += 1
            self.copy(answer)
            check([self.filled(text)], answer.splitlines(), line)

    def shown(self) -> list[str]:
        return [shown.text for shown in self.telegram.shown(self.telegram.address(direct=True))]

    def copy(self, output: str) -> None:
        for name, form in _COPIED.items():
            found = form.search(output)
            if found:
                self.copied[name] = found[found.lastindex or 0]

    def filled(self, text: str) -> str:
        return re.sub(r"\b(CODE|USER|RUN|QUESTION)\b", lambda name: self.copied.get(name[0], name[0]), text)


def blocks(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield language, title and text of each block of a page."""
    for found in _BLOCK.finditer((TUTORIAL / f"{page}.md").read_text(encoding="utf-8")):
        yield found[1], found[2] or "", found[3]


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a console block with the lines of its output."""
    expected: list[str] = []
    command = ""
    for line in [*text.splitlines(), "$ "]:
        if line.startswith("$ ") or line == "^C":
            if command:
                yield command, expected
            command, expected = line.removeprefix("$ "), []
        else:
            expected.append(line)


def check(expected: list[str], output: list[str], where: str) -> None:
    """Fail unless each expected line is found in the output, in this order."""
    rest = iter(output)
    for line in expected:
        pattern = re.compile(".*".join(re.escape(part.strip()) for part in re.split("…|CODE|USER|RUN", line)))
        assert any(pattern.search(each) for each in rest), f"{where}: no line {line!r} in\n" + "\n".join(output)


async def test_the_tutorial_works_as_it_is_written(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, settings={"PYTHONPATH": f"{ROOT}:{tmp_path / 'site'}"})
    try:
        async with TelegramStage.open() as telegram:
            reader = Reader(tmp_path, daemon, telegram)
            for page in PAGES:
                await reader.follow(page)
    finally:
        daemon.close()
    assert {file.stem for file in TUTORIAL.glob("*.md")} == set(PAGES)
