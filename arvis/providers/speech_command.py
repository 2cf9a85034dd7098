"""Speech by programs that the owner configures. No shell is used: a command is split into words once."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from arvis.domain.errors import ToolError
from arvis.ports.sandbox import Finished, Programs, Task
from arvis.ports.transcriber import Sound, SpeechError
from arvis.providers.speech import environment_of, laid_out

#: The placeholder in a command for the path of the sound; without it the sound is passed on standard input.
FILE = "{file}"

_SECONDS = 300.0
_MOST_TEXT = 1_048_576
_MOST_SOUND = 20_971_520
_LONGEST_ERROR_OUTPUT = 200


class CommandTranscriber:
    """Implements `Transcriber`: the program prints the transcript."""

    def __init__(self, *, programs: Programs, command: str, environ: Mapping[str, str], memory: int) -> None:
        self._run = _Command(programs=programs, environ=environ, memory=memory)
        self._argv = shlex.split(command)

    async def transcribe(self, sound: Sound) -> str:
        with laid_out(sound) as path:
            argv = [word.replace(FILE, str(path)) for word in self._argv]
            stdin = b"" if argv != self._argv else sound.data
            return (await self._run.output(argv, path.parent, stdin, _MOST_TEXT)).decode("utf-8", "replace").strip()

    async def close(self) -> None: ...


class CommandSpeaker:
    """Implements `Speaker`: the program reads the text and prints a sound. The sound is sent with `content_type` and
    `filename`."""

    def __init__(
        self,
        *,
        programs: Programs,
        command: str,
        environ: Mapping[str, str],
        memory: int,
        content_type: str = "audio/wav",
        filename: str = "answer.wav",
    ) -> None:
        self._run = _Command(programs=programs, environ=environ, memory=memory)
        self._argv = shlex.split(command)
        self._content_type = content_type
        self._filename = filename

    async def speak(self, text: str) -> Sound:
        data = await self._run.output(self._argv, Path("/"), text.encode("utf-8", "replace"), _MOST_SOUND)
        if not data:
            raise SpeechError("the text-to-speech program gave no sound", permanent=True)
        return Sound(data, self._content_type, self._filename)

    async def close(self) -> None: ...


class _Command:
    def __init__(self, *, programs: Programs, environ: Mapping[str, str], memory: int) -> None:
        self._programs = programs
        self._environment = environment_of(environ)
        self._memory = memory

    async def output(self, argv: Sequence[str], folder: Path, stdin: bytes, most: int) -> bytes:
        task = Task(
            argv=argv,
            folder=folder,
            stdin=stdin,
            environment=self._environment,
            timeout=_SECONDS,
            max_output=most,
            memory=self._memory,
        )
        try:
            finished = await self._programs.run(task)
        except ToolError as failed:
            raise SpeechError(f"the speech program cannot be used: {failed.what}", permanent=True) from None
        if finished.timed_out:
            raise SpeechError(f"the speech program took more than {_SECONDS:.0f} seconds", permanent=True)
        if finished.exit_code != 0:
            raise SpeechError(f"the speech program failed{_error_output(finished)}", permanent=True)
        if finished.truncated and len(finished.stdout) == most:
            raise SpeechError("the output of the speech program is too large", permanent=True)
        return finished.stdout


def _error_output(finished: Finished) -> str:
    text = " ".join(finished.stderr[-_LONGEST_ERROR_OUTPUT:].decode("utf-8", "replace").split())
    return f": {text}" if text else ""
