"""The start does little work, and an idle daemon has imported only what it uses (ADR 0069)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

EXPRESSIONS = """
import gc, importlib, pkgutil, re, sys

compiled, compile_ = [], re._compiler.compile
# `regex` itself, expressions of a generic class, and files that child programs load without modules of Arvis.
EXCEPTIONS = ("arvis.domain.regex", "arvis.engine.graph", "arvis.media.page", "arvis.tools.browser.inside",
              "arvis.tools.browser.remote")

def noting(pattern, flags=0):
    frame = sys._getframe(1)
    while frame.f_globals["__name__"] in ("re", "re._compiler"):
        frame = frame.f_back
    name = frame.f_globals["__name__"]
    # An expression that is used during the import is compiled by `arvis.domain.regex`.
    if name.split(".")[0] in ("arvis", "connectors") and name not in EXCEPTIONS:
        compiled.append(f"{name}: {pattern}")
    return compile_(pattern, flags)

re._compiler.compile = noting

import arvis, connectors
from arvis.domain.regex import _Expression

for package in (arvis, connectors):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print(*compiled, sep="\\n")
expressions = [each for each in gc.get_objects() if isinstance(each, _Expression)]
assert len(expressions) > 200
for each in expressions:
    each.flags
"""


def test_constant_expressions_are_valid_and_are_compiled_at_their_first_use() -> None:
    done = subprocess.run([sys.executable, "-c", EXPRESSIONS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


#: Modules that a daemon with the default configuration, to which nobody has written, does not need.
UNUSED = (
    # the parts that handle messages and requests
    *(f"arvis.{name}" for name in ("actions", "commands.registry", "delivery", "graphs", "media", "plugins")),
    *(f"arvis.{name}" for name in ("prompt", "speech", "tags", "tasks", "tools", "turns", "workflows", "approvals")),
    *(f"arvis.{name}" for name in ("memory.service", "messaging.messages", "scheduler.due", "services.schedules")),
    *(f"arvis.web.{name}" for name in ("api", "http.models", "mcp", "monitoring", "openai", "openapi", "wiring")),
    *(f"arvis.app.{name}" for name in ("administration", "graphs", "search", "toolbox", "trial_turn", "web", "work")),
    "arvis.erasing", "arvis.inbox.accept", "arvis.inbox.inbox", "arvis.llm.runner", "arvis.net", "arvis.notifications.mail",
    "arvis.providers.anthropic", "arvis.providers.google", "arvis.providers.ollama", "arvis.providers.openai",
    "arvis.store.postgres", "arvis.testing", "connectors",
    # packages
    "aiohttp", "anthropic", "apscheduler", "discord", "google", "httpx", "httpx2", "imagesize", "jsonschema", "mammoth",
    "mcp", "nacl", "openai", "opentelemetry", "prometheus_client", "psycopg", "pypdf", "re2", "referencing", "slack_bolt",
    "slack_sdk", "slackify_markdown", "smtplib", "snowballstemmer", "starlette.routing", "telegram", "telegramify_markdown",
    # parts of the standard library that are large or slow
    "argparse", "statistics", "unittest", "urllib.request",
)  # fmt: skip

IDLE = """
import asyncio, os, signal, sys
from pathlib import Path

from arvis.app import daemon
from arvis.config import load

async def main():
    folder = Path(sys.argv[1])
    config = load(folder / "config.yaml", folder / "data", {"ARVIS__WEB__PORT": "0"})
    ready = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(daemon.run(config, say=lambda line: ready.done() or ready.set_result(line)))
    await ready
    # The roles do their first work after the ready line. A shorter sleep would only make the test less strict.
    await asyncio.sleep(1)
    print(*sorted(sys.modules), sep="\\n")
    os.kill(os.getpid(), signal.SIGTERM)
    await running

asyncio.run(main())
"""


def test_an_idle_daemon_has_imported_only_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("{}\n")
    command = [sys.executable, "-c", IDLE, str(tmp_path)]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "arvis.web.server" in names
    assert [name for name in names if name.startswith(tuple(f"{each}." for each in UNUSED)) or name in UNUSED] == []


def test_messages_import_no_servers_of_tools() -> None:
    """The modules of servers are imported if there is a server, or if an owner looks at the servers."""
    program = "import sys, arvis.app.toolbox, arvis.app.work; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert "arvis.tools.registry" in names
    assert [name for name in names if name.startswith(("arvis.tools.mcp", "arvis.app.tool_servers"))] == []
