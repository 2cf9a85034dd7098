"""Knowledge bases of the shipped daemon: the command line fills them, an agent cites them, folders and pages are followed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance.daemon import Daemon, running_daemon
from tests.flows.media_kit import pdf


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("knowledge")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "tides.md").write_text("# Tides\n\nHigh water is at noon on Sundays.", encoding="utf-8")
    settings = {"folders": [{"path": str(docs), "knowledge_base": "tides", "every": "1m"}]}
    (folder / "config.yaml").write_text(f"web: {{port: 0}}\nknowledge: {json.dumps(settings)}\n", encoding="utf-8")
    with running_daemon(folder) as daemon:
        yield daemon


def documents(daemon: Daemon, slug: str) -> dict[str, Any]:
    """Return the documents by location when none of them waits for the index any more."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = json.loads(daemon.arvis("knowledge", "show", slug, "--json").stdout)["documents"]["items"]
        if found and all(each["status"] != "pending" for each in found):
            return {each["location"]: each for each in found}
        time.sleep(0.1)
    raise AssertionError("the documents were not indexed")


def test_from_a_folder_of_files_to_a_cited_answer(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "leave.md").write_text("# Leave\n\nEmployees get thirty days of leave.", "utf-8")
    (tmp_path / "policies" / "travel.pdf").write_bytes(pdf("Trains are booked by the office."))
    (tmp_path / "policies" / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    (tmp_path / "policies" / ".hidden.md").write_text("hidden", "utf-8")
    made = daemon.arvis("knowledge", "create", "handbook", "--description", "Rules for employees")
    assert "is created" in made.stdout, made.stderr
    added = daemon.arvis("knowledge", "add", "handbook", str(tmp_path / "policies"))
    assert added.stdout == "Documents added to handbook: 3. Not indexed yet: 3.\n", added.stderr
    found = documents(daemon, "handbook")
    assert {name: each["status"] for name, each in found.items()} == {
        "leave.md": "indexed", "travel.pdf": "indexed", "broken.pdf": "failed",
    }  # fmt: skip
    assert found["broken.pdf"]["problem"] == "the document is damaged"
    again = daemon.arvis("knowledge", "add", "handbook", str(tmp_path / "policies" / "leave.md"))
    assert "Not indexed yet: 0." in again.stdout
    searched = daemon.arvis("knowledge", "search", "handbook", "who", "books", "trains").stdout
    assert "travel.pdf" in searched
    assert "Trains are booked" in searched

    assert daemon.arvis("agents", "update", "helper", "--knowledge", "handbook").returncode == 0
    call = f"demo: tool search_knowledge {json.dumps({'query': 'days of leave'})}"
    result = json.loads(daemon.arvis("knowledge", "search", "handbook", "days of leave", "--json").stdout)["items"][0]
    answer = daemon.arvis("chat", "--agent", "helper", f"{call}\ndemo: say Thirty days [{result['mark']}].")
    assert f"Sources:\n[{result['mark']}] Leave – leave.md" in answer.stdout, answer.stdout + answer.stderr

    removed = daemon.arvis("knowledge", "remove", "handbook", found["leave.md"]["id"])
    assert removed.returncode == 0
    assert "Nothing was found" in daemon.arvis("knowledge", "search", "handbook", "leave").stdout
    assert daemon.arvis("knowledge", "delete", "handbook").returncode == 0
    missing = daemon.arvis("knowledge", "show", "handbook")
    assert (missing.returncode, "There is no such knowledge base" in missing.stderr) == (1, True)


def test_a_folder_of_the_configuration_is_followed(daemon: Daemon) -> None:
    found = documents(daemon, "tides")
    assert [each["kind"] for each in found.values()] == ["folder"]
    assert "noon on Sundays" in daemon.arvis("knowledge", "search", "tides", "high water").stdout
    [document] = found.values()
    refused = daemon.arvis("knowledge", "remove", "tides", document["id"])
    assert "Remove the file from the folder" in refused.stderr


def test_what_cannot_be_added_is_explained(daemon: Daemon, tmp_path: Path) -> None:
    daemon.arvis("knowledge", "create", "limits")
    private = daemon.arvis("knowledge", "add", "limits", "http://127.0.0.1:1/page")
    assert (private.returncode, "public" in private.stderr) == (1, True), private.stderr
    assert "no file or folder" in daemon.arvis("knowledge", "add", "limits", str(tmp_path / "none")).stderr
    wrong = daemon.arvis("knowledge", "create", "Not-A-Slug")
    assert (wrong.returncode, "lower-case" in wrong.stderr) == (1, True)
    large = tmp_path / "large.txt"
    large.write_bytes(b"a" * 20_000_001)
    assert "was left out" in daemon.arvis("knowledge", "add", "limits", str(large)).stderr


async def test_roles_and_fields_of_the_api(daemon: Daemon) -> None:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {daemon.api_key}"}) as owner:
        keys = {}
        for role in ("operator", "viewer", "chat"):
            async with owner.post(f"{daemon.url}/api/keys", json={"name": role, "role": role}) as answer:
                keys[role] = (await answer.json())["key"]

        async def status(role: str, method: str, path: str, body: object = None) -> int:
            headers = {"Authorization": f"Bearer {keys[role]}"}
            async with owner.request(method, daemon.url + path, json=body, headers=headers) as answer:
                return answer.status

        assert await status("operator", "POST", "/api/knowledge", {"slug": "team"}) == 201
        assert await status("operator", "POST", "/api/knowledge", {"slug": "t2", "trusted": True}) == 403
        assert await status("operator", "PATCH", "/api/knowledge/team", {"trusted": True}) == 403
        assert await status("viewer", "POST", "/api/knowledge", {"slug": "t3"}) == 403
        assert await status("viewer", "GET", "/api/knowledge/team") == 200
        assert await status("chat", "GET", "/api/knowledge") == 403
        document = {"name": "a.md", "text": "# A\n\nText."}
        assert await status("viewer", "POST", "/api/knowledge/team/documents", document) == 403
        assert await status("operator", "POST", "/api/knowledge/team/documents", document) == 201
        for wrong in (
            {}, {"name": "a"}, {"text": "a"}, {"name": "a", "text": "a", "file": "YQ=="}, {"name": "a", "file": "%"},
            {"url": "ftp://example.org/a"}, {"url": "http://10.0.0.1/"}, {"name": "a\nb", "text": "x"},
            {"name": "a", "text": "x", "refresh": 3_600_000}, {"name": "x" * 1_001, "text": "x"},
        ):  # fmt: skip
            assert await status("operator", "POST", "/api/knowledge/team/documents", wrong) == 422, wrong
        assert await status("operator", "GET", "/api/knowledge/team/search") == 422
        assert await status("operator", "GET", "/api/knowledge/..%2Fteam/search?text=a") in {404, 422}
        assert await status("operator", "PATCH", "/api/knowledge/team/documents/none", {"title": "A"}) == 404
