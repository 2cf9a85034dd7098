"""Models through the user's own `claude` program, for users with a subscription instead of a key (behaviour.md 1.11).

Each call starts a new program without knowledge of earlier ones: its input contains the whole history. It gets no
tools, settings, plugins or permissions of its user, and no variables of the daemon's environment except those named
here. The user installs it; this module is written for its versions 2.1.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from arvis.domain.errors import ProviderError, ProviderErrorKind, ToolError
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.clock import Clock
from arvis.ports.provider import ProviderServices
from arvis.ports.sandbox import PROGRAM_MISSING, Finished, Programs, Task
from arvis.providers import failures
from arvis.providers.claude_cli_answer import ClaudeCliResponse
from arvis.providers.claude_cli_prompt import prompt_of, system_of
from arvis.providers.reply import ReplyText

_PROGRAM = "claude"
_PRIVATE_FOLDER = 0o700

#: Only Arvis makes the names of folders (reliability.md S10).
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

#: Maximum bytes of standard error, and of memory.
_MAX_OUTPUT = 65_536
_MEMORY = 4_294_967_296

#: A key of this kind is the long-lived login of a subscription (`claude setup-token`).
_LOGIN = "sk-ant-oat"

#: A text that names a file with @ makes the program read it, with or without tools. The prompt separates the @; this
#: refuses the rest.
_NO_FILES = json.dumps({"permissions": {"deny": ["Read", "Read(//**)"]}})

_OPTIONS = (
    *("--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"),
    *("--tools", "", "--permission-mode", "default", "--settings", _NO_FILES, "--strict-mcp-config"),
    *("--safe-mode", "--disable-slash-commands", "--no-session-persistence"),
)


def create(name: str, services: ProviderServices) -> ClaudeCliProvider:
    """Make the provider; this is the entry point. Only PATH and HOME of the environment are used."""
    runner = ClaudeRunner(
        programs=services.programs,
        folder=services.folder / "cli",
        environ=services.environ,
        timeout=services.timeouts.total,
    )
    return ClaudeCliProvider(name=name, runner=runner, clock=services.clock)


class ClaudeCliProvider:
    """A `StreamingProvider`. The tools of a request are not offered to the model: the program cannot return calls."""

    def __init__(self, *, name: str, runner: ClaudeRunner, clock: Clock) -> None:
        self.name = name
        self._runner = runner
        self._clock = clock

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, None)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, on_text)

    async def _call(self, request: RunRequest, account: Account, on_text: Callable[[str], None] | None) -> RunResult:
        reply = ReplyText(max_bytes=request.max_bytes, on_text=on_text)
        answer = ClaudeCliResponse(reply=reply, account=account, clock=self._clock, max_bytes=request.max_bytes)
        try:
            finished = await self._runner.run(request, account, answer.feed, stream=on_text is not None)
        except ToolError as error:
            raise _not_started(account, error) from None
        if finished.timed_out:
            text = f"the program of the account {account.name} did not answer in time and was ended"
            raise ProviderError(ProviderErrorKind.TIMEOUT, text)
        return answer.result(request, finished)


class ClaudeRunner:
    """Runs the program once for a request."""

    def __init__(self, *, programs: Programs, folder: Path, environ: Mapping[str, str], timeout: float) -> None:
        self._programs = programs
        self._folder = folder
        self._environ = environ
        self._timeout = timeout

    async def run(
        self, request: RunRequest, account: Account, on_stdout: Callable[[bytes], None], *, stream: bool
    ) -> Finished:
        """Run the program. Raises `ToolError` when it cannot be started, and the errors of `on_stdout`."""
        folder = self._folder / "conversations" / _safe(request.conversation or "none")
        environment = self._environment(request, account)
        try:
            await asyncio.to_thread(_make, folder, Path(environment["HOME"]))
            with tempfile.NamedTemporaryFile(dir=folder, prefix="system-") as system:
                system.write(system_of(request).encode("utf-8", "replace"))
                system.flush()
                task = Task(
                    _command(request, account, system.name, stream=stream),
                    folder,
                    stdin=prompt_of(request),
                    environment=environment,
                    timeout=self._timeout,
                    max_output=_MAX_OUTPUT,
                    memory=_MEMORY,
                )
                return await self._programs.run(task, on_stdout=on_stdout)
        except OSError as error:
            raise ToolError("the folder for it could not be written", why=error.strerror or "") from None

    def _environment(self, request: RunRequest, account: Account) -> dict[str, str]:
        """Return the environment. An account with a key needs no home; without a key, the login is in the daemon's
        home. Times in the output are in UTC."""
        private = self._folder / "homes" / _safe(account.name)
        home = str(private) if account.api_key else self._environ.get("HOME", str(private))
        given = {
            "HOME": home,
            "PATH": self._environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # The runner decides about retries and other accounts.
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_tokens),
        }
        if account.base_url:
            given["ANTHROPIC_BASE_URL"] = account.base_url
        if account.api_key:
            key = account.api_key.strip()
            given["CLAUDE_CODE_OAUTH_TOKEN" if key.startswith(_LOGIN) else "ANTHROPIC_API_KEY"] = key
        return given


def _command(request: RunRequest, account: Account, system: str, *, stream: bool) -> list[str]:
    """Return the command. Values of options follow a `=`, so that a model's name cannot become another option."""
    model = request.model or account.model
    pieces = ["--include-partial-messages"] if stream else []
    return [_PROGRAM, *_OPTIONS, *pieces, f"--model={model}", f"--system-prompt-file={system}"]


def _make(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)


def _safe(name: str) -> str:
    return name if _SAFE.fullmatch(name) else hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]


def _not_started(account: Account, error: ToolError) -> ProviderError:
    """Return the error for a program that did not start. Like a wrong key, only a person can fix it, and another
    account may answer in the meantime."""
    if error.code == PROGRAM_MISSING:
        text = f"the account {account.name} needs the program claude, which is not installed for the daemon's user. "
        text += "Install it (npm install -g @anthropic-ai/claude-code) and log in with `claude`"
        return ProviderError(ProviderErrorKind.AUTH, text)
    text = failures.redact(
        f"the program of the account {account.name} did not start: {error.why or error.what}", account
    )
    return ProviderError(ProviderErrorKind.BAD_REQUEST, text)
