"""Second and third questions about a picture, a document and a table, and how an agent reads them again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from arvis.domain.agents import Agent
from arvis.domain.runs import RunRequest
from arvis.domain.taint import Label
from arvis.domain.tools import READ_AGAIN
from arvis.graphs.compaction.scripts import enqueue
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, agent_with
from tests.flows.media_kit import KeepingConnector, pdf, png, waiting
from tests.flows.scripted import asking, call
from tests.flows.test_media import answered, app_with_files, sent

LOOKING = agent_with(tools=("look",), allow_users=("ann",))
#: Longer than a short form.
TABLE = "\n".join(f"row {number} | {number * 7}" for number in range(1_500))
LONG = "\n".join(f"Paragraph {number}." for number in range(900))


@asynccontextmanager
async def app_with(database: Database, agent: Agent) -> AsyncIterator[tuple[AppHarness, KeepingConnector]]:
    async with app_with_files(database) as (app, platform):
        await app.store.write(lambda tx: tx.agents.update(agent, 0))
        yield app, platform


def contents(request: RunRequest) -> str:
    return "\n".join(text for turn in request.turns for text in turn.texts)


def outputs(request: RunRequest) -> list[str]:
    return [output.content for output in request.turns[-1].outputs]


def of_turns(app: AppHarness) -> list[RunRequest]:
    """Return the requests of turns, without those of compactions, which may run meanwhile."""
    return [request for request in app.provider.asked if request.system.startswith("You are Helper")]


def pictures(request: RunRequest) -> list[bytes]:
    return [image.data for turn in request.turns for image in turn.images]


@pytest.mark.parametrize("agent", [HELPER, LOOKING], ids=["without tools", "with tools"])
async def test_later_questions_about_a_picture_and_a_document_see_them(database: Database, agent: Agent) -> None:
    async with app_with(database, agent) as (app, platform):
        platform.files |= {"red.png": png(), "plan.pdf": pdf("the plan")}
        await answered(app, await sent(app, "What is this?", waiting("red.png"), waiting("plan.pdf")))
        first = app.provider.asked[-1]
        for question in ("Which colour?", "And the plan?"):
            await app.ask(question)
            later = app.provider.asked[-1]
            assert pictures(later) == [png()]
            assert later.turns[0].images[0].name == "red.png"
            assert "> the plan" in contents(later)
            assert later.turns[0].content.endswith(first.turns[0].content), "the message has its earlier form"


async def test_a_model_that_does_not_see_knows_of_earlier_pictures(database: Database) -> None:
    async with app_with(database, HELPER) as (app, platform):
        app.senses.sighted = False
        platform.files["red.png"] = png()
        await answered(app, await sent(app, "What is this?", waiting("red.png")))
        await app.ask("Which colour?")
        assert "[Image red.png: this model cannot see images.]" in app.provider.asked[-1].turns[0].content
        assert sum(text.startswith("I cannot see the picture") for text in app.connector.texts) == 1


async def lower(app: AppHarness, tokens: int = 6_000) -> None:
    """Give the agent so little space that earlier results and files are only named."""
    await app.store.write(
        lambda tx: tx.agents.update(agent_with(tools=("look",), allow_users=("ann",), context_tokens=tokens), 0)
    )


async def test_what_is_only_named_can_be_read_again(database: Database) -> None:
    async with app_with(database, LOOKING) as (app, platform):
        platform.files |= {"red.png": png(), "long.txt": LONG.encode()}
        app.tools.look.script.append(TABLE)
        app.provider.script += [asking(call(1, "look")), "I see."]
        await answered(app, await sent(app, "Look at these", waiting("red.png"), waiting("long.txt")))
        await lower(app)
        asked = [call(1, READ_AGAIN, reference=each) for each in ("r1.1", "f1.1", "f1.2", "f1.3", "r9.1", "nothing")]
        app.provider.script += [
            asking(*[call(n, READ_AGAIN, **each.arguments or {}) for n, each in enumerate(asked)]),
            "Now I know.",
        ]
        timeline = await app.ask("What was in row 200?")
        before, after = of_turns(app)[-2:]
        assert READ_AGAIN in [tool.name for tool in before.tools]
        assert "r1.1 shows" in contents(before)
        assert "[Picture f1.1: red.png" in contents(before)
        assert "f1.2 shows" in contents(before)
        assert not {"row 200 ", "Paragraph 400."} & {*contents(before).split("\n")}
        assert (pictures(before), pictures(after)) == ([], [png()])
        effects = {
            each.name: each.result
            for each in await app.store.read(lambda tx: tx.executions.effects(timeline.message.execution_id or ""))
        }
        read = [effects[f"tool {number}: {READ_AGAIN}"]["content"] for number in range(1, 7)]
        assert read[0] == TABLE
        assert read[1].startswith("The picture is attached")
        assert read[2] == LONG
        assert read[3:5] == [
            "Error: There is no f1.3 in this conversation. Use a reference that occurs in it.",
            "Error: There is no r9.1 in this conversation. Use a reference that occurs in it.",
        ]
        assert read[5].startswith("Error: A reference has the form")


async def test_pictures_of_tools_are_seen_and_can_be_read_again(database: Database) -> None:
    async with app_with(database, LOOKING) as (app, _):
        picture = png()
        app.tools.look.shown = ("chart.png", "image/png", await app.store.put_blob(picture))
        app.provider.script += [asking(call(1, "look")), "A chart."]
        await app.start()
        await app.ask("Draw it")
        before, after = of_turns(app)[-2:]
        assert (pictures(before), pictures(after)) == ([], [picture])
        app.tools.look.shown = None
        app.provider.script += [asking(call(1, READ_AGAIN, reference="r1.1")), "Still a chart."]
        app.senses.sighted = False
        await app.ask("Look once more")
        before, after = of_turns(app)[-2:]
        assert f"{READ_AGAIN} r1.1 shows them" in contents(before)
        assert "[Image chart.png: this model cannot see images.]" in contents(after)
        assert not any(text.startswith("I cannot see the picture") for text in app.connector.texts)


async def test_what_is_read_again_has_its_taint(database: Database) -> None:
    async with app_with(database, LOOKING) as (app, platform):
        platform.files["long.txt"] = LONG.encode()
        await answered(app, await sent(app, "Read", waiting("long.txt")))
        app.provider.script += [asking(call(1, READ_AGAIN, reference="f1.1")), "Read."]
        timeline = await app.ask("Again")
        effects = await app.store.read(lambda tx: tx.executions.effects(timeline.message.execution_id or ""))
        assert [each.result["taint"] for each in effects if READ_AGAIN in each.name] == [[Label.FILES]]


async def test_after_a_compaction_the_summary_names_what_can_be_read(database: Database) -> None:
    async with app_with(database, LOOKING) as (app, platform):
        platform.files |= {"red.png": png(), "plan.pdf": pdf("the plan")}
        app.tools.look.script.append(TABLE)
        app.provider.script += [asking(call(1, "look", words="rows")), "I see."]
        message = await sent(app, "Look at these", waiting("red.png"), waiting("plan.pdf"))
        await answered(app, message)
        for number in range(6):
            await app.ask(f"And {number}?")
        await app.until_idle()
        await lower(app)
        app.provider.script += ["nothing", "Ann sent a red picture, a plan and asked for rows."]
        await app.store.write(compacted, message)
        await app.until_idle()
        requests = {request.system[:20]: request for request in app.provider.asked}
        record = requests["Your summary replace"].turns[0].content
        assert "row 1499 | 10493" in record
        assert "> the plan" in record

        asked = [call(number, READ_AGAIN, reference=each) for number, each in enumerate(("r1.1", "f1.1", "f1.2"))]
        app.provider.script += [asking(*asked), "Now I know."]
        timeline = await app.ask("What was in row 200, and in the plan?")
        before, after = of_turns(app)[-2:]
        sources = before.changing.partition("Stored results (r) and files (f) of these messages:\n")[2]
        assert "> f1.1 red.png (image/png, 71 bytes)\n> f1.2 plan.pdf (application/pdf, " in sources
        assert '> r1.1 look {"words": "rows"}: ' in sources
        assert "Look at these" not in contents(before)
        assert (pictures(before), pictures(after)) == ([], [png()])
        effects = await app.store.read(lambda tx: tx.executions.effects(timeline.message.execution_id or ""))
        read = [each.result["content"] for each in effects if READ_AGAIN in each.name]
        assert read == [TABLE, "The picture is attached to the newest message of the person.", "the plan"]


def compacted(tx: Transaction, message_id: str) -> bool:
    message = tx.messages.get(message_id)
    conversation = tx.conversations.get((message and message.conversation_id) or "")
    agent = tx.agents.get(LOOKING.id)
    assert conversation is not None
    assert agent is not None
    return enqueue(tx, conversation, agent, 0)


async def test_no_other_conversation_can_be_read(database: Database) -> None:
    async with app_with(database, LOOKING) as (app, _):
        await app.start()
        app.provider.script += [
            asking(call(1, "look", words="the secret plan")),
            "Seen.",
            asking(call(2, "look")),
            "Seen.",
        ]
        await app.ask("Look")
        await app.ask("Look", channel="elsewhere")
        for reference in ("r1.1", "r2.1"):
            app.provider.script += [asking(call(3, READ_AGAIN, reference=reference)), "Well."]
        await app.ask("Read", channel="elsewhere")
        assert outputs(app.provider.asked[-1]) == ["look of nothing"]
        await app.ask("Read", channel="elsewhere")
        assert "secret plan" not in contents(app.provider.asked[-1])


async def test_agents_without_tools_are_not_offered_it(database: Database) -> None:
    async with app_with(database, HELPER) as (app, platform):
        platform.files["long.txt"] = LONG.encode()
        await answered(app, await sent(app, "Read", waiting("long.txt")))
        await app.ask("Again")
        assert app.provider.asked[-1].tools == ()
        assert READ_AGAIN not in contents(app.provider.asked[-1])
