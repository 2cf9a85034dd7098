"""The Python interpreter of scripts, and the packages that scripts declare. Only wheels of packages that the owner
allows are installed, and each set of packages has its own folder.

The interpreter is the daemon's own, without the daemon's packages. pip fetches packages inside the sandbox, where it
can access no files of the machine except its own folder; a wheel runs no code when it is unpacked. The address of the
package index comes from pip and its settings, not from this module.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.domain.regex import regex
from arvis.ports.sandbox import WORKSPACE, Sandbox, Task

# -- the interpreter ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python interpreter that runs scripts."""

    program: Path
    #: The folders that the interpreter must read in addition to the folders of the system.
    readable: tuple[Path, ...]
    #: The version of Python, such as `3.13`. The name of each package set depends on it.
    version: str
    #: The path of a pip that the interpreter can run (None: there is no pip).
    pip: Path | None


def daemons_interpreter() -> Interpreter:
    """Return the interpreter from which the daemon's own environment was made."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    prefixes = {Path(sys.base_prefix), Path(sys.base_exec_prefix)}
    beyond = tuple(sorted(prefix for prefix in prefixes if not prefix.is_relative_to("/usr")))
    return Interpreter(Path(sys.base_exec_prefix, "bin", f"python{version}"), beyond, version, _pip())


def _pip() -> Path | None:
    """Return the path of the installed package pip, or of the pip archive that comes with Python. The interpreter can
    run either of them by its path. The path contains no symbolic link, because the sandbox mounts only the target of a
    link. For example, a link may lead to the folder of the installation. Return None if both are missing."""
    found = find_spec("pip")
    if found is not None and found.submodule_search_locations:
        return Path(found.submodule_search_locations[0]).resolve()
    spare = find_spec("ensurepip")
    if spare is None or spare.origin is None:
        return None
    wheels = sorted(Path(spare.origin).resolve().parent.glob("_bundled/pip-*.whl"))
    return wheels[-1] / "pip" if wheels else None


#: The entry of `allowed` that allows every name.
ANY = "*"

#: The maximum number of packages of one script, the maximum number of stored sets, and the time limit of pip in
#: seconds.
MOST_PACKAGES = 10
MOST_SETS = 8
_SECONDS = 300.0

_PRIVATE = 0o700
_LAST_WORDS = 600

#: A package name (PEP 508) with or without a version. Options, addresses, files and extras do not match.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"
_REQUIREMENT = regex(rf"(?P<name>{_NAME})(?:[ ]*==[ ]*(?P<version>[0-9][A-Za-z0-9.+!]{{0,40}}))?", re.ASCII)
_SEPARATORS = regex(r"[-_.]+")

_OPTIONS = (
    "--no-input",
    "--disable-pip-version-check",
    "--no-cache-dir",
    "--no-warn-script-location",
    "--quiet",
    "--only-binary",
    ":all:",
)


class PackageSets:
    """The installed sets of packages, each in a folder inside `folder`. They are installed with `interpreter`.
    `allowed` contains names of packages, or `ANY`. `settings` are settings of pip, by the names of their environment
    variables."""

    def __init__(
        self,
        *,
        folder: Path,
        sandbox: Sandbox,
        interpreter: Interpreter,
        allowed: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._sandbox = sandbox
        self._interpreter = interpreter
        self._allowed = frozenset(map(_plain, allowed))
        self._settings = dict(settings or {})
        self._installing = asyncio.Lock()
        self._held: Counter[str] = Counter()

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the allowed names, sorted; only `ANY` if every name is allowed."""
        return (ANY,) if ANY in self._allowed else tuple(sorted(self._allowed))

    @asynccontextmanager
    async def held(self, libraries: Sequence[str]) -> AsyncIterator[Path | None]:
        """Provide the folder with these packages. The folder is not removed while the context is open. Provide None if
        no package is needed. Raise `ToolError` if a package is not allowed or cannot be installed."""
        wanted = self._wanted(libraries)
        if not wanted:
            yield None
            return
        key = hashlib.sha256("\n".join([self._interpreter.version, *wanted]).encode()).hexdigest()[:32]
        self._held[key] += 1
        try:
            async with self._installing:
                place = self._folder / key
                if not await asyncio.to_thread(_used_now, place):
                    await self._install(place, wanted)
            yield place
        finally:
            self._held[key] -= 1

    def _wanted(self, libraries: Sequence[str]) -> list[str]:
        """Return the requirements for pip, sorted, so that equal sets give equal lists. Skip each name of a standard
        library module unless the owner allows this name, because a package with such a name is probably malicious."""
        found: dict[str, str] = {}
        for written in libraries:
            asked = _REQUIREMENT.fullmatch(written.strip())
            if asked is None:
                raise ToolError(f"{written[:80]!r} is not a package: write name or name==version.")
            name = _plain(asked["name"])
            if asked["name"] in sys.stdlib_module_names and name not in self._allowed:
                continue
            if not {ANY, name} & self._allowed:
                names = ", ".join(self.allowed)
                hint = f"Allowed: {names}." if names else "None are allowed: use the standard library."
                raise ToolError(f"The package {name} is not allowed here. {hint}")
            found[name] = f"{name}=={asked['version']}" if asked["version"] else name
        if len(found) > MOST_PACKAGES:
            raise ToolError(f"Too many packages: the limit is {MOST_PACKAGES}.")
        return sorted(found.values())

    async def _install(self, place: Path, wanted: Sequence[str]) -> None:
        pip = self._interpreter.pip
        if pip is None:
            raise ToolError("Packages cannot be installed here: the daemon's Python has no pip.")
        draft = place.with_suffix(".part")
        try:
            await asyncio.to_thread(self._make_room, draft)
            await self._fetch(pip, draft, wanted)
            await asyncio.to_thread(_finish, draft, place)
        except OSError as error:
            raise ToolError("The folder for the packages could not be created.", why=str(error.strerror)) from None

    async def _fetch(self, pip: Path, draft: Path, wanted: Sequence[str]) -> None:
        program = [str(self._interpreter.program), "-I", str(pip), "install", *_OPTIONS, "--target", WORKSPACE]
        task = Task(
            [*program, "--", *wanted],
            draft,
            environment={**self._settings, "TMPDIR": f"{WORKSPACE}/.pip"},
            readable=[*self._interpreter.readable, pip.parent if pip.parent.suffix == ".whl" else pip],
            network=True,
            timeout=_SECONDS,
        )
        finished = await self._sandbox.run(task)
        if finished.exit_code != 0 or finished.timed_out:
            words = " ".join(finished.stderr.decode("utf-8", "replace").split())[-_LAST_WORDS:]
            why = (
                f"pip took longer than {_SECONDS:.0f} seconds" if finished.timed_out else words or "pip gave no reason"
            )
            raise ToolError(f"The packages could not be installed ({', '.join(wanted)}): {why}")

    def _make_room(self, draft: Path) -> None:
        """Create the folder for a new set. Remove all incomplete sets. Remove complete sets that are not in use, except
        the `MOST_SETS - 1` most recently used ones."""
        self._folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        for left in self._folder.glob("*.part"):
            shutil.rmtree(left)
        whole = sorted(self._folder.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True)
        for old in whole[MOST_SETS - 1 :]:
            if not self._held[old.name]:
                shutil.rmtree(old)
        (draft / ".pip").mkdir(mode=_PRIVATE, parents=True)


def _plain(name: str) -> str:
    """Return the normal form of a package name: lower case, with `-` as the only separator."""
    return _SEPARATORS.sub("-", name.strip()).lower()


def _used_now(place: Path) -> bool:
    """Return whether the set exists. If it does, mark it as used now."""
    if not place.is_dir():
        return False
    os.utime(place)
    return True


def _finish(draft: Path, place: Path) -> None:
    shutil.rmtree(draft / ".pip", ignore_errors=True)
    draft.rename(place)
