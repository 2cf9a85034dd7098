"""`python -m tests.mcp_conformance`: run the public conformance suite of the Model Context Protocol against Arvis.

The suite and a Node.js that can run it are installed by `npm ci` in this folder. The suite plays the scenarios that the
revision 2026-07-28 requires: as a client against the server of a daemon, and as servers for the client of Arvis
(`client.py`). The command fails if a result differs from `results.py`. `--write` writes the page of the documentation.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.acceptance.daemon import ROOT, running_daemon
from tests.environment import daemon_environment
from tests.mcp_conformance.results import PAGE, REASONS, REVISION, page_of

HERE = Path(__file__).parent
#: The time limit for a scenario, in seconds.
_SECONDS = 240
_AT_ONCE = 2
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}

#: The failed checks of each scenario, by leg and scenario; an empty list if the scenario passed.
Found = dict[str, dict[str, list[str]]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mcp_conformance", description=__doc__)
    parser.add_argument("--leg", choices=["server", "client"], help="run only this leg")
    parser.add_argument("--write", action="store_true", help="only write the page of the documentation")
    parser.add_argument("--keep", type=Path, help="a folder for the details of the suite")
    parser.add_argument("--only", default="", help="run only the scenarios whose names contain this text")
    options = parser.parse_args()
    if options.write:
        PAGE.write_text(page_of())
        return 0
    legs = [options.leg] if options.leg else ["server", "client"]
    chosen = {leg: chosen_of(REASONS[leg], options.only) for leg in legs}
    if not any(chosen.values()):
        known = "\n".join(f"  {leg}: {name}" for leg in legs for name in REASONS[leg])
        print(f"No scenario has a name that contains {options.only!r}. The scenarios:\n{known}", file=sys.stderr)
        return 2
    if not installed():
        print(f"The suite is not installed. Run `npm ci` in {HERE.relative_to(ROOT)}.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        kept = options.keep or Path(folder)
        runs = {"server": run_server, "client": run_client}
        found = {leg: runs[leg](kept, names) for leg, names in chosen.items()}
    differences = compare(found)
    for leg, scenarios in found.items():
        passed = sum(not failed for failed in scenarios.values())
        print(f"{leg}: {passed} of {len(scenarios)} scenarios passed")
    print("\n".join(differences), file=sys.stderr)
    return 1 if differences else 0


def chosen_of(names: Collection[str], part: str) -> list[str]:
    return [name for name in names if part in name]


def installed() -> bool:
    return node().exists() and _suite().exists()


def node() -> Path:
    machine = _MACHINES.get(platform.machine(), platform.machine())
    return HERE / "node_modules" / f"node-{sys.platform}-{machine}" / "bin" / "node"


def _suite() -> Path:
    return HERE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


def compare(found: Found) -> list[str]:
    """Return the differences from the expected results, a line each."""
    lines = []
    for leg, scenarios in found.items():
        expected = REASONS[leg]
        for name, failed in scenarios.items():
            if failed and not expected.get(name):
                lines.append(f"{leg}: {name} failed: {', '.join(failed)}")
            elif not failed and expected.get(name):
                lines.append(f"{leg}: {name} passed, but results.py has a reason for a failure")
    return sorted(lines)


def run_client(kept: Path, scenarios: Collection[str]) -> dict[str, list[str]]:
    """Run these scenarios for the client, and return the failed checks by scenario."""
    command = f"{sys.executable} -m tests.mcp_conformance.client"
    return _run(kept, scenarios, "client", "--command", command)


def run_server(kept: Path, scenarios: Collection[str]) -> dict[str, list[str]]:
    """Run these scenarios for the server, and return the failed checks by scenario."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_daemon(Path(folder)) as daemon,
        _with_key(daemon.url, daemon.api_key) as url,
    ):
        return _run(kept, scenarios, "server", "--url", f"{url}/mcp")


def _run(kept: Path, scenarios: Collection[str], leg: str, *arguments: str) -> dict[str, list[str]]:
    """Run the scenarios, `_AT_ONCE` at a time, because the suite would start all clients together."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        results = pool.map(lambda name: _play(kept / leg / name, name, leg, *arguments), scenarios)
        return dict(zip(scenarios, results, strict=True))


def _play(folder: Path, scenario: str, leg: str, *arguments: str) -> list[str]:
    """Run one scenario, and return the failed checks."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = ["--scenario", scenario, "--spec-version", REVISION, "--timeout", str(1_000 * _SECONDS)]
    with (folder / "output.txt").open("w") as output:
        subprocess.run(
            [str(node()), str(_suite()), leg, *arguments, *chosen, "--output-dir", str(folder)],
            cwd=ROOT,
            env=daemon_environment(PYTHONPATH=str(ROOT)),
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=2 * _SECONDS,
            check=False,
        )
    checks = [each for file in folder.rglob("checks.json") for each in json.loads(file.read_text())]
    return [each["id"] for each in checks if each["status"] == "FAILURE"] if checks else ["no-checks"]


@contextlib.contextmanager
def _with_key(url: str, key: str) -> Iterator[str]:
    """Yield the address of a proxy that adds the key to all requests, because the suite cannot send one."""
    place = urlsplit(url)

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self._pass_on()

        do_GET = do_DELETE = do_OPTIONS = do_POST  # noqa: N815 - the names of the standard library

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers: Mapping[str, str] = {**dict(self.headers.items()), "Authorization": f"Bearer {key}"}
            connection = HTTPConnection(place.hostname or "", place.port, timeout=120)
            connection.request(self.command, self.path, body, dict(headers))
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"transfer-encoding", "content-length", "connection"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write nothing about requests."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{proxy.server_port}"
    finally:
        proxy.shutdown()
        proxy.server_close()


if __name__ == "__main__":
    raise SystemExit(main())
