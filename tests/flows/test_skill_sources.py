"""Skills from git repositories and addresses, with the real git, a real fetcher and servers of the test."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import Unprocessable
from arvis.net.fetcher import GuardedFetcher, open_fetcher
from arvis.process.sandbox import Bubblewrap
from arvis.skills.archives import packed
from arvis.skills.bundle import Bundle
from arvis.skills.sources import Given, Sources
from tests.parts import refused, require
from tests.wings.listening import listening

TEXT = "---\nname: {name}\ndescription: Reads files.\n---\n# Steps\n"
ZIP = packed(Bundle({"SKILL.md": TEXT.format(name="pdf").encode(), "references/a.md": b"A"}))


class GitServer:
    """A web server: repositories below `root` with `git http-backend`, and one archive."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.hosts: list[str] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split(" ", 2)
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])}
        self.hosts.append(headers["host"])
        if target == "/pdf.zip":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: %d\r\n" % len(ZIP))
            writer.write(b"Connection: close\r\n\r\n" + ZIP)
            return
        if target.startswith("/moved"):
            writer.write(b"HTTP/1.1 302 Found\r\nLocation: /skills.git%s\r\n" % target.removeprefix("/moved").encode())
            writer.write(b"Content-Length: 0\r\nConnection: close\r\n\r\n")
            return
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        path, _, query = target.partition("?")
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
            "GIT_PROTOCOL": headers.get("git-protocol", ""),
            "CONTENT_LENGTH": str(len(body)),
        }
        pipe = asyncio.subprocess.PIPE
        backend = await asyncio.create_subprocess_exec("git", "http-backend", stdin=pipe, stdout=pipe, env=environment)
        answer, _ = await backend.communicate(body)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + answer)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Scene:
    def __init__(self, root: Path, server: GitServer, port: int, fetcher: GuardedFetcher) -> None:
        self.root, self.server, self.port, self.fetcher = root, server, port, fetcher
        self.sandbox = Bubblewrap(hidden=[root])
        self.sources = Sources(network=self._given, sandbox=self.sandbox)

    async def _given(self) -> Any:
        return self.fetcher

    def commit(self, files: dict[str, str]) -> str:
        work = self.root / "work"
        if not work.exists():
            git(self.root, "init", "-q", "-b", "main", "work")
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text)
        git(work, "add", "-A")
        git(work, "commit", "-q", "-m", "a change")
        if not (self.root / "skills.git").exists():
            git(self.root, "clone", "-q", "--bare", "work", "skills.git")
        git(work, "push", "-q", "--force", "../skills.git", "main")
        return git(work, "rev-parse", "HEAD")

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    require("git", "install git (Debian: apt-get install git)")
    require("bwrap", "install bubblewrap (Debian: apt-get install bubblewrap)")
    async with AsyncExitStack() as stack:
        server = GitServer(tmp_path)
        port = await stack.enter_async_context(listening(server.talk))
        fetcher = await stack.enter_async_context(open_fetcher(allow=[f"127.0.0.1:{port}"]))
        made = Scene(tmp_path, server, port, fetcher)
        if (reason := await made.sandbox.refusal()) is not None:
            refused(reason)
        yield made


async def test_a_skill_of_a_repository_is_its_newest_commit(scene: Scene) -> None:
    scene.commit({"README.md": "old", "skills/pdf/SKILL.md": TEXT.format(name="pdf"), "skills/pdf/scripts/a.py": "1"})
    newest = scene.commit({"skills/pdf/scripts/a.py": "2", "skills/csv/SKILL.md": TEXT.format(name="csv")})
    content = await scene.sources.read(Given(git=scene.url("skills.git"), inside="skills/pdf"))
    assert (content.skill.slug, content.origin) == ("pdf", f"{scene.url('skills.git')}@{newest}")
    assert content.bundle is not None
    assert content.bundle.files["scripts/a.py"] == b"2"
    with pytest.raises(Unprocessable, match="2 skills; name one of their directories: skills/csv, skills/pdf"):
        await scene.sources.read(Given(git=scene.url("skills.git")))
    for wrong in ("none.git", "moved"):
        with pytest.raises(Unprocessable, match="repository cannot be fetched"):
            await scene.sources.read(Given(git=scene.url(wrong)))
    with pytest.raises(Unprocessable, match="repository cannot be fetched"):
        await scene.sources.read(Given(git=scene.url("skills.git"), inside="skills/none"))


async def test_links_of_a_repository_are_refused(scene: Scene) -> None:
    scene.commit({"SKILL.md": TEXT.format(name="pdf")})
    (scene.root / "work" / "link").symlink_to("/etc/passwd")
    scene.commit({"a.md": "x"})
    with pytest.raises(Unprocessable, match="link"):
        await scene.sources.read(Given(git=scene.url("skills.git")))


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/x.git", "https://127.0.0.1/x.git", "https://localhost/x.git", "file:///etc", "ssh://git@example.com/x",
        "git@example.com:x", "ext::sh -c id", "--upload-pack=id", "https://user:secret@example.com/x",
    ],
)  # fmt: skip
async def test_other_addresses_are_refused_before_git_starts(scene: Scene, url: str) -> None:
    with pytest.raises(Unprocessable, match="repository cannot be fetched"):
        await scene.sources.read(Given(git=url))
    assert scene.server.hosts == []


async def test_an_address_may_lead_to_an_archive(scene: Scene) -> None:
    content = await scene.sources.read(Given(url=scene.url("pdf.zip")))
    assert (content.skill.slug, content.origin) == ("pdf", scene.url("pdf.zip"))
    assert content.bundle is not None
    assert list(content.bundle.files) == ["SKILL.md", "references/a.md"]
