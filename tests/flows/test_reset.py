"""`/new` and `/reset` begin a new conversation and keep the old one; `/reset` also empties its folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from arvis.domain.messages import MessageStatus
from arvis.domain.plugins import Addition, Item
from arvis.domain.tools import Permit
from arvis.ports.insights import MessageTimeline
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import Held, asking, call
from tests.plugin_kit import GivenPlugins, Scripted


@asynccontextmanager
async def app_with(database: Database) -> AsyncIterator[tuple[AppHarness, Scripted]]:
    plugin = Scripted()
    plugin.its_addition = Addition("Note: ", (Item(("x",), shown=True, keep=True),))
    agent = agent_with(plugins=("own",), tools=("rm",), allow_users=("ann", "bob"))
    async with open_app(database, agents=[agent], plugins=GivenPlugins(own=plugin)) as app:
        app.rules["rm"] = Permit.ASK
        yield app, plugin


def folder_of(app: AppHarness, timeline: MessageTimeline) -> Path:
    """Return the conversation's folder, with a file and a subfolder in it."""
    workspace = app.senses.sessions / str(timeline.message.conversation_id) / "workspace"
    (workspace / "deep").mkdir(parents=True)
    (workspace / "deep" / "notes.txt").write_text("notes")
    return workspace


def kept(tx: Transaction, conversation_id: str) -> tuple[int, list[str]]:
    return len(tx.plugin_additions.of(conversation_id, 9)), tx.handover_threads.names(conversation_id)


async def ask_for_rm(app: AppHarness, **more: object) -> str:
    """Let a turn wait for an approval, and return the id of its message."""
    app.provider.script.append(asking(call(1, "rm", words="all")))
    message = await app.say("clear up", **more)
    await app.until_status(message.message_id, MessageStatus.WAITING)
    return message.message_id


async def test_reset_begins_anew_and_leaves_nothing_but_the_messages(either_database: Database) -> None:
    async with app_with(either_database) as (app, plugin):
        first = await app.ask("my word is plum")
        conversation, workspace = str(first.message.conversation_id), folder_of(app, first)
        await app.store.write(lambda tx: tx.handover_threads.put(conversation, "helper", {"a": 1}, 1))
        said = str((await app.ask("/reset")).reply)
        assert (len(said.splitlines()), "empty folder" in said) == (1, True)
        await app.until_idle()
        assert not workspace.exists()
        assert plugin.resets == [conversation]
        assert await app.store.read(kept, conversation) == (0, [])
        again = await app.ask("what was my word?")
        assert app.provider.prompts[-1] == ["user: what was my word?\n  Note: x"]
        assert again.message.conversation_id != conversation
        assert (await app.timeline(first.message.id)).message.content == "my word is plum"


async def test_a_death_right_after_the_commit_does_not_save_the_folder(either_database: Database) -> None:
    async with app_with(either_database) as (app, plugin):
        workspace = folder_of(app, await app.ask("Hello"))
        await app.queue.stop(0)
        await app.say("/reset")
        assert workspace.exists()
        await app.restart()
        await app.until_idle()
        assert not workspace.exists()
        assert len(plugin.resets) == 1


async def test_what_is_under_way_keeps_its_folder_to_its_end(database: Database) -> None:
    async with app_with(database) as (app, _):
        workspace = folder_of(app, await app.ask("Hello"))
        held = Held()
        app.provider.script.append(held)
        running = await app.say("think")
        await held.until_begun()
        await app.ask("/reset")
        for text in ("we talk on", "and on"):  # enough time for code that does not wait
            await app.ask(text)
        assert workspace.exists()
        held.go.set()
        assert (await app.until_status(running.message_id, MessageStatus.ANSWERED)).reply == "held answer"
        await app.until_idle()
        assert not workspace.exists()


async def test_links_in_the_folder_lead_nowhere(database: Database, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "x.txt").write_text("x")
    async with app_with(database) as (app, _):
        workspace = folder_of(app, await app.ask("Hello"))
        (workspace / "link").symlink_to(precious)
        await app.ask("/reset")
        await app.until_idle()
        assert not workspace.exists()
        assert (precious / "x.txt").exists()


async def test_new_keeps_the_folder_and_puts_aside_what_waits(either_database: Database) -> None:
    async with app_with(either_database) as (app, plugin):
        workspace = folder_of(app, await app.ask("Hello"))
        waiting = await ask_for_rm(app)
        said = str((await app.ask("/new")).reply)
        assert (len(said.splitlines()), said.endswith("Open requests were cancelled.")) == (1, True)
        assert (await app.timeline(waiting)).status is MessageStatus.CANCELLED
        await app.until_idle()
        assert app.tools.rm.calls == []
        assert (workspace.exists(), plugin.resets) == (True, [])


async def test_where_several_write_members_put_aside_only_what_is_theirs(database: Database) -> None:
    async with app_with(database) as (app, _):
        waiting = await ask_for_rm(app, user="bob", is_direct=False)
        await app.ask("/new", user="ann", is_direct=False)
        assert (await app.timeline(waiting)).status is MessageStatus.WAITING


async def test_where_several_write_only_operators_may_reset(database: Database) -> None:
    async with app_with(database) as (app, _):
        workspace = folder_of(app, await app.ask("Hello", is_direct=False))
        refused = str((await app.ask("/reset", is_direct=False)).reply)
        assert "an operator or an owner" in refused
        waiting = await ask_for_rm(app, user="bob", is_direct=False)
        assert workspace.exists()
        await app.ask("/reset", user="owner", is_direct=False)
        await app.until_idle()
        assert not workspace.exists()
        assert (await app.timeline(waiting)).status is MessageStatus.CANCELLED
