"""Records are imported and exported without a difference, on both databases, also after an interrupted import."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.dataclass import replace
from arvis.domain.erasures import Channel
from arvis.domain.errors import NotFound
from arvis.domain.memory import EVERYWHERE, Category, NewFact
from arvis.domain.messages import Role
from arvis.domain.quotations import QuotationKind
from arvis.domain.quotations import Writer as Author
from arvis.domain.reactions import Rating
from arvis.interchange import format as records
from arvis.interchange.archive import Contents, Writer, read_archive
from arvis.interchange.conversations import open_conversation
from arvis.interchange.exporting import Choice, Exporter
from arvis.interchange.format import KINDS, Manifest
from arvis.interchange.importing import Action, ArchiveImporter, Rules
from arvis.memory.service import MOST_FACTS
from arvis.ports.automation import StoredSkill
from arvis.ports.store import Store, Transaction
from arvis.process.clock import IdMaker
from arvis.services import schedules
from arvis.store.open import Database, open_store
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import migrated
from tests.conformance.store.scripts import AGENT

AT = 1_700_000_000_000
#: An hour before the time of the clock.
HEARD_AT = 1_799_996_400_000
ANN = records.PersonRef(platform="discord", user_id="42")
PLACE = records.Place(platform="discord", connector="main", channel="a:b", thread="t")


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: SteppedClock) -> AsyncIterator[Store]:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    database = Database(tmp_path / "arvis.db", url, tmp_path)
    migrated(database, clock.now())
    async with open_store(database, boot="test", new_id=IdMaker(clock=clock, random_bits=lambda _: 0)) as (store, _):
        await store.write(lambda tx: tx.agents.add(AGENT, clock.now()))
        yield store


ROUND = records.Round(
    text="Let me look.",
    calls=[
        records.ToolCall(name="look", arguments={"words": ["a", 1]}, output="seen"),
        records.ToolCall(name="vault", secret=True, failed=True),
    ],
)


QUOTATION = records.Quotation(
    kind=QuotationKind.REPLY, writer=Author.OTHER, text="one", author="Bob", author_id="9", adds=["people"]
)
RATED = records.Feedback(person=ANN, rating=Rating.UP, at=AT)


def message(number: int, role: Role, **more: Any) -> records.Message:
    person = ANN if role is Role.USER else None
    return records.Message(
        id=f"m{number}", role=role, content=f"text {number}", created_at=AT + number, person=person, **more
    )


def conversation(*, turns: bool) -> records.Conversation:
    messages = []
    for turn in range(1, 151):  # more than one slice
        number = 2 * turn
        known: dict[str, Any] = {"turn": turn} if turns else {}
        messages += [message(number, Role.USER, **known), message(number + 1, Role.ASSISTANT, rounds=[ROUND], **known)]
    first, reply = messages[:2]
    messages[0] = first.model_copy(update={"quotations": [QUOTATION], "taint": ["people"]})
    messages[1] = reply.model_copy(
        update={"feedback": [RATED], "quotations": [QUOTATION.model_copy(update={"message": first.id})]}
    )
    summary = records.Summary(first_turn=1, last_turn=2, text="They greeted.", created_at=AT)
    return records.Conversation(
        id="c1", agent="helper", place=PLACE, created_at=AT, messages=messages, summaries=[summary]
    )


def contents(talk: records.Conversation) -> Contents:
    found: dict[str, list[records.Record]] = {kind: [] for kind in KINDS}
    found["people"].append(records.Person(platform="discord", user_id="42", name="Ann"))
    fact: dict[str, Any] = {"agent": "helper", "category": Category.LEARNED_PATTERN, "created_at": AT}
    found["memory"] += [
        records.Fact(content="about Ann", person=ANN, author=ANN, **fact),
        records.Fact(content="about the place", place=PLACE, taint=["files"], **fact),
        records.Fact(content="for all", **fact),
        records.Fact(content="about a stranger", person=records.PersonRef(platform="x", user_id="y"), **fact),
    ]
    value: dict[str, Any] = {"agent": "helper", "updated_at": AT}
    found["values"] += [
        records.Value(key="mood", value="good", person=ANN, author=ANN, **value),
        records.Value(key="topic", value="boats", place=PLACE, taint=["tools"], **value),
        records.Value(key="count", value="7", **value),
    ]
    found["conversations"].append(talk)
    for number, user in enumerate(("42", "7")):
        place = PLACE.model_copy(update={"channel": f"hall {number}"})
        heard: dict[str, Any] = {"id": f"e{number}", "place": place, "user_id": user, "content": f"heard {number}"}
        found["overheard"].append(records.Overheard(**heard, name="Ann", created_at=HEARD_AT))
    return Contents(Manifest(program="other 1", source="there", exported_at=AT), found, {})


RULES = Rules("owner", schedules.Rules())


async def exported(store: Store, clock: SteppedClock, choice: Choice | None = None) -> Contents:
    target = io.BytesIO()
    await Exporter(store=store, clock=clock, program="test").write(target, choice or Choice())
    return read_archive(target.getvalue())


@pytest.mark.parametrize("turns", [True, False])
async def test_an_export_returns_what_was_imported(store: Store, clock: SteppedClock, turns: bool) -> None:
    given = contents(conversation(turns=turns))
    importer = ArchiveImporter(store=store, clock=clock)
    rehearsed = await importer.rehearse(given, RULES)
    report = await importer.run(given, RULES)
    assert report == rehearsed
    skipped = [each.why for each in report.outcomes if each.action is Action.SKIP]
    assert skipped == ["the file does not contain the person whom this fact is about"]

    found = await exported(store, clock)
    facts = {
        (fact.content, fact.person, fact.place, tuple(fact.taint))
        for fact in found.records["memory"]
        if isinstance(fact, records.Fact)
    }
    assert facts == {
        ("about Ann", ANN, None, ()), ("about the place", None, PLACE, ("files",)), ("for all", None, None, ()),
    }  # fmt: skip
    assert {
        (each.key, each.value, each.person, each.place, tuple(each.taint), each.updated_at)
        for each in found.records["values"]
        if isinstance(each, records.Value)
    } == {
        ("mood", "good", ANN, None, (), AT), ("topic", "boats", None, PLACE, ("tools",), AT),
        ("count", "7", None, None, (), AT),
    }  # fmt: skip
    (talk,) = found.records["conversations"]
    assert isinstance(talk, records.Conversation)
    assert talk.place == PLACE
    assert [each.rounds for each in talk.messages[:2]] == [[], [ROUND]]
    assert talk.messages[0].quotations == [QUOTATION]
    assert talk.messages[1].quotations[0].message == talk.messages[0].id
    assert [each.feedback for each in talk.messages[:2]] == [[], [RATED]]
    assert [(each.content, each.role, each.turn, each.created_at) for each in talk.messages] == [
        (each.content, each.role, each.turn, each.created_at) for each in conversation(turns=True).messages
    ]
    assert [each.text for each in talk.summaries] == ["They greeted."]
    again = await importer.run(found, RULES)
    assert {each.action for each in again.outcomes} <= {Action.UNCHANGED, Action.SKIP}


async def test_an_export_of_a_channel_contains_its_own_records(store: Store, clock: SteppedClock) -> None:
    given = contents(conversation(turns=True))
    bob = records.PersonRef(platform="discord", user_id="9")
    said = [message(1, Role.USER).model_copy(update={"person": bob, "content": "elsewhere"})]
    other = {"id": "c2", "place": PLACE.model_copy(update={"channel": "other"}), "messages": said, "summaries": []}
    given.records["conversations"].append(conversation(turns=True).model_copy(update=other))
    given.records["people"].append(records.Person(platform="discord", user_id="9", name="Bob"))
    await ArchiveImporter(store=store, clock=clock).run(given, RULES)

    found = await exported(store, clock, Choice(channel=Channel("discord", "main", "a:b")))
    assert [each.user_id for each in found.records["people"] if isinstance(each, records.Person)] == ["42"]
    assert [each.content for each in found.records["memory"] if isinstance(each, records.Fact)] == ["about the place"]
    assert [each.key for each in found.records["values"] if isinstance(each, records.Value)] == ["topic"]
    (talk,) = [each for each in found.records["conversations"] if isinstance(each, records.Conversation)]
    assert (talk.place, len(talk.messages), len(talk.summaries)) == (PLACE, 300, 1)
    with pytest.raises(NotFound, match="no conversation in this channel"):
        await exported(store, clock, Choice(channel=Channel("discord", "main", "a")))


async def test_overheard_messages_are_context_for_a_day(store: Store, clock: SteppedClock) -> None:
    importer, given = ArchiveImporter(store=store, clock=clock), contents(conversation(turns=True))
    await importer.run(given, RULES)

    async def heard(choice: Choice) -> list[tuple[str, str]]:
        found = (await exported(store, clock, choice)).records["overheard"]
        return [(each.id, each.content) for each in found if isinstance(each, records.Overheard)]

    person = await store.read(lambda tx: tx.principals.find("discord", "42"))
    assert person is not None
    assert await heard(Choice()) == [("e0", "heard 0"), ("e1", "heard 1")]
    assert await heard(Choice(person=person.id)) == [("e0", "heard 0")]
    assert await heard(Choice(channel=Channel("discord", "main", "a:b"))) == []

    old = given.records["overheard"][0].model_copy(update={"id": "e2", "created_at": AT})
    given.records["overheard"].append(old)
    report = await importer.run(given, RULES)
    assert [each.action for each in report.outcomes if each.kind == "overheard"] == [
        Action.UNCHANGED,
        Action.UNCHANGED,
        Action.SKIP,
    ]


async def test_a_changed_value_is_replaced_only_on_request(store: Store, clock: SteppedClock) -> None:
    importer, given = ArchiveImporter(store=store, clock=clock), contents(conversation(turns=True))
    await importer.run(given, RULES)
    changed = {"value": "tired"}
    given.records["values"][:] = [given.records["values"][0].model_copy(update=changed)]
    given.records["values"] += [
        records.Value(agent="helper", key=key, value=value, updated_at=AT)
        for key, value in (("no key!", "x"), ("long", "x" * 2_001))
    ]

    async def outcomes(rules: Rules) -> list[tuple[Action, str]]:
        report = await importer.run(given, rules)
        return [(each.action, each.why) for each in report.outcomes if each.kind == "values"]

    (kept, _), bad_key, too_long = await outcomes(RULES)
    assert kept is Action.SKIP
    assert [bad_key[0], too_long[0]] == [Action.SKIP, Action.SKIP]
    assert "64 letters" in bad_key[1]
    assert "2000 characters" in too_long[1]
    assert (await outcomes(replace(RULES, replace=True)))[0][0] is Action.UPDATE
    assert (await outcomes(RULES))[0][0] is Action.UNCHANGED


async def test_an_interrupted_import_is_completed(store: Store, clock: SteppedClock) -> None:
    given = conversation(turns=True)

    def begin(tx: Transaction) -> str:
        return open_conversation(tx, "there", given, AGENT.id, clock.now())

    conversation_id = await store.write(begin)
    importer = ArchiveImporter(store=store, clock=clock)
    await importer.run(contents(given.model_copy(update={"messages": given.messages[:7]})), RULES)

    async def outcome() -> Action:
        report = await importer.run(contents(given), RULES)
        return next(each.action for each in report.outcomes if each.kind == "conversations")

    assert await outcome() is Action.UPDATE
    assert await outcome() is Action.UNCHANGED
    history = await store.read(lambda tx: tx.messages.history(conversation_id, 999))
    assert len(history) == 296, "the summary replaces two turns"


async def test_the_limits_of_memory_hold_for_imports(store: Store, clock: SteppedClock) -> None:
    def fill(tx: Transaction) -> None:
        for number in range(MOST_FACTS - 1):
            tx.facts.add(NewFact(AGENT.id, EVERYWHERE, Category.LEARNED_PATTERN, f"known {number}"), clock.now())

    await store.write(fill)
    given = contents(conversation(turns=True))
    fact: dict[str, Any] = {"agent": "helper", "category": Category.LEARNED_PATTERN, "created_at": AT}
    given.records["memory"][:] = [
        *(records.Fact(content=content, **fact) for content in ("last", "known 1", "one more")),
        *(records.Fact(content=content, person=ANN, **fact) for content in ("x" * 2_000, "y" * 2_001, " ")),
    ]
    given.records["conversations"].clear()
    importer = ArchiveImporter(store=store, clock=clock)
    rehearsed = await importer.rehearse(given, RULES)
    report = await importer.run(given, RULES)
    assert report == rehearsed
    full = "helper already has 500 facts for all conversations, which is the limit"
    assert [(each.action, each.why) for each in report.outcomes if each.kind == "memory"] == [
        (Action.CREATE, ""),
        (Action.UNCHANGED, ""),
        (Action.SKIP, full),
        (Action.CREATE, ""),
        (Action.SKIP, "a fact must have 1 to 2,000 characters, and this one has 2,001"),
        (Action.SKIP, "a fact must have 1 to 2,000 characters, and this one has 0"),
    ]
    again = await importer.run(given, RULES)
    same = [Action.UNCHANGED, Action.UNCHANGED, Action.SKIP, Action.UNCHANGED, Action.SKIP, Action.SKIP]
    assert [each.action for each in again.outcomes if each.kind == "memory"] == same


async def test_an_import_deletes_no_files_of_a_skill(store: Store, clock: SteppedClock) -> None:
    text = "---\nslug: knots\ndescription: Tie knots.\n---\nOld."
    row = StoredSkill("knots", text, "text", "ann", AT, AT, None, {"a.txt": (1, "0" * 64)})
    await store.write(lambda tx: tx.skills.put(row, b"PK"))
    given = contents(conversation(turns=False))
    for kind in KINDS:
        given.records[kind].clear()
    given.records["skills"].append(records.Skill(slug="knots", text=text.replace("Old", "New")))
    report = await ArchiveImporter(store=store, clock=clock).run(given, replace(RULES, replace=True))
    (outcome,) = report.outcomes
    assert (outcome.action, outcome.why) == (
        Action.SKIP,
        "the existing skill has files, which an import would delete; delete the existing skill first",
    )
    assert await store.read(lambda tx: tx.skills.bundle("knots")) == b"PK"


def test_a_writer_makes_what_a_reader_accepts() -> None:
    target = io.BytesIO()
    writer, given = Writer(target), contents(conversation(turns=False))
    for kind in KINDS:
        for record in given.records[kind]:
            writer.add(kind, record)
    writer.close(given.manifest)
    found = read_archive(target.getvalue())
    assert found.records == given.records
    assert found.manifest.counts == {"people": 1, "memory": 4, "values": 3, "conversations": 1, "overheard": 2}
