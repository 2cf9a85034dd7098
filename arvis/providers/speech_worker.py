"""Transcribe sounds with Whisper, as a separate process: `python -m arvis.providers.speech_worker SETTINGS`.

SETTINGS is JSON: `engine`, `model`, `language`. Each line of standard input is JSON with the `name` and the `data`
(base64) of a sound. The answer is a line of JSON with the `text`, or with a `problem`. The first sound loads the model.
Only answers are printed to standard output; output of libraries goes to standard error.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

DEFAULT_MODEL = "base"
_LONGEST_PROBLEM = 300

Hear = Callable[[str], str]


def main(settings: Mapping[str, Any]) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    hear: Hear | None = None
    for line in sys.stdin.buffer:
        try:
            hear = hear or load(settings)
            answer = {"text": _transcribed(hear, json.loads(line))}
        except ImportError as missing:
            answer = {"problem": f"the speech engine is not installed ({missing.name} is missing)"}
        except (OSError, RuntimeError, ValueError) as error:
            answer = {"problem": f"the speech engine failed: {' '.join(str(error).split())[-_LONGEST_PROBLEM:]}"}
        print(json.dumps(answer), file=answers, flush=True)


def load(settings: Mapping[str, Any]) -> Hear:
    model, language = settings["model"], settings["language"]
    return _openai_whisper(model, language) if settings["engine"] == "openai-whisper" else _faster(model, language)


def _openai_whisper(name: str, language: str | None) -> Hear:
    import whisper  # noqa: PLC0415 (imported only for this engine, because the import takes seconds)

    model = whisper.load_model(name, device="cpu")

    def hear(path: str) -> str:
        return str(model.transcribe(path, language=language, fp16=False)["text"])

    return hear


def _faster(name: str, language: str | None) -> Hear:
    import faster_whisper  # noqa: PLC0415 (as above)

    model = faster_whisper.WhisperModel(name, device="cpu", compute_type="int8")

    def hear(path: str) -> str:
        pieces, _ = model.transcribe(path, language=language)
        return "".join(piece.text for piece in pieces)

    return hear


def _transcribed(hear: Hear, request: Mapping[str, str]) -> str:
    with tempfile.TemporaryDirectory(prefix="arvis-voice-") as folder:
        path = Path(folder) / Path(request["name"]).name
        path.write_bytes(base64.b64decode(request["data"]))
        return hear(str(path)).strip()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
