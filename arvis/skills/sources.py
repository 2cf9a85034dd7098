"""The sources from which skills are imported: a text, an archive, a web address, or a git repository."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError, Unprocessable
from arvis.domain.text import storable
from arvis.ports.http import Fetched, GuardedNetwork
from arvis.ports.sandbox import Sandbox, Task
from arvis.skills.archives import LARGEST_ARCHIVE, bundle_of_archive, commit_of, is_archive
from arvis.skills.bundle import LARGEST_SKILL, Bundle
from arvis.skills.skill import Skill, Source, read_skill, with_files
from arvis.skills.specification import SKILL_FILE

_FETCH_SECONDS = 15.0
_CLONE_SECONDS = 60.0

#: The stored source of a skill that was given as a text or a file.
BY_HAND = "text"
UPLOADED = "archive"


@dataclass(frozen=True, slots=True)
class Given:
    """A source as a person has given it: exactly one of the first four fields."""

    text: str | None = None
    archive: bytes | None = None
    url: str | None = None
    #: The https address of a repository.
    git: str | None = None
    #: The directory of the skill in the archive or repository; None: the only directory with a `SKILL.md`.
    inside: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a source."""

    skill: Skill
    #: The files; None: the skill is only a text.
    bundle: Bundle | None
    #: The address, with the commit of a repository, or one of `BY_HAND` and `UPLOADED`.
    origin: str


class Sources:
    """Reads sources. `network` reaches only public addresses and hosts that the configuration allows. git runs in the
    sandbox, because the server of a repository is not trusted."""

    def __init__(self, *, network: Callable[[], Awaitable[GuardedNetwork]], sandbox: Sandbox) -> None:
        self._network = network
        self._sandbox = sandbox

    async def read(self, given: Given) -> Content:
        """Return the content of a source. Raise `Unprocessable` if the source is not a usable skill."""
        if given.text is not None:
            return Content(read_skill(given.text, stem=None, source=Source.IMPORTED), None, BY_HAND)
        if given.archive is not None:
            return await _content(given.archive, given.inside, UPLOADED)
        if given.git is not None:
            return await self._cloned(given.git, given.inside)
        return await self._at_address(given.url or "", given.inside)

    async def _at_address(self, url: str, inside: str | None) -> Content:
        try:
            fetched = await (await self._network()).fetch(url, max_bytes=LARGEST_ARCHIVE, timeout=_FETCH_SECONDS)
        except ToolError as error:
            raise Unprocessable(
                f"The skill cannot be fetched: {error.what}",
                why=error.what,
                fix="Give a public http or https address, or the text itself.",
                code=error.code,
            ) from None
        _refuse_failure(fetched)
        if is_archive(fetched.body):
            return await _content(fetched.body, inside, fetched.url)
        return Content(read_skill(_text_of(fetched), stem=None, source=Source.IMPORTED), None, fetched.url)

    async def _cloned(self, url: str, inside: str | None) -> Content:
        try:
            checked = await (await self._network()).checked(url)
        except ToolError as error:
            raise _no_clone(error.what, "Give the public https address of a repository.") from None
        if checked.scheme != "https" and not checked.trusted:
            raise _no_clone("the address does not begin with https", "Give the https address of the repository.")
        if (reason := await self._sandbox.refusal()) is not None:
            raise _no_clone(reason, "Give the address of an archive of the repository instead.")
        addresses = ",".join(f"[{each}]" if ":" in each else each for each in checked.addresses)
        resolved = f"{checked.host}:{checked.port}:{addresses}"
        with TemporaryDirectory(prefix="arvis-skill-") as folder:
            task = Task(
                ["/bin/sh", "-c", _CLONE, "sh", resolved, checked.url, (inside or "").strip("/")],
                Path(folder),
                environment=_ENVIRONMENT,
                network=True,
                timeout=_CLONE_SECONDS,
                max_output=2 * LARGEST_SKILL,
            )
            finished = await self._sandbox.run(task)
        if finished.timed_out:
            raise _no_clone(f"git took longer than {_CLONE_SECONDS:.0f} seconds", "Give the address of an archive.")
        if finished.exit_code == _MISSING:
            raise _no_clone("git is not installed on this machine", "Install git, or give the address of an archive.")
        if finished.exit_code:
            said = " ".join(finished.stderr.decode("utf-8", "replace").split())[-300:]
            raise _no_clone(storable(said) or "git failed", "Check the address and the directory.")
        if finished.truncated:
            raise _no_clone("the repository is too large", "Name the directory of the skill in it.")
        commit = await asyncio.to_thread(commit_of, finished.stdout)
        return await _content(
            finished.stdout, inside, f"{checked.url}@{commit}" if commit else checked.url, whole=False
        )


#: The exit code of a shell for a program that does not exist.
_MISSING = 127
#: A shell script that clones the newest commit and writes its files as a tar archive. It makes no work tree, so no
#: link, filter or hook of the repository has an effect. git connects only to the addresses that were checked ($1), and
#: follows no redirect.
_CLONE = """
set -e
version=$(git version)
version=${version#git version }
rest=${version#*.}
if [ "${version%%.*}" -lt 2 ] || { [ "${version%%.*}" -eq 2 ] && [ "${rest%%.*}" -lt 37 ]; }; then
  echo "git 2.37 or newer is needed, but this is $version" >&2
  exit 3
fi
git -c protocol.allow=never -c protocol.https.allow=always -c protocol.http.allow=always -c http.followRedirects=false \\
  -c "http.curloptResolve=$1" -c credential.helper= clone --quiet --bare --depth 1 --single-branch --no-tags \\
  --template= -- "$2" repository >&2
if [ -n "$3" ]; then git -C repository archive --format=tar HEAD -- "$3"; else git -C repository archive --format=tar HEAD; fi
"""
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ASKPASS": "/bin/false",
    "HOME": "/tmp",  # noqa: S108 - a folder of the sandbox alone
}


async def _content(data: bytes, inside: str | None, origin: str, *, whole: bool = True) -> Content:
    bundle = await asyncio.to_thread(bundle_of_archive, data, inside, whole=whole)
    skill = read_skill(bundle.text, stem=None, source=Source.IMPORTED)
    if not skill.standard:
        raise Unprocessable(
            f"The skill cannot be used: its {SKILL_FILE} has the earlier form of skills in Arvis.",
            why="a skill in an archive must follow the specification of Agent Skills",
            fix="Write `name` and `description` into its front matter, or import the text alone.",
            code="bad_skill",
        )
    return Content(with_files(skill, bundle), bundle if len(bundle.files) > 1 else None, origin)


def _refuse_failure(fetched: Fetched) -> None:
    problem = None
    if fetched.status != HTTPStatus.OK:
        problem = f"the server answers with status {fetched.status}"
    elif fetched.truncated:
        problem = f"it is larger than {LARGEST_ARCHIVE} bytes"
    if problem is not None:
        raise _no_skill_there(problem)


def _text_of(fetched: Fetched) -> str:
    try:
        return fetched.body.decode("utf-8-sig")
    except UnicodeError:
        raise _no_skill_there("it is not UTF-8 text") from None


def _no_skill_there(problem: str) -> Unprocessable:
    return Unprocessable(
        f"The address does not contain a skill: {problem}.",
        why=problem,
        fix="Open the address in a browser and check that it shows a Markdown file, or downloads a zip or tar archive.",
    )


def _no_clone(why: str, fix: str) -> Unprocessable:
    return Unprocessable(
        f"The repository cannot be fetched: {why.rstrip('.')}.", why=why, fix=fix, code="repository_unavailable"
    )
