"""The collection of skills: its sources and their priority, changed files, unusable skills, and imports."""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.dataclass import replace
from arvis.domain.errors import Conflict, FetchFailed, NotFound, ToolError, Unprocessable
from arvis.domain.versions import Versioned
from arvis.net.fetcher import open_fetcher
from arvis.ports.automation import TRUSTED_BEFORE_HASHES, StoredSkill
from arvis.ports.http import Fetched, Fetcher
from arvis.ports.store import Store
from arvis.process.sandbox import Bubblewrap
from arvis.skills.archives import bundle_of_archive, packed
from arvis.skills.bundle import Bundle
from arvis.skills.files import StoredSkillFiles
from arvis.skills.importing import Importer
from arvis.skills.registry import SkillRegistry, _stamps_of
from arvis.skills.skill import Source
from arvis.skills.sources import Given, Sources
from arvis.testing.clock import SteppedClock

PAGE = "https://example.com/knots.md"


def text(slug: str, body: str = "Text.") -> str:
    return f"---\nslug: {slug}\ntriggers: {{keywords: [rope]}}\n---\n{body}"


class Pages:
    """A fetcher that returns the given pages."""

    def __init__(self, pages: Mapping[str, Fetched]) -> None:
        self.pages = pages
        self.asked: list[tuple[str, int, float]] = []

    async def fetch(
        self, url: str, *, max_bytes: int = 0, timeout: float = 0, headers: Mapping[str, str] | None = None
    ) -> Fetched:
        self.asked.append((url, max_bytes, timeout))
        if url not in self.pages:
            raise FetchFailed("Nobody answers there.")
        return self.pages[url]


class Scene:
    def __init__(self, store: Store, folder: Path) -> None:
        self.folder = folder
        self.clock = SteppedClock()
        self.store = store
        self.pages = Pages({})
        self.registry = self.fresh_registry()
        self.files = StoredSkillFiles(
            skills=self.registry.look_again, store=store, folder=folder.parent / "skill-files", clock=self.clock
        )
        self.importer = self.importer_with(self._fetcher)

    def importer_with(self, fetcher: Callable[[], Awaitable[Any]]) -> Importer:
        """Return an importer whose web addresses and repositories this fetcher reaches."""
        sources = Sources(network=fetcher, sandbox=Bubblewrap(hidden=[self.folder.parent]))
        return Importer(sources=sources, files=self.files, store=self.store, registry=self.registry, clock=self.clock)

    def fresh_registry(self) -> SkillRegistry:
        return SkillRegistry(store=self.store, clock=self.clock, folder=self.folder)

    async def _fetcher(self) -> Fetcher:
        return self.pages

    def write(self, name: str, content: str | bytes) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    async def slugs(self, source: Source) -> list[str]:
        skills = (await self.registry.look_again()).skills
        return [slug for slug, skill in skills.items() if skill.source is source]


@pytest.fixture
async def scene(store: Store, tmp_path: Path) -> Scene:
    return Scene(store, tmp_path / "skills")


# -- sources -----------------------------------------------------------------------------------------------


async def test_built_in_skills_need_no_folder(scene: Scene) -> None:
    assert await scene.slugs(Source.BUILT_IN) == ["client-management", "code-review", "devops", "web-dev"]
    assert (await scene.registry.current()).problems == []


async def test_imported_skills_count_before_the_folder_and_those_before_built_in_ones(scene: Scene) -> None:
    scene.write("deep/er/knots.md", "---\n---\nOf the folder.")
    scene.write("devops.md", text("devops", "Of the folder."))
    scene.write("notes.txt", text("notes"))
    assert await scene.slugs(Source.FOLDER) == ["devops", "knots"]
    await scene.importer.create(Given(text=text("devops", "Brought in.")), by="ann", replace=True)
    available = await scene.registry.current()
    assert (available.skills["devops"].body, available.skills["knots"].body) == ("Brought in.", "Of the folder.")
    assert available.problems == []


async def test_an_unusable_skill_is_skipped_and_reported(scene: Scene) -> None:
    scene.write("a.md", text("same"))
    scene.write("b.md", text("same"))
    scene.write("broken.md", "no front matter")
    scene.write("binary.md", b"---\n\xff\n---\n")
    scene.write("pattern.md", "---\ntriggers: {patterns: ['(']}\n---\nText")
    scene.write("huge.md", text("huge", "x" * 300_000))
    scene.write("good.md", text("good"))
    assert await scene.slugs(Source.FOLDER) == ["good", "pattern", "same"]
    problems = (await scene.registry.current()).problems
    assert [problem.partition(":")[0].removeprefix("folder skill ") for problem in problems] == [
        "b.md", "binary.md", "broken.md", "huge.md", "pattern.md",
    ]  # fmt: skip


async def test_entries_that_are_not_part_of_a_skill_do_not_count(scene: Scene) -> None:
    scene.write("pdf/SKILL.md", FILES["SKILL.md"])
    for number in range(1_100):
        scene.write(f"pdf/.git/objects/{number}.md", "")
    names = [f"references/{number:02}.md" for number in range(12)]
    files = [scene.write(f"pdf/{name}", "Text.") for name in names]
    assert list((await scene.registry.current()).skills["pdf"].files) == names
    assert _stamps_of([scene.folder]).keys() == {str(scene.folder / "pdf/SKILL.md"), *map(str, files)}
    with pytest.raises(ToolError, match=r"references/09\.md and 2 more\.$"):
        await scene.files.read(READER, "pdf", "references/12.md")


async def test_links_lead_to_nothing_outside(scene: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(text("secret"))
    scene.write("good.md", text("good"))
    (scene.folder / "link.md").symlink_to(outside / "secret.md")
    (scene.folder / "folder").symlink_to(outside)
    (scene.folder / "loop.md").symlink_to(scene.folder / "loop.md")
    os.mkfifo(scene.folder / "fifo.md")
    (scene.folder / "inside.md").symlink_to(scene.folder / "good.md")
    assert await scene.slugs(Source.FOLDER) == ["good"]


# -- changed files -----------------------------------------------------------------------------------------


async def test_a_changed_file_is_seen_after_a_few_seconds(scene: Scene) -> None:
    file = scene.write("knots.md", text("knots", "Before."))
    assert (await scene.registry.current()).skills["knots"].body == "Before."
    scene.write("knots.md", text("knots", "Afterwards."))
    assert (await scene.registry.current()).skills["knots"].body == "Before."
    await scene.clock.sleep(4)
    assert (await scene.registry.current()).skills["knots"].body == "Afterwards."
    file.unlink()
    await scene.clock.sleep(4)
    assert "knots" not in (await scene.registry.current()).skills


async def test_nothing_is_read_again_while_nothing_changes(scene: Scene) -> None:
    first = await scene.registry.current()
    await scene.clock.sleep(4)
    assert await scene.registry.current() is first


async def test_another_process_sees_an_import(scene: Scene) -> None:
    other = scene.fresh_registry()
    await other.current()
    await scene.importer.create(Given(text=text("knots")), by="ann")
    await scene.clock.sleep(4)
    assert "knots" in (await other.current()).skills


# -- imports -----------------------------------------------------------------------------------------------


async def test_a_text_is_imported_replaced_and_removed(scene: Scene) -> None:
    await scene.importer.create(Given(text=text("knots", "One.")), by="ann")
    await scene.importer.create(Given(text=text("knots", "Two.")), by="ann")
    assert (await scene.registry.current()).skills["knots"].body == "Two."
    await scene.importer.remove("knots")
    assert "knots" not in (await scene.registry.current()).skills
    with pytest.raises(NotFound):
        await scene.importer.remove("knots")


async def test_a_built_in_skill_is_hidden_only_by_request_and_until_the_removal(scene: Scene) -> None:
    with pytest.raises(Conflict, match="built-in"):
        await scene.importer.create(Given(text=text("devops")), by="ann")
    with pytest.raises(Conflict, match="cannot be removed"):
        await scene.importer.remove("devops")
    await scene.importer.create(Given(text=text("devops", "Ours.")), by="ann", replace=True)
    assert (await scene.registry.current()).skills["devops"].body == "Ours."
    await scene.importer.remove("devops")
    assert (await scene.registry.current()).skills["devops"].source is Source.BUILT_IN


async def test_a_skill_of_the_folder_is_removed_there(scene: Scene) -> None:
    scene.write("knots.md", text("knots"))
    with pytest.raises(Conflict, match="folder"):
        await scene.importer.create(Given(text=text("knots")), by="ann")
    with pytest.raises(Conflict, match="folder") as refused:
        await scene.importer.remove("knots")
    assert "Delete its file" in refused.value.fix


@pytest.mark.parametrize(
    "bad", ["no front matter", "---\nname: A\n---\nNo slug", text("../up"), text("A B"), "x" * 300_000]
)
async def test_an_unusable_text_is_not_stored(scene: Scene, bad: str) -> None:
    with pytest.raises(Unprocessable):
        await scene.importer.create(Given(text=bad), by="ann")
    assert await scene.slugs(Source.IMPORTED) == []


async def test_a_page_is_fetched_within_bounds(scene: Scene) -> None:
    page = functools.partial(Fetched, PAGE, 200, "text/markdown", None)
    scene.pages.pages = {
        PAGE: page(text("knots").encode(), truncated=False),
        "https://example.com/large": page(text("large").encode(), truncated=True),
        "https://example.com/binary": page(b"\xff\xfe", truncated=False),
        "https://example.com/gone": Fetched(PAGE, 404, "text/html", None, text("gone").encode(), truncated=False),
    }
    await scene.importer.create(Given(url=PAGE), by="ann")
    assert scene.pages.asked == [(PAGE, 6_291_456, 15.0)]
    row = await scene.store.read(lambda tx: tx.skills.get("knots"))
    assert row is not None
    assert (row.source, row.by_id) == (PAGE, "ann")
    for url in ("https://example.com/large", "https://example.com/binary", "https://example.com/gone", "https://x.y/"):
        with pytest.raises(Unprocessable):
            await scene.importer.create(Given(url=url), by="ann")
    assert await scene.slugs(Source.IMPORTED) == ["knots"]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/a.md", "http://[::1]/a", "file:///etc/passwd", "http://169.254.169.254/"]
)
async def test_private_addresses_are_refused(scene: Scene, url: str) -> None:
    async with open_fetcher(allow=()) as fetcher:

        async def guarded() -> Fetcher:
            return fetcher

        importer = scene.importer_with(guarded)
        with pytest.raises(Unprocessable, match="cannot be fetched") as refused:
            await importer.create(Given(url=url), by="ann")
        assert refused.value.code == "fetch_refused"


# -- trust -------------------------------------------------------------------------------------------------


FILES = {
    "SKILL.md": b"---\nname: pdf\ndescription: Reads PDF files.\n---\n# Steps\n",
    "scripts/read.py": b"#!/usr/bin/env python3\nimport os, requests\nprint(os.environ)\n",
}
READER = Agent("a", "helper", "Helper", skills=("pdf",))


def given(**changes: bytes) -> Given:
    return Given(archive=packed(Bundle({**FILES, **changes})))


async def test_a_skill_from_outside_is_used_after_its_hash_is_trusted(scene: Scene) -> None:
    made = await scene.importer.create(given(), by="ann")
    assert (made.trusted, list(made.files)) == (False, ["scripts/read.py"])
    assert made not in (await scene.registry.current()).active
    with pytest.raises(ToolError, match="You have no skill"):
        await scene.files.read(READER, "pdf", "SKILL.md")
    remarks = [(remark.path, remark.line, remark.text) for remark in await scene.importer.remarks(made)]
    assert ("scripts/read.py", 2, "uses the network") in remarks
    assert ("scripts/read.py", 3, "reads environment variables") in remarks
    assert await scene.importer.file("pdf", "scripts/read.py") == (FILES["scripts/read.py"], 61)
    with pytest.raises(Conflict, match="changed since you read it"):
        await scene.importer.trust("pdf", seen="0" * 64, by="ann")
    assert (await scene.importer.trust("pdf", seen=made.hash, by="ann")).trusted
    assert (await scene.files.read(READER, "pdf", "scripts/read.py")).data == FILES["scripts/read.py"]
    # The same content stays trusted, another content does not; undo brings the trusted content back.
    assert (await scene.importer.create(given(), by="ann")).trusted
    changed = await scene.importer.create(given(**{"assets/x": b"x"}), by="ann")
    assert (changed.trusted, changed.changed) == (False, False)
    restored = await scene.importer.undo("pdf", by="ann")
    assert restored is not None
    assert (restored.trusted, restored.hash) == (True, made.hash)


async def test_a_skill_has_two_versions(scene: Scene) -> None:
    for number in range(4):
        await scene.importer.create(given(**{"assets/x": str(number).encode()}), by="ann")
    kept = await scene.store.read(lambda tx: tx.versions.newest(Versioned.SKILL, "pdf", 9))
    assert [version.version for version in kept] == [5, 4]
    restored = await scene.importer.undo("pdf", by="ann")
    assert restored is not None
    assert await scene.importer.file("pdf", "assets/x") == (b"2", 1)


async def test_content_that_changes_after_the_trust_is_refused(scene: Scene) -> None:
    made = await scene.importer.create(given(), by="ann", seen=bundle_of_archive(given().archive or b"").digest)
    assert made.trusted
    row = await scene.store.read(lambda tx: tx.skills.get("pdf"))
    packed_files = await scene.store.read(lambda tx: tx.skills.bundle("pdf"))
    assert row is not None
    # Another archive with the list of files unchanged: the list is used, the files are not.
    other = packed(Bundle({**FILES, "scripts/read.py": b"print('other')"}))
    await scene.store.write(lambda tx: tx.skills.put(replace(row, updated_at=row.updated_at + 1), other))
    await scene.registry.look_again()
    for attempt in (scene.files.read(READER, "pdf", "scripts/read.py"), scene.files.folders(READER)):
        with pytest.raises(ToolError, match="do not match its hash"):
            await attempt
    # Another text: the skill is not used, and it is reported.
    tampered = replace(row, text=row.text.replace("# Steps", "# Obey"), updated_at=row.updated_at + 2)
    await scene.store.write(lambda tx: tx.skills.put(tampered, packed_files))
    available = await scene.registry.look_again()
    assert available.skills["pdf"].changed
    assert available.skills["pdf"] not in available.active
    assert "content has changed since an owner trusted it" in available.problems[0]


async def test_files_for_programs_are_checked_at_each_use(scene: Scene) -> None:
    made = await scene.importer.create(given(), by="ann", seen=bundle_of_archive(given().archive or b"").digest)
    folder = (await scene.files.folders(READER))["pdf"]
    script = folder / "scripts" / "read.py"
    assert (folder.name, script.read_bytes(), script.stat().st_mode & 0o777) == (
        made.hash,
        FILES["scripts/read.py"],
        0o700,
    )
    script.write_text("print('planted')")
    (folder / "planted.py").write_text("x")
    assert (await scene.files.folders(READER))["pdf"] == folder
    assert (script.read_bytes(), (folder / "planted.py").exists()) == (FILES["scripts/read.py"], False)


async def test_rows_of_earlier_releases_stay_trusted(scene: Scene) -> None:
    row = StoredSkill("knots", text("knots"), "text", "ann", 1, 1, TRUSTED_BEFORE_HASHES)
    await scene.store.write(lambda tx: tx.skills.put(row))
    assert (await scene.registry.look_again()).skills["knots"].trusted
    assert (await scene.importer.edit("knots", text("knots", "New."), by="ann")).trusted
