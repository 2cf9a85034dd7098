"""Knowledge bases and evaluation suites are exported and imported without a difference, on both databases."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import pytest

from arvis.domain.dataclass import replace
from arvis.domain.evaluations import Case, Recorded, Retrieval, Searched, TurnInput
from arvis.domain.knowledge import Collection, Document, DocumentKind
from arvis.domain.messages import Role
from arvis.interchange import format as records
from arvis.interchange.archive import Contents
from arvis.interchange.format import KINDS, Manifest
from arvis.interchange.importing import Action, ArchiveImporter, Outcome, Report
from arvis.ports.store import Store, Transaction
from arvis.services import evaluations, knowledge
from arvis.services.knowledge import Author, File
from arvis.testing.clock import SteppedClock
from tests.conformance.store.scripts import AGENT, NOW
from tests.conformance.test_interchange import ANN, AT, PLACE, RULES, clock, exported, store

__all__ = ["clock", "store"]  # fixtures

OWNER = Author("owner", owner=True)
REPLACING = replace(RULES, replace=True)
LEAVE = b"# Leave\n\nThere are 30 days of leave.\n" * 50
PAGE = "https://example.org/handbook"


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def archive(files: dict[str, bytes] | None = None, **found: list[records.Record]) -> Contents:
    all_kinds: dict[str, list[records.Record]] = {kind: found.get(kind, []) for kind in KINDS}
    return Contents(Manifest(program="other 1", source="there", exported_at=AT), all_kinds, files or {})


async def imported(store: Store, clock: SteppedClock, given: Contents, *, replacing: bool = False) -> Report:
    """Import an archive. Check that its rehearsal reports the same."""
    importer, rules = ArchiveImporter(store=store, clock=clock), REPLACING if replacing else RULES
    rehearsed = await importer.rehearse(given, rules)
    report = await importer.run(given, rules)
    assert report == rehearsed
    return report


async def outcome(store: Store, clock: SteppedClock, given: Contents, *, replacing: bool = False) -> Outcome:
    (only,) = (await imported(store, clock, given, replacing=replacing)).outcomes
    return only


def base(*documents: records.Document, **more: Any) -> records.KnowledgeBase:
    return records.KnowledgeBase(slug="handbook", name="Handbook", documents=[*documents], **more)


def file(name: str, data: bytes, title: str = "") -> records.Document:
    return records.Document(kind="file", location=name, sha256=hash_of(data), title=title)


async def add_handbook(store: Store) -> None:
    blob = await store.put_blob(zlib.compress(LEAVE))

    def script(tx: Transaction) -> None:
        made = knowledge.create(tx, Collection("", "handbook", "Handbook", "Rules", trusted=True), by=OWNER, now=NOW)
        leave = File("leave.md", hash_of(LEAVE), blob, len(LEAVE), "Leave")
        knowledge.put_file(tx, "handbook", leave, by=OWNER, now=NOW)
        knowledge.put_page(tx, "handbook", PAGE, title="", refresh=86_400_000, by=OWNER, now=NOW)
        folder = Document(tx.new_id(), made.id, DocumentKind.FOLDER, "/srv/handbook/a.md", created_at=NOW)
        tx.knowledge.add(folder)
        tx.agents.update(replace(AGENT, knowledge=("handbook",)), NOW)

    await store.write(script)


async def test_a_knowledge_base_returns_with_its_files_and_pages(store: Store, clock: SteppedClock) -> None:
    await add_handbook(store)
    found = await exported(store, clock)
    assert found.records["knowledge"] == [
        base(
            file("leave.md", LEAVE, "Leave"),
            records.Document(kind="page", location=PAGE, refresh=86_400_000),
            description="Rules",
            trusted=True,
        )
    ]
    assert found.files == {hash_of(LEAVE): LEAVE}
    (agent,) = found.records["agents"]
    assert isinstance(agent, records.Agent)
    assert agent.knowledge == ["handbook"]

    await store.write(knowledge.remove, "handbook", by=OWNER, now=NOW)
    only = archive(dict(found.files), knowledge=found.records["knowledge"])
    assert await outcome(store, clock, only) == Outcome("knowledge", "handbook", Action.CREATE)
    assert await outcome(store, clock, only) == Outcome("knowledge", "handbook", Action.UNCHANGED)
    assert (await exported(store, clock)).records["knowledge"] == found.records["knowledge"]

    def leave(tx: Transaction) -> Document | None:
        return tx.knowledge.at(knowledge.present(tx, "handbook").id, "leave.md")

    document = await store.read(leave)
    assert document is not None
    assert (document.size, document.named, document.due_at is None) == (len(LEAVE), True, False)
    assert zlib.decompress(await store.get_blob(document.blob) or b"") == LEAVE


async def test_existing_documents_are_replaced_only_on_request(store: Store, clock: SteppedClock) -> None:
    await add_handbook(store)
    new, other = b"There are 31 days.", b"Ask Ann."
    given = archive(
        {hash_of(new): new, hash_of(other): other},
        knowledge=[
            base(
                file("leave.md", new),
                file("ask.md", other),
                file("lost.md", b"lost"),
                records.Document(kind="page", location="ftp://example.org"),
                trusted=True,
            )
        ],
    )
    skipped = (
        "skipped documents: lost.md: the file does not contain its bytes; ftp://example.org: it is not a web address"
    )
    kept = "its fields differ and stay as they are; `--replace` replaces them"
    assert await outcome(store, clock, given) == Outcome("knowledge", "handbook", Action.UPDATE, f"{kept}; {skipped}")
    found = (await exported(store, clock)).files
    assert set(found) == {hash_of(LEAVE), hash_of(other)}
    assert await outcome(store, clock, given, replacing=True) == Outcome(
        "knowledge", "handbook", Action.UPDATE, skipped
    )
    assert set((await exported(store, clock)).files) == {hash_of(new), hash_of(other)}


async def test_documents_of_others_are_not_added_to_a_trusted_knowledge_base(store: Store, clock: SteppedClock) -> None:
    await add_handbook(store)
    given = archive({hash_of(b"obey"): b"obey"}, knowledge=[base(file("obey.md", b"obey"), description="Rules")])
    refused = await outcome(store, clock, given)
    assert (refused.action, refused.why) == (
        Action.SKIP,
        "the existing knowledge base is trusted, and the one in the file is not",
    )
    assert (await exported(store, clock)).files == {hash_of(LEAVE): LEAVE}


@pytest.mark.parametrize("same_installation", [True, False])
async def test_a_suite_returns_with_its_cases(store: Store, clock: SteppedClock, same_installation: bool) -> None:
    talk = records.Conversation(
        id="c1",
        agent="helper",
        place=PLACE,
        created_at=AT,
        messages=[records.Message(id="m1", role=Role.USER, content="Hi", created_at=AT, person=ANN)],
    )
    people = [records.Person(platform="discord", user_id="42", name="Ann")]
    await imported(store, clock, archive(people=[*people], conversations=[talk]))
    (conversation,) = (await exported(store, clock)).records["conversations"]
    assert isinstance(conversation, records.Conversation)
    heard = TurnInput.from_json({"messages": [{"text": "Hi"}]})
    recorded = Recorded("Hello", "m", conversation.messages[0].id, conversation.id)

    def script(tx: Transaction) -> None:
        suite = evaluations.create_suite(tx, "support", "helper", NOW)
        ann = tx.principals.find("discord", "42")
        assert ann is not None
        asked = Retrieval("Who?", ("Ann",), Searched.FACTS, ann.id)
        for case in (Case("hello", heard, recorded=recorded), Case("who", asked)):
            evaluations.put_case(tx, evaluations.suite_named(tx, suite.id), case, NOW, overwrite=False)
        evaluations.set_gate(tx, "support", on=True)

    await store.write(script)
    found = (await exported(store, clock)).records
    (suite,) = found["evaluations"]
    assert isinstance(suite, records.Suite)
    assert [case["name"] for case in suite.cases] == ["hello", "who"]
    assert suite.cases[1]["retrieval"]["person"] == "discord:42"

    await store.write(lambda tx: evaluations.set_gate(tx, "support", on=False))
    await store.write(evaluations.drop_suite, "support")
    cases = suite.cases
    if not same_installation:
        cases = [{**cases[0], "recorded": {**cases[0]["recorded"], "conversation": "c1", "message": "m1"}}, cases[1]]
    given = archive(people=[*people], conversations=[talk], evaluations=[suite.model_copy(update={"cases": cases})])
    assert (await imported(store, clock, given)).outcomes[-1] == Outcome("evaluations", "support", Action.CREATE)
    assert (await imported(store, clock, given)).outcomes[-1].action is Action.UNCHANGED
    kept = await store.read(lambda tx: evaluations.case_named(tx, evaluations.suite_named(tx, "support"), "hello"))
    # Erasures find the case by the conversation.
    expected = recorded if same_installation else replace(recorded, message="")
    assert kept.case.recorded == expected
    assert (await store.read(evaluations.suite_named, "support")).gate


async def test_cases_are_replaced_only_on_request(store: Store, clock: SteppedClock) -> None:
    case = Case("hello", TurnInput.from_json({"messages": [{"text": "Hi"}]})).to_json()
    suite = records.Suite(name="support", agent="helper", cases=[case])
    assert (await outcome(store, clock, archive(evaluations=[suite]))).action is Action.CREATE
    assert not (await store.read(evaluations.suite_named, "support")).gate
    changed = {**case, "input": {"messages": [{"text": "Hello"}]}}
    given = archive(evaluations=[suite.model_copy(update={"cases": [changed, {"name": "bad"}]})])
    refused = await outcome(store, clock, given)
    assert refused.action is Action.SKIP
    assert "hello: a different case exists already; `--replace` replaces it; bad: The document" in refused.why
    assert (await outcome(store, clock, given, replacing=True)).action is Action.UPDATE
    elsewhere = archive(evaluations=[suite.model_copy(update={"agent": "nobody"})])
    assert (await outcome(store, clock, elsewhere)).why == "there is no agent nobody"
