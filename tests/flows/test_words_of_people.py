"""A person's message is in the prompt of the reply that answers it, however small the window is and whenever the
process dies. A message that was not in the prompt is answered by another turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.jobs import POISON, POISON_CRASHES, SUSPECT_CRASHES
from arvis.domain.messages import MessageStatus
from arvis.domain.runs import Account, RunResult
from arvis.engine.graph import Decision, End, Graph, NodeContext
from arvis.graphs.agent.steering import STEER, join_waiting_messages
from arvis.ports.job_store import Slots
from arvis.ports.store import Transaction
from arvis.ports.transcriber import Sound
from arvis.store.open import Database
from arvis.turns.requeue import CRASHED, PUT_BACK, UNREAD
from tests.flows.app_harness import AppHarness, Models, agent_with, open_app
from tests.flows.media_kit import waiting, wav
from tests.flows.scripted import Held, ScriptedProvider, asking, call
from tests.flows.test_media import Ears, app_with_files, sent

#: Eight small calls in each of five rounds.
CALLS, ROUNDS = 8, 5


def narrow(**changes: Any) -> list[Agent]:
    """An agent with a window of 8,000 tokens."""
    agent = agent_with(tools=("look", "rm"), allow_users=("ann", "bob"), on_new_message=STEER)
    return [replace(agent, context_tokens=8_000, **changes)]


def _rounds(number: int) -> RunResult:
    return asking(*(call(number * 100 + index, "look", words=f"{number} {index}") for index in range(CALLS)))


def _prompt(app: AppHarness, number: int) -> str:
    request = app.provider.asked[number]
    return "\n".join(turn.content for turn in request.turns if turn.role == "user")


async def test_words_that_joined_a_turn_stay_when_its_rounds_outgrow_their_room(database: Database) -> None:
    async with open_app(database, agents=narrow()) as app:
        app.provider.script += [*(_rounds(number) for number in range(1, ROUNDS + 1)), "Done."]
        looking = Held("x" * 1_500)
        app.tools.look.script += ["x" * 1_500] * (2 * CALLS - 1) + [looking] + ["x" * 1_500] * (3 * CALLS)
        first = await app.say("Look")
        await looking.until_begun()
        second = await app.say("to the left, please")
        looking.go.set()
        await app.until_status(second.message_id, MessageStatus.ANSWERED)
        assert len(app.provider.asked) == ROUNDS + 1
        for number in range(2, ROUNDS + 1):
            assert "to the left, please" in _prompt(app, number)
            assert "Look" in _prompt(app, number)
        assert (await app.timeline(first.message_id)).reply == "Done."


async def test_a_model_is_told_of_calls_whose_outputs_have_left_the_prompt(database: Database) -> None:
    async with open_app(database, agents=narrow()) as app:
        app.provider.script += [*(_rounds(number) for number in range(1, ROUNDS + 1)), "Done."]
        app.tools.look.script += ["x" * 1_500] * (ROUNDS * CALLS)
        await app.ask("Look")
        last = app.provider.asked[-1]
        told = _prompt(app, -1)
        shown = [call for turn in last.turns for call in turn.calls]
        assert len(shown) < ROUNDS * CALLS
        for number in range(1, ROUNDS + 1):
            for index in range(CALLS):
                asked = {"words": f"{number} {index}"}
                assert any(each.arguments == asked for each in shown) or f'look {{"words": "{number} {index}"}}' in told
        roles = [turn.role for turn in last.turns]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]


async def test_messages_that_one_prompt_cannot_hold_are_answered_one_after_the_other(database: Database) -> None:
    provider = ScriptedProvider()
    small = Models({"scripted": provider}, [Account("main", "scripted", "model")], {"scripted/model": 8_000})
    async with open_app(database, agents=narrow(), models=small, started=False) as app:
        said = [(await app.say(f"<{number}> {'word ' * 2_500}")).message_id for number in (1, 2)]
        said.append((await app.say("<3>")).message_id)
        said.append((await app.say("<4> from somebody else", user="bob")).message_id)
        await app.start()
        # The model repeats its last message.
        for number, message_id in enumerate(said, 1):
            assert f"<{number}>" in ((await app.until_status(message_id, MessageStatus.ANSWERED)).reply or "")
        noted = [step.data for step in (await app.timeline(said[1])).steps if step.step == PUT_BACK]
        assert [data["why"] for data in noted] == [UNREAD]
        texts = await app.until_sent(3)
        assert [[f"<{number}>" in text for number in (1, 2, 3, 4)] for text in texts] == [
            [True, False, False, False],
            [False, True, True, False],
            [False, False, False, True],
        ]


class Hoarse:
    """A `Speaker` that hangs at its first call."""

    def __init__(self) -> None:
        self.held = Held()

    async def speak(self, text: str) -> Sound:
        if not self.held.go.is_set():
            await self.held.wait()
        return Sound(text.encode(), "audio/ogg", "answer.ogg")

    async def close(self) -> None: ...


async def test_a_message_that_came_behind_the_last_call_of_a_model_is_not_answered_by_it(database: Database) -> None:
    mouth = Hoarse()
    async with app_with_files(database, ears=Ears("hello"), mouth=mouth) as (app, platform):
        platform.files["voice"] = wav()
        app.provider.script += ["One.", "Two."]
        first = await sent(app, "", waiting("voice", voice=True))
        await app.start()
        await mouth.held.until_begun()
        second = (await app.say("What is the capital of France?")).message_id
        mouth.held.go.set()
        await app.restart()
        assert (await app.until_status(first, MessageStatus.ANSWERED)).reply == "One."
        assert (await app.until_status(second, MessageStatus.ANSWERED)).reply == "Two."
        assert "France" not in _prompt(app, 0)
        assert "France" in _prompt(app, 1)


def _die(tx: Transaction, now: int) -> None:
    """Let a process claim the turn with all messages that wait behind it, and die."""
    (job,) = tx.jobs.claim(Slots(1, 1, 1), "dead", "node", now, now + 30_000)
    join_waiting_messages(tx, job, now)
    tx.jobs.rescue("node", "boot", now)
    tx.jobs.wake(now + 60_000)


async def test_messages_that_joined_what_kills_the_process_are_answered_without_it(database: Database) -> None:
    async with open_app(database, started=False) as app:
        said = [(await app.say(text)).message_id for text in ("one", "two", "three")]
        for _ in range(SUSPECT_CRASHES):
            await app.store.write(_die, app.clock.now())
        app.provider.script += ["One.", "Both."]
        await app.start()
        for message_id, reply in zip(said, ["One.", "Both.", "Both."], strict=True):
            assert (await app.until_status(message_id, MessageStatus.ANSWERED)).reply == reply
        assert "two" not in _prompt(app, 0)
        assert "three" in _prompt(app, 1)
        noted = [step.data for step in (await app.timeline(said[1])).steps if step.step == PUT_BACK]
        assert [data["why"] for data in noted] == [CRASHED]


async def test_only_the_poison_fails(database: Database) -> None:
    async with open_app(database, started=False) as app:
        said = [(await app.say(text)).message_id for text in ("poison", "two", "three")]
        for _ in range(POISON_CRASHES):
            await app.store.write(_die, app.clock.now())
        app.provider.script.append("Both.")
        await app.start()
        assert (await app.until_status(said[0], MessageStatus.FAILED)).reason == POISON
        for message_id in said[1:]:
            assert (await app.until_status(message_id, MessageStatus.ANSWERED)).reply == "Both."


async def test_a_reply_that_was_written_without_its_message_settles_nothing(database: Database) -> None:
    async def answer(context: NodeContext) -> Decision:
        return End(RunResult("Surely.", "", "", "").to_json(), read=[])

    careless = Graph("careless", "answer", {"answer": answer}, {})
    async with open_app(database, agents=[agent_with(graph="careless")], graphs=[careless]) as app:
        asked = await app.say("Is it?")
        failed = await app.until_status(asked.message_id, MessageStatus.FAILED)
        assert failed.reason == "broken"
        assert failed.job is not None
        assert "wrote a reply without reading its messages" in (failed.job.error or "")
        assert "Surely." not in " ".join(await app.until_sent(1))
