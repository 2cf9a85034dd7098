"""Documents are indexed once, found by words of any form, replaced as a whole and deleted completely, on both databases."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pypdf import PdfWriter

from arvis.domain.changes import ChangeTopic
from arvis.domain.errors import Conflict, Forbidden, NotFound, Unprocessable
from arvis.domain.events import Changed
from arvis.domain.knowledge import DocumentStatus
from arvis.domain.taint import Label
from arvis.knowledge.folders import Folder
from arvis.services import knowledge
from arvis.store.backups.making import files_in_use
from arvis.store.sqlite.session import looking_at
from tests.conformance.knowledge_kit import OPERATOR, OWNER, Scene, database_in, open_scene
from tests.flows.media_kit import docx, pdf

HANDBOOK = """\
# Handbook

## Leave

Employees get thirty days of leave each year. Requests go to the manager.

### Sick leave

Call the office before nine o'clock. A certificate is needed from the third day on.

## Travel

| city | hotel | limit |
| --- | --- | --- |
| Oslo | Fjord | 180 |
| Lisbon | Tejo | 120 |
"""


@pytest.fixture(params=["sqlite", "postgres"])
async def scene(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Scene]:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    async with open_scene(database_in(tmp_path, url)) as scene:
        yield scene


async def test_parts_are_found_with_their_source(scene: Scene) -> None:
    await scene.create("handbook")
    filler = "\n\n".join(f"Paragraph {number} is about something else entirely." for number in range(40))
    document = await scene.put("handbook", "handbook.md", f"{HANDBOOK}\n## Annex\n\n{filler}")
    assert await scene.found("leave", "handbook") == []
    await scene.work()
    stored = await scene.document(document)
    assert (stored.status, stored.title, stored.due_at, stored.problem) == ("indexed", "Handbook", None, "")
    [first, *_] = await scene.found("How many days of leave do employees get?", "handbook")
    assert "thirty days" in first.chunk.content
    assert first.source == "Handbook, “Leave” – handbook.md"
    assert first.taint == {Label.FILES}
    assert (first.place, first.similarity) == (1, None)
    # A stem, a typing error, an exact text, and a heading.
    for words in ("employee certificates", "certifcate", '"third day on"', "sick"):
        assert "certificate" in (await scene.texts(words, "handbook"))[0], words
    assert await scene.found('"day third"', "handbook") == []
    assert "Fjord" in (await scene.texts("hotel in Oslo", "handbook"))[0]
    around = await scene.insights.knowledge_around(first.number, ["handbook"], 0, 3)
    assert [each.chunk.position for each in around] == [*range(len(around))]
    assert len(around) > 1


async def test_only_the_named_collections_are_searched(scene: Scene) -> None:
    for slug in ("one", "two", "three"):
        await scene.create(slug)
        await scene.put(slug, "note.txt", f"The password of the {slug} gate is kept by the porter.")
    await scene.work()
    assert [each.collection for each in await scene.found("porter", "one", "three")] == ["one", "three"]
    assert await scene.found("two gate", "one") != []
    assert {each.collection for each in await scene.found("two gate", "one")} == {"one"}
    assert await scene.found("porter") == []
    assert await scene.found("porter", "unknown", "ONE", "%", "'; DROP TABLE knowledge_chunks; --") == []
    [secret] = await scene.found("porter", "two")
    assert await scene.insights.knowledge_around(secret.number, ["one"], 9, 9) == []
    numbers = [secret.number, 999_999]
    assert await scene.store.read(lambda tx: tx.chunks.with_numbers(["one"], numbers)) == []
    assert len(await scene.store.read(lambda tx: tx.chunks.with_numbers(["two"], numbers))) == 1


async def test_a_changed_document_is_replaced_as_a_whole(scene: Scene) -> None:
    await scene.create("a")
    old = await scene.put("a", "x.md", "# Menu\n\nOn Monday there is goulash.")
    await scene.work()
    [before] = await scene.found("goulash", "a")
    assert (await scene.put("a", "x.md", "# Menu\n\nOn Monday there is goulash.")).revision == old.revision
    new = await scene.put("a", "x.md", "# Menu\n\nOn Monday there is ratatouille.")
    assert new.id == old.id
    assert [each.number for each in await scene.found("goulash", "a")] == [before.number], (
        "old until the new one is ready"
    )
    await scene.work()
    assert await scene.found("goulash", "a") == []
    assert [each.source for each in await scene.found("ratatouille", "a")] == ["Menu – x.md"]
    assert await scene.insights.knowledge_around(before.number, ["a"], 1, 1) == []
    assert await scene.store.get_blob(old.blob) is None
    assert await scene.store.get_blob(new.blob) is not None
    counts = await scene.insights.knowledge_counts()
    assert counts[new.collection_id].indexed == counts[new.collection_id].chunks == 1


async def test_an_interrupted_index_begins_again(scene: Scene) -> None:
    await scene.create("a")
    await scene.put("a", "x.txt", "The first version mentions walruses.")
    await scene.work()
    text = "\n\n".join(f"Line {number} of the second version mentions narwhals." for number in range(1_500))
    document = await scene.put("a", "x.txt", text)
    writes = 0

    async def interrupt(*given: object) -> None:
        nonlocal writes
        writes += 1
        if writes == 3:
            raise asyncio.CancelledError

    scene.indexer._rest = 1.0
    sleep, scene.clock.sleep = scene.clock.sleep, interrupt  # type: ignore[assignment,method-assign]
    with pytest.raises(asyncio.CancelledError):
        await scene.work()
    scene.clock.sleep, scene.indexer._rest = sleep, 0  # type: ignore[method-assign]
    assert len(await scene.found("walruses", "a")) == 1
    assert await scene.found("narwhals", "a") == []
    await scene.clock.sleep(120)
    await scene.work()
    assert await scene.found("walruses", "a") == []
    assert len(await scene.found("narwhals", "a", limit=50)) == 50
    done = await scene.document(document)
    assert (done.status, done.version, done.failures) == ("indexed", 2, 0)
    stored = await scene.insights.knowledge_of(done, ["a"], 0, 1_000)
    assert [each.chunk.position for each in stored] == [*range(done.chunks)]


async def test_a_stop_after_the_new_version_leaves_no_old_chunks(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    await scene.create("a")
    await scene.put("a", "x.txt", "The first version mentions walruses.")
    await scene.work()
    document = await scene.put("a", "x.txt", "The second version mentions narwhals.")
    calls = 0

    async def stop(*given: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:  # the first call is before the new version
            raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(scene.indexer, "_drop_others", stop)
        with pytest.raises(asyncio.CancelledError):
            await scene.work()
    assert (await scene.document(document)).version == 2
    await scene.work()
    assert await scene.found("walruses", "a") == []
    done = await scene.document(document)
    left = await scene.store.write(lambda tx: tx.chunks.drop_others(done.id, done.version, 10))
    assert left == 0


async def test_documents_are_listed_by_a_part_of_their_name(scene: Scene) -> None:
    made = await scene.create("a")
    await scene.put("a", "Übersicht_1.txt", "one")
    await scene.put("a", "plan.txt", "two")

    async def listed(text: str) -> list[str]:
        page = await scene.insights.documents(made.id, status=None, text=text, limit=10, cursor=None)
        return [each.location for each in page.items]

    assert await listed("Übersicht_1") == ["Übersicht_1.txt"]
    assert await listed("PLAN") == ["plan.txt"]
    assert await listed("plan_") == []


async def test_deleted_documents_leave_nothing(scene: Scene) -> None:
    await scene.create("a")
    await scene.create("b")
    gone = await scene.put("a", "x.txt", "The zebra crossed the road.")
    same = await scene.put("b", "y.txt", "The zebra crossed the road.")
    await scene.work()
    assert gone.blob == same.blob
    await scene.store.write(knowledge.remove_document, "a", gone.id, by=OWNER, now=scene.clock.now())
    assert await scene.found("zebra", "a") == []
    await scene.put("a", "x.txt", "Another text under the same name.")
    await scene.work()
    assert await scene.store.get_blob(same.blob) is not None, "another document has the same file"
    await scene.store.write(knowledge.remove, "b", by=OWNER, now=scene.clock.now())
    assert await scene.found("zebra", "b") == []
    await scene.create("b")
    await scene.work()
    assert await scene.store.get_blob(same.blob) is None
    assert (await scene.insights.knowledge_counts()).keys() == {gone.collection_id}
    scene.indexer._purge_at = 0
    await scene.work()
    assert await scene.store.read(lambda tx: tx.chunks.erasures()) is None
    assert await scene.store.read(lambda tx: tx.chunks.new_keys(["zebra", "another"])) != []
    assert await scene.store.read(lambda tx: tx.chunks.new_keys(["another"])) == []


async def test_pages_are_fetched_again_on_their_schedule(scene: Scene) -> None:
    await scene.create("web")
    url = "https://example.org/news"
    scene.web.pages[url] = "<title>News</title><main><h1>News</h1><p>The bridge opens in May.</p></main>"
    page = await scene.put_page("web", url, refresh=3_600_000)
    await scene.work()
    [found] = await scene.found("bridge", "web")
    assert found.source == f"News – {url}"
    assert found.taint == {Label.TOOLS}
    await scene.clock.sleep(3_700)
    await scene.work()
    assert (await scene.document(page)).version == 1, "the same text is not indexed again"
    scene.web.pages[url] = 503
    await scene.clock.sleep(3_700)
    await scene.work()
    failed = await scene.document(page)
    assert (failed.status, failed.problem) == ("failed", "the server answered with the status 503")
    assert failed.due_at is not None
    assert len(await scene.found("bridge", "web")) == 1, "the last version stays"
    scene.web.pages[url] = "<title>News</title><main><h1>News</h1><p>The bridge opens in June.</p></main>"
    await scene.clock.sleep(3_700)
    await scene.work()
    assert "June" in (await scene.texts("bridge", "web"))[0]
    assert (await scene.document(page)).status is DocumentStatus.INDEXED
    assert len(scene.web.fetched) == 4
    await scene.store.write(
        knowledge.change_document, "web", page.id, {"title": "Town"}, by=OWNER, now=scene.clock.now()
    )
    await scene.work()
    assert [each.source for each in await scene.found("bridge", "web")] == [f"Town, “News” – {url}"]


async def test_files_that_cannot_be_read_say_why(scene: Scene) -> None:
    await scene.create("a")
    reasons: dict[str, tuple[str | bytes, str]] = {
        "empty.txt": ("  \n ", "there is no text in it"),
        "picture.png": (b"\x89PNG\r\n\x1a\n" + bytes(40), "this kind of file cannot be read"),
        "broken.pdf": (b"%PDF-1.4 nothing else", "the document is damaged"),
    }
    documents = {name: await scene.put("a", name, data) for name, (data, _) in reasons.items()}
    good = await scene.put("a", "good.pdf", pdf("The lighthouse keeper retires."))
    word = await scene.put("a", "good.docx", docx("The harbour master stays."))
    await scene.work()
    for name, document in documents.items():
        stored = await scene.document(document)
        assert (stored.status, stored.problem, stored.due_at) == ("failed", reasons[name][1], None), name
    assert [each.document_id for each in await scene.found("lighthouse", "a")] == [good.id]
    assert [each.document_id for each in await scene.found("harbour", "a")] == [word.id]


async def test_the_structure_of_documents_is_kept(scene: Scene) -> None:
    await scene.create("a")
    pages = PdfWriter()
    for text in ("The first page. " * 30, "The second page names the lighthouse. " * 12):
        pages.append(io.BytesIO(pdf(text)))
    written = io.BytesIO()
    pages.write(written)
    await scene.put("a", "report.pdf", written.getvalue())
    await scene.put(
        "a", "prices.csv", "city,price\n" + "\n".join(f"city {number},{number} euro" for number in range(200))
    )
    page = (
        "<title>Help</title><body><nav>Menu</nav><main><h1>Help</h1><h2>Refunds</h2><p>Refunds take a week.</p></main>"
    )
    await scene.put("a", "help.html", page)
    await scene.work()
    assert (await scene.found("lighthouse", "a"))[0].source == "report.pdf, page 2"
    [row, *_] = await scene.found("city 150", "a")
    assert row.chunk.content.startswith("city | price\n")
    assert (await scene.found("refunds week", "a"))[0].source == "Help, “Refunds” – help.html"


async def test_who_may_change_what(scene: Scene) -> None:
    now = scene.clock.now()
    await scene.create("open")
    await scene.create("trusted", trusted=True)
    with pytest.raises(Forbidden):
        await scene.store.write(
            knowledge.put_page, "trusted", "https://a.org", title="", refresh=None, by=OPERATOR, now=now
        )
    with pytest.raises(Forbidden):
        await scene.store.write(knowledge.update, "open", {"trusted": True}, by=OPERATOR, now=now)
    with pytest.raises(Unprocessable):
        await scene.store.write(
            knowledge.put_page, "open", "https://a.org", title="", refresh=1_000, by=OPERATOR, now=now
        )
    with pytest.raises(Conflict):
        await scene.create("open")
    with pytest.raises(Unprocessable):
        await scene.create("Not A Slug")
    with pytest.raises(NotFound):
        await scene.store.write(knowledge.remove, "nothing", by=OWNER, now=now)
    await scene.put("trusted", "x.txt", "The rules of the building apply to guests.")
    await scene.work()
    assert (await scene.found("guests", "trusted"))[0].taint == frozenset()


async def test_the_index_is_made_again_after_a_move(scene: Scene) -> None:
    await scene.create("a")
    await scene.put("a", "x.md", HANDBOOK)
    await scene.work()
    await scene.store.write(lambda tx: tx.chunks.clear_index())
    assert await scene.found("certificate", "a") == []
    await scene.work()
    assert len(await scene.found("certifcate", "a")) == 1


async def test_the_files_of_a_folder_are_followed(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    (root / "sub").mkdir(parents=True)
    (root / "a.md").write_text("# A\n\nThe badger sleeps.")
    (root / "sub" / "b.txt").write_text("The otter swims.")
    (root / "secret.exe").write_bytes(b"\0")
    outside = tmp_path / "outside.txt"
    outside.write_text("The outside is secret.")
    (root / "link.txt").symlink_to(outside)
    folder = Folder(root, "animals", every=60)
    async with open_scene(database_in(tmp_path, None), [folder]) as scene:
        announced: list[str] = []
        scene.bus.subscribe(Changed, lambda event: announced.append(event.topic))
        await scene.work()
        assert ChangeTopic.KNOWLEDGE in announced
        assert len(await scene.found("badger otter", "animals")) == 2
        assert await scene.found("outside", "animals") == []
        [badger] = await scene.found("badger", "animals")
        with pytest.raises(Conflict):
            await scene.store.write(
                knowledge.remove_document, "animals", badger.document_id, by=OWNER, now=scene.clock.now()
            )
        (root / "a.md").write_text("# A\n\nThe marten climbs trees.")
        (root / "sub" / "b.txt").unlink()
        os.utime(root / "a.md", ns=(1, 1))
        await scene.clock.sleep(61)
        await scene.work()
        assert await scene.found("badger otter", "animals") == []
        assert len(await scene.found("marten", "animals")) == 1
        # A file that becomes a link to another file is not read.
        (root / "a.md").unlink()
        (root / "a.md").symlink_to(outside)
        await scene.clock.sleep(61)
        await scene.work()
        assert await scene.found("outside marten", "animals") == []
        # An unreadable folder is no reason to delete its documents.
        (root / "c.md").write_text("# C\n\nThe weasel waits.")
        await scene.clock.sleep(61)
        await scene.work()
        root.rename(tmp_path / "away")
        await scene.clock.sleep(61)
        await scene.work()
        assert len(await scene.found("weasel", "animals")) == 1


async def test_backups_and_erasures_keep_the_files_of_documents(tmp_path: Path) -> None:
    database = database_in(tmp_path, None)
    async with open_scene(database) as scene:
        await scene.create("a")
        document = await scene.put("a", "x.txt", "The ferry leaves at dawn.")
        with looking_at(database.file, at_rest=False) as connection:
            assert files_in_use(connection) == [document.blob]
        assert await scene.store.read(lambda tx: tx.erasures.file_is_used(document.blob))
        await scene.store.write(knowledge.remove_document, "a", document.id, by=OWNER, now=scene.clock.now())
        await scene.work()
        with looking_at(database.file, at_rest=False) as connection:
            assert files_in_use(connection) == []


async def test_limits_are_errors(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "MOST_DOCUMENTS", 1)
    await scene.create("a")
    await scene.put("a", "x.txt", "one")
    with pytest.raises(Conflict, match="1 documents"):
        await scene.put("a", "y.txt", "two")
    with pytest.raises(Unprocessable):
        await scene.store.write(knowledge.update, "a", {"description": "x" * 501}, by=OWNER, now=scene.clock.now())
