"""The shipped daemon with a bot on each platform: the chats as people see them, and the state of the bots as the owner
sees it.

One daemon serves all tests. Each test has its own channel, since the daemon remembers earlier messages of a channel.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import pytest
import pytest_asyncio

from arvis.testing.openai_server import CallsTools, Hang, OpenAIServer, Reply, openai_server
from tests.acceptance.daemon import Daemon
from tests.acceptance.place import PATIENCE
from tests.acceptance.town import PLATFORMS, Chats, Held, Parrot, asked, settle_in, text_of, town, until
from tests.flows.media_kit import png

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: `write_file` needs a person's approval for each call.
AGENT = {"slug": "helper", "name": "Helper", "tools": ["write_file"], "model": "openai/gpt-4o-mini"}
CODE = re.compile(r"[A-Z0-9]{5}-[A-Z0-9]{5}")


@dataclass
class Home:
    daemon: Daemon
    model: OpenAIServer
    chats: Mapping[str, Chats]

    async def arvis(self, *arguments: str, typed: str = "") -> str:
        """Run a command of the owner, and return its output."""
        done = await asyncio.to_thread(self.daemon.arvis, *arguments, typed=typed)
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def start(self) -> None:
        """Return when all bots are up; a message that is sent before a bot's first connection would not arrive."""
        await asyncio.to_thread(self.daemon.start)
        await until(
            lambda: {self.states().get(f"{name}/main") for name in PLATFORMS} == {"running"}, "bots that are up"
        )

    def states(self) -> dict[str, str]:
        """Return the states of the bots from the daemon's database."""
        return {f"{row[0]}/{row[1]}": row[2] for row in self._rows("SELECT platform, name, state FROM bot_states")}

    def kept(self, words: str) -> bool:
        """Return true if a message in the daemon's database has exactly this text."""
        return bool(self._rows("SELECT 1 FROM messages WHERE content = ?", words))

    def _rows(self, query: str, *values: str) -> list[tuple[str, ...]]:
        with contextlib.closing(sqlite3.connect(self.daemon.data / "arvis.db")) as connection:
            return connection.execute(query, values).fetchall()

    def told(self, words: str) -> str | None:
        """Return the whole prompt that contains these words."""
        for request in self.model.requests:
            if words in asked(request):
                return "\n".join(text_of(turn) for turn in request.document["messages"])
        return None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    folder = tmp_path_factory.mktemp("platforms")
    async with town() as chats, openai_server(default=Parrot()) as model:
        settle_in(folder, chats, AGENT)
        daemon = Daemon(folder, settings={"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": model.base_url})
        try:
            home = Home(daemon, model, chats)
            await home.start()
            yield home
        finally:
            await asyncio.to_thread(daemon.close)


@pytest.fixture(params=PLATFORMS)
def here(home: Home, request: pytest.FixtureRequest) -> Chats:
    return home.chats[request.param]


async def test_a_direct_message_is_answered(here: Chats) -> None:
    await here.stage.say("Good morning")
    await here.shows(here.direct("ann"), "Good morning")


async def test_a_mention_is_answered_in_its_place_and_other_talk_is_read_along(home: Home, here: Chats) -> None:
    await here.stage.say("the crane comes at seven", user="ben", direct=False, addressed=False, channel="yard")
    ref = await here.stage.say("when does it come", direct=False, channel="yard")
    await here.shows(here.answers_to(ref, "yard"), "when does it come")
    assert sum(len(here.shown(place)) for place in {here.answers_to(ref, "yard"), here.stage.address("yard")}) == 1
    prompt = home.told("when does it come")
    assert prompt is not None
    assert "the crane comes at seven" in prompt
    assert "Ben" in prompt


async def test_a_picture_reaches_the_model_as_one(home: Home, here: Chats) -> None:
    await here.stage.say_file("cat.png", "image/png", png(), text=f"A cat on {here.platform}?")
    await here.shows(here.direct("ann"), "A cat")
    newest = next(one for one in reversed(home.model.requests) if f"A cat on {here.platform}?" in asked(one))
    (image,) = [
        part["image_url"]["url"]
        for turn in newest.document["messages"]
        if isinstance(turn["content"], list)
        for part in turn["content"]
        if part["type"] == "image_url"
    ]
    assert base64.b64decode(image.partition(",")[2]) == png()


async def test_the_text_of_a_document_is_in_the_prompt(home: Home, here: Chats) -> None:
    notes = f"# Harbour\nThe password of {here.platform} is swordfish.".encode()
    await here.stage.say_file("notes.md", "text/markdown", notes, text="What does it say?")
    await until(lambda: home.told(f"The password of {here.platform} is swordfish."), "the document in a prompt")


async def test_a_long_answer_comes_in_parts_and_in_order(home: Home, here: Chats) -> None:
    lines = [f"line {number:05} of what there is to say" for number in range(here.stage.text_limit * 5 // 2 // 38)]
    home.model.script.append(Reply(("\n".join(lines),)))
    ref = await here.stage.say("Tell me all", direct=False, channel="long")
    place = here.answers_to(ref, "long")
    await here.shows(place, lines[-1])
    parts = [one.text for one in here.shown(place)]
    assert 1 < len(parts) <= 5
    assert max(map(here.stage.length, parts)) <= here.stage.text_limit
    assert re.findall(r"line \d{5}", "\n".join(parts)) == [line[:10] for line in lines]


async def test_a_tool_runs_once_its_owner_presses_the_button_and_not_for_a_stranger(home: Home, here: Chats) -> None:
    wanted = {"path": f"{here.platform}.txt", "content": "remember the milk"}
    home.model.script += [CallsTools((("write_file", json.dumps(wanted)),)), Reply(("It is written.",))]
    ref = await here.stage.say("Write it down", direct=False, channel="desk")
    place = here.answers_to(ref, "desk")
    question = await until(lambda: next((one for one in here.shown(place) if one.buttons), None), "the buttons")
    notes = here.notes
    await here.stage.click(question.platform_id, question.buttons[0], user="carl")
    await until(lambda: here.notes > notes, "a word to the stranger")
    assert list(home.daemon.data.rglob(wanted["path"])) == []
    await here.stage.click(question.platform_id, question.buttons[0], user="ann")
    await here.shows(place, "It is written.")
    (file,) = home.daemon.data.rglob(wanted["path"])
    assert file.read_text() == "remember the milk"
    await until(lambda: not any(one.buttons for one in here.shown(place)), "the buttons are gone")


async def test_commands_are_answered_without_a_model(home: Home, here: Chats) -> None:
    await here.stage.say("Where is the key?")
    await here.shows(here.direct("ann"), "Where is the key?")
    before = len(home.model.requests)
    for name, said in (("help", "/usage"), ("why", "Where is the key?"), ("new", "new conversation")):
        shown = len(here.shown(here.direct("ann")))
        await here.command(name, "ann")
        await until(lambda: len(here.shown(here.direct("ann"))) > shown, name)  # noqa: B023 - awaited at once
        assert said in here.shown(here.direct("ann"))[-1].text
    assert len(home.model.requests) == before
    await here.stage.say("Who are you?")
    await here.shows(here.direct("ann"), "Who are you?")
    assert "Where is the key?" not in (home.told("Who are you?") or "")


async def test_stop_ends_what_is_at_work(home: Home, here: Chats) -> None:
    home.model.script.append(Hang())
    home.model.arrived.clear()
    home.model.disconnected.clear()
    await here.stage.say("Think hard")
    async with asyncio.timeout(PATIENCE):
        await home.model.arrived.wait()
        await here.command("stop", "ann")
        await home.model.disconnected.wait()
    await here.shows(here.direct("ann"), "topped")


async def test_what_is_changed_before_its_turn_is_asked_as_it_is_then(home: Home, here: Chats) -> None:
    free = asyncio.Event()
    home.model.script.append(Held("First things first.", free))
    home.model.arrived.clear()
    await here.stage.say("Wait for me")
    async with asyncio.timeout(PATIENCE):
        await home.model.arrived.wait()
    ref = await here.stage.say(f"{here.platform}: meet at sevne")
    await until(lambda: home.kept(f"{here.platform}: meet at sevne"), "the message")
    await here.stage.edit(ref, f"{here.platform}: meet at seven")
    await until(lambda: home.kept(f"{here.platform}: meet at seven"), "the change")
    free.set()
    await here.shows(here.direct("ann"), "meet at seven")
    assert here.times(here.direct("ann"), "sevne") == 0


async def test_a_stranger_is_given_a_code_once_and_let_in_by_it(home: Home, here: Chats) -> None:
    place = here.direct("dora")
    await here.stage.say("Let me in", user="dora")
    code = CODE.search((await here.shows(place, "I don't know you yet")).text)
    assert code is not None
    await here.stage.say("Hello?", user="dora")
    assert "is paired" in await home.arvis("pairing", "approve", code[0])
    await until(lambda: len(here.shown(place)) > 1, "the good news")
    await here.stage.say("Thank you", user="dora")
    await here.shows(place, "Thank you")
    assert here.times(place, "Hello?") == 0
    assert len(CODE.findall("\n".join(one.text for one in here.shown(place)))) == 1


async def test_the_owner_sees_three_bots_and_which_token_is_refused(home: Home) -> None:
    items = json.loads(await home.arvis("bots", "list", "--json"))["items"]
    assert [(bot["platform"], bot["state"]) for bot in items] == [(name, "running") for name in PLATFORMS]
    assert all(bot["userName"] for bot in items)
    assert "voice will NOT be supported" not in home.daemon.log(), "nobody calls"
    wrong = {"telegram": "1:AA-wrong", "discord": "wrong.token", "slack": "xoxb-wrong\nxapp-wrong"}
    for name, token in wrong.items():
        url = f"api_url={home.chats[name].settings['api_url']}"
        await home.arvis("bots", "create", f"{name}/other", "--set", url, typed=f"{token}\n")
    await until(lambda: list(home.states().values()).count("error") == len(wrong), "refused tokens")
    listed = await home.arvis("bots", "list")
    for name in PLATFORMS:
        (line,) = [line for line in listed.splitlines() if f"{name}/other" in line]
        assert "error" in line
        assert "token" in line
    doctor = await asyncio.to_thread(home.daemon.arvis, "doctor", "--json")
    checks = {check["id"]: check for check in json.loads(doctor.stdout)["checks"]}
    assert all(f"{name}/other" in json.dumps(checks["bot_states"]) for name in PLATFORMS)
    for name in PLATFORMS:
        await home.arvis("bots", "delete", f"{name}/other")


async def test_a_restart_repeats_nothing_and_what_came_meanwhile_is_answered(home: Home) -> None:
    before = {}
    for name, here in home.chats.items():
        await here.stage.say("Good evening", direct=False, channel="night")
        await here.stage.say("Good night")
        await here.shows(here.direct("ann"), "Good night")
        before[name] = len(here.shown(here.direct("ann")))
    await asyncio.to_thread(home.daemon.stop)
    for here in home.chats.values():
        await here.stage.say("Anybody there?")
    await home.start()
    for name, here in home.chats.items():
        await here.shows(here.direct("ann"), "Anybody there?")
        await here.stage.say("And now?")
        await here.shows(here.direct("ann"), "And now?")
        assert len(here.shown(here.direct("ann"))) == before[name] + 2
