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
from tests.conformance.knowledge_kit import OPERATOR, OWNER, Shelf, database_in, shelf_of
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
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shelf]:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    async with shelf_of(database_in(tmp_path, url)) as shelf:
        yield shelf


async def test_parts_are_found_with_their_source(shelf: Shelf) -> None:
    await shelf.create("handbook")
    filler = "\n\n".join(f"Paragraph {number} is about something else entirely." for number in range(40))
    document = await shelf.put("handbook", "handbook.md", f"{HANDBOOK}\n## Annex\n\n{filler}")
    assert await shelf.found("leave", "handbook") == []
    await shelf.work()
    stored = await shelf.document(document)
    assert (stored.status, stored.title, stored.due_at, stored.problem) == ("indexed", "Handbook", None, "")
    [first, *_] = await shelf.found("How many days of leave do employees get?", "handbook")
    assert "thirty days" in first.chunk.content
    assert first.source == "Handbook, “Leave” – handbook.md"
    assert first.taint == {Label.FILES}
    assert (first.place, first.similarity) == (1, None)
    # A stem, a typing error, an exact text, and a heading.
    for words in ("employee certificates", "certifcate", '"third day on"', "sick"):
        assert "certificate" in (await shelf.texts(words, "handbook"))[0], words
    assert await shelf.found('"day third"', "handbook") == []
    assert "Fjord" in (await shelf.texts("hotel in Oslo", "handbook"))[0]
    around = await shelf.insights.knowledge_around(first.number, ["handbook"], 0, 3)
    assert [each.chunk.position for each in around] == [*range(len(around))]
    assert len(around) > 1


async def test_only_the_named_collections_are_searched(shelf: Shelf) -> None:
    for slug in ("one", "two", "three"):
        await shelf.create(slug)
        await shelf.put(slug, "note.txt", f"The password of the {slug} gate is kept by the porter.")
    await shelf.work()
    assert [each.collection for each in await shelf.found("porter", "one", "three")] == ["one", "three"]
    assert await shelf.found("two gate", "one") != []
    assert {each.collection for each in await shelf.found("two gate", "one")} == {"one"}
    assert await shelf.found("porter") == []
    assert await shelf.found("porter", "unknown", "ONE", "%", "'; DROP TABLE knowledge_chunks; --") == []
    [secret] = await shelf.found("porter", "two")
    assert await shelf.insights.knowledge_around(secret.number, ["one"], 9, 9) == []
    numbers = [secret.number, 999_999]
    assert await shelf.store.read(lambda tx: tx.chunks.with_numbers(["one"], numbers)) == []
    assert len(await shelf.store.read(lambda tx: tx.chunks.with_numbers(["two"], numbers))) == 1


async def test_a_changed_document_is_replaced_as_a_whole(shelf: Shelf) -> None:
    await shelf.create("a")
    old = await shelf.put("a", "x.md", "# Menu\n\nOn Monday there is goulash.")
    await shelf.work()
    [before] = await shelf.found("goulash", "a")
    assert (await shelf.put("a", "x.md", "# Menu\n\nOn Monday there is goulash.")).revision == old.revision
    new = await shelf.put("a", "x.md", "# Menu\n\nOn Monday there is ratatouille.")
    assert new.id == old.id
    assert [each.number for each in await shelf.found("goulash", "a")] == [before.number], (
        "old until the new one is ready"
    )
    await shelf.work()
    assert await shelf.found("goulash", "a") == []
    assert [each.source for each in await shelf.found("ratatouille", "a")] == ["Menu – x.md"]
    assert await shelf.insights.knowledge_around(before.number, ["a"], 1, 1) == []
    assert await shelf.store.get_blob(old.blob) is None
    assert await shelf.store.get_blob(new.blob) is not None
    counts = await shelf.insights.knowledge_counts()
    assert counts[new.collection_id].indexed == counts[new.collection_id].chunks == 1


async def test_an_interrupted_index_begins_again(shelf: Shelf) -> None:
    await shelf.create("a")
    await shelf.put("a", "x.txt", "The first version mentions walruses.")
    await shelf.work()
    text = "\n\n".join(f"Line {number} of the second version mentions narwhals." for number in range(1_500))
    document = await shelf.put("a", "x.txt", text)
    writes = 0

    async def interrupt(*given: object) -> None:
        nonlocal writes
        writes += 1
        if writes == 3:
            raise asyncio.CancelledError

    shelf.indexer._rest = 1.0
    sleep, shelf.clock.sleep = shelf.clock.sleep, interrupt  # type: ignore[assignment,method-assign]
    with pytest.raises(asyncio.CancelledError):
        await shelf.work()
    shelf.clock.sleep, shelf.indexer._rest = sleep, 0  # type: ignore[method-assign]
    assert len(await shelf.found("walruses", "a")) == 1
    assert await shelf.found("narwhals", "a") == []
    await shelf.clock.sleep(120)
    await shelf.work()
    assert await shelf.found("walruses", "a") == []
    assert len(await shelf.found("narwhals", "a", limit=50)) == 50
    done = await shelf.document(document)
    assert (done.status, done.version, done.failures) == ("indexed", 2, 0)
    stored = await shelf.insights.knowledge_of(done, ["a"], 0, 1_000)
    assert [each.chunk.position for each in stored] == [*range(done.chunks)]


async def test_a_stop_after_the_new_version_leaves_no_old_chunks(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    await shelf.create("a")
    await shelf.put("a", "x.txt", "The first version mentions walruses.")
    await shelf.work()
    document = await shelf.put("a", "x.txt", "The second version mentions narwhals.")
    calls = 0

    async def stop(*given: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:  # the first call is before the new version
            raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(shelf.indexer, "_drop_others", stop)
        with pytest.raises(asyncio.CancelledError):
            await shelf.work()
    assert (await shelf.document(document)).version == 2
    await shelf.work()
    assert await shelf.found("walruses", "a") == []
    done = await shelf.document(document)
    left = await shelf.store.write(lambda tx: tx.chunks.drop_others(done.id, done.version, 10))
    assert left == 0


async def test_documents_are_listed_by_a_part_of_their_name(shelf: Shelf) -> None:
    made = await shelf.create("a")
    await shelf.put("a", "Übersicht_1.txt", "one")
    await shelf.put("a", "plan.txt", "two")

    async def listed(text: str) -> list[str]:
        page = await shelf.insights.documents(made.id, status=None, text=text, limit=10, cursor=None)
        return [each.location for each in page.items]

    assert await listed("Übersicht_1") == ["Übersicht_1.txt"]
    assert await listed("PLAN") == ["plan.txt"]
    assert await listed("plan_") == []


async def test_deleted_documents_leave_nothing(shelf: Shelf) -> None:
    await shelf.create("a")
    await shelf.create("b")
    gone = await shelf.put("a", "x.txt", "The zebra crossed the road.")
    same = await shelf.put("b", "y.txt", "The zebra crossed the road.")
    await shelf.work()
    assert gone.blob == same.blob
    await shelf.store.write(knowledge.remove_document, "a", gone.id, by=OWNER, now=shelf.clock.now())
    assert await shelf.found("zebra", "a") == []
    await shelf.put("a", "x.txt", "Another text under the same name.")
    await shelf.work()
    assert await shelf.store.get_blob(same.blob) is not None, "another document has the same file"
    await shelf.store.write(knowledge.remove, "b", by=OWNER, now=shelf.clock.now())
    assert await shelf.found("zebra", "b") == []
    await shelf.create("b")
    await shelf.work()
    assert await shelf.store.get_blob(same.blob) is None
    assert (await shelf.insights.knowledge_counts()).keys() == {gone.collection_id}
    shelf.indexer._purge_at = 0
    await shelf.work()
    assert await shelf.store.read(lambda tx: tx.chunks.erasures()) is None
    assert await shelf.store.read(lambda tx: tx.chunks.new_keys(["zebra", "another"])) != []
    assert await shelf.store.read(lambda tx: tx.chunks.new_keys(["another"])) == []


async def test_pages_are_fetched_again_on_their_schedule(shelf: Shelf) -> None:
    await shelf.create("web")
    url = "https://example.org/news"
    shelf.web.pages[url] = "<title>News</title><main><h1>News</h1><p>The bridge opens in May.</p></main>"
    page = await shelf.put_page("web", url, refresh=3_600_000)
    await shelf.work()
    [found] = await shelf.found("bridge", "web")
    assert found.source == f"News – {url}"
    assert found.taint == {Label.TOOLS}
    await shelf.clock.sleep(3_700)
    await shelf.work()
    assert (await shelf.document(page)).version == 1, "the same text is not indexed again"
    shelf.web.pages[url] = 503
    await shelf.clock.sleep(3_700)
    await shelf.work()
    failed = await shelf.document(page)
    assert (failed.status, failed.problem) == ("failed", "the server answered with the status 503")
    assert failed.due_at is not None
    assert len(await shelf.found("bridge", "web")) == 1, "the last version stays"
    shelf.web.pages[url] = "<title>News</title><main><h1>News</h1><p>The bridge opens in June.</p></main>"
    await shelf.clock.sleep(3_700)
    await shelf.work()
    assert "June" in (await shelf.texts("bridge", "web"))[0]
    assert (await shelf.document(page)).status is DocumentStatus.INDEXED
    assert len(shelf.web.fetched) == 4
    await shelf.store.write(
        knowledge.change_document, "web", page.id, {"title": "Town"}, by=OWNER, now=shelf.clock.now()
    )
    await shelf.work()
    assert [each.source for each in await shelf.found("bridge", "web")] == [f"Town, “News” – {url}"]


async def test_files_that_cannot_be_read_say_why(shelf: Shelf) -> None:
    await shelf.create("a")
    reasons: dict[str, tuple[str | bytes, str]] = {
        "empty.txt": ("  \n ", "there is no text in it"),
        "picture.png": (b"\x89PNG\r\n\x1a\n" + bytes(40), "this kind of file cannot be read"),
        "broken.pdf": (b"%PDF-1.4 nothing else", "the document is damaged"),
    }
    documents = {name: await shelf.put("a", name, data) for name, (data, _) in reasons.items()}
    good = await shelf.put("a", "good.pdf", pdf("The lighthouse keeper retires."))
    word = await shelf.put("a", "good.docx", docx("The harbour master stays."))
    await shelf.work()
    for name, document in documents.items():
        stored = await shelf.document(document)
        assert (stored.status, stored.problem, stored.due_at) == ("failed", reasons[name][1], None), name
    assert [each.document_id for each in await shelf.found("lighthouse", "a")] == [good.id]
    assert [each.document_id for each in await shelf.found("harbour", "a")] == [word.id]


async def test_the_structure_of_documents_is_kept(shelf: Shelf) -> None:
    await shelf.create("a")
    pages = PdfWriter()
    for text in ("The first page. " * 30, "The second page names the lighthouse. " * 12):
        pages.append(io.BytesIO(pdf(text)))
    written = io.BytesIO()
    pages.write(written)
    await shelf.put("a", "report.pdf", written.getvalue())
    await shelf.put(
        "a", "prices.csv", "city,price\n" + "\n".join(f"city {number},{number} euro" for number in range(200))
    )
    page = (
        "<title>Help</title><body><nav>Menu</nav><main><h1>Help</h1><h2>Refunds</h2><p>Refunds take a week.</p></main>"
    )
    await shelf.put("a", "help.html", page)
    await shelf.work()
    assert (await shelf.found("lighthouse", "a"))[0].source == "report.pdf, page 2"
    [row, *_] = await shelf.found("city 150", "a")
    assert row.chunk.content.startswith("city | price\n")
    assert (await shelf.found("refunds week", "a"))[0].source == "Help, “Refunds” – help.html"


async def test_who_may_change_what(shelf: Shelf) -> None:
    now = shelf.clock.now()
    await shelf.create("open")
    await shelf.create("house", trusted=True)
    with pytest.raises(Forbidden):
        await shelf.store.write(
            knowledge.put_page, "house", "https://a.org", title="", refresh=None, by=OPERATOR, now=now
        )
    with pytest.raises(Forbidden):
        await shelf.store.write(knowledge.update, "open", {"trusted": True}, by=OPERATOR, now=now)
    with pytest.raises(Unprocessable):
        await shelf.store.write(
            knowledge.put_page, "open", "https://a.org", title="", refresh=1_000, by=OPERATOR, now=now
        )
    with pytest.raises(Conflict):
        await shelf.create("open")
    with pytest.raises(Unprocessable):
        await shelf.create("Not A Slug")
    with pytest.raises(NotFound):
        await shelf.store.write(knowledge.remove, "nothing", by=OWNER, now=now)
    await shelf.put("house", "x.txt", "The house rules apply to guests.")
    await shelf.work()
    assert (await shelf.found("guests", "house"))[0].taint == frozenset()


async def test_the_index_is_made_again_after_a_move(shelf: Shelf) -> None:
    await shelf.create("a")
    await shelf.put("a", "x.md", HANDBOOK)
    await shelf.work()
    await shelf.store.write(lambda tx: tx.chunks.clear_index())
    assert await shelf.found("certificate", "a") == []
    await shelf.work()
    assert len(await shelf.found("certifcate", "a")) == 1


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
    async with shelf_of(database_in(tmp_path, None), [folder]) as shelf:
        announced: list[str] = []
        shelf.bus.subscribe(Changed, lambda event: announced.append(event.topic))
        await shelf.work()
        assert ChangeTopic.KNOWLEDGE in announced
        assert len(await shelf.found("badger otter", "animals")) == 2
        assert await shelf.found("outside", "animals") == []
        [badger] = await shelf.found("badger", "animals")
        with pytest.raises(Conflict):
            await shelf.store.write(
                knowledge.remove_document, "animals", badger.document_id, by=OWNER, now=shelf.clock.now()
            )
        (root / "a.md").write_text("# A\n\nThe marten climbs trees.")
        (root / "sub" / "b.txt").unlink()
        os.utime(root / "a.md", ns=(1, 1))
        await shelf.clock.sleep(61)
        await shelf.work()
        assert await shelf.found("badger otter", "animals") == []
        assert len(await shelf.found("marten", "animals")) == 1
        # A file that becomes a link to another file is not read.
        (root / "a.md").unlink()
        (root / "a.md").symlink_to(outside)
        await shelf.clock.sleep(61)
        await shelf.work()
        assert await shelf.found("outside marten", "animals") == []
        # An unreadable folder is no reason to delete its documents.
        (root / "c.md").write_text("# C\n\nThe weasel waits.")
        await shelf.clock.sleep(61)
        await shelf.work()
        root.rename(tmp_path / "away")
        await shelf.clock.sleep(61)
        await shelf.work()
        assert len(await shelf.found("weasel", "animals")) == 1


async def test_backups_and_erasures_keep_the_files_of_documents(tmp_path: Path) -> None:
    database = database_in(tmp_path, None)
    async with shelf_of(database) as shelf:
        await shelf.create("a")
        document = await shelf.put("a", "x.txt", "The ferry leaves at dawn.")
        with looking_at(database.file, at_rest=False) as connection:
            assert files_in_use(connection) == [document.blob]
        assert await shelf.store.read(lambda tx: tx.erasures.file_is_used(document.blob))
        await shelf.store.write(knowledge.remove_document, "a", document.id, by=OWNER, now=shelf.clock.now())
        await shelf.work()
        with looking_at(database.file, at_rest=False) as connection:
            assert files_in_use(connection) == []


async def test_limits_are_errors(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "MOST_DOCUMENTS", 1)
    await shelf.create("a")
    await shelf.put("a", "x.txt", "one")
    with pytest.raises(Conflict, match="1 documents"):
        await shelf.put("a", "y.txt", "two")
    with pytest.raises(Unprocessable):
        await shelf.store.write(knowledge.update, "a", {"description": "x" * 501}, by=OWNER, now=shelf.clock.now())
