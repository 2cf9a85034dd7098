"""Checks that the configured speech engines are installed, without loading or calling them."""

from __future__ import annotations

import shlex
import shutil
from importlib.util import find_spec

from arvis.cli.doctor.findings import Check, Group, Verdict, ok, warn
from arvis.cli.doctor.scene import Scene

#: Of an engine that runs here: its module, what installs it, and a program that it cannot do without.
_LOCAL = {
    "openai-whisper": ("whisper", "make voice", "ffmpeg"),
    "faster-whisper": ("faster_whisper", "pip install 'arvis[voice-fast]'", None),
}


def check_hearing(scene: Scene) -> Verdict | None:
    speech = scene.config.speech
    match speech.stt.engine:
        case "none":
            return None
        case "openai-api":
            return _api(scene, "hear")
        case "command":
            return _program(speech.stt.command or "", "hear")
        case engine:
            return _local(engine)


def check_speaking(scene: Scene) -> Verdict | None:
    tts = scene.config.speech.tts
    if tts.engine == "none":
        return None
    return _api(scene, "speak") if tts.engine == "openai-api" else _program(tts.command or "", "speak")


def _local(engine: str) -> Verdict:
    module, install, program = _LOCAL[engine]
    if find_spec(module) is None:
        return warn(
            "Voice messages cannot be heard", f"`speech.stt.engine: {engine}` is not installed.", f"Run `{install}`."
        )
    if program is not None and shutil.which(program) is None:
        return warn("Voice messages cannot be heard", f"{engine} needs the program {program}.", f"Install {program}.")
    return ok(f"Voice messages are heard by {engine} (its model is loaded with the first one)")


def _program(command: str, does: str) -> Verdict:
    program = next(iter(shlex.split(command)), "")
    if shutil.which(program) is None:
        return warn(f"The program that is to {does} is not there", f"{program} is not in the PATH.", "Install it.")
    return ok(f"The program that is to {does} is there")


def _api(scene: Scene, does: str) -> Verdict:
    speech = scene.config.speech
    keys = [account for account in scene.config.accounts if account.provider == "openai"]
    if speech.api_key or speech.base_url or keys:
        return ok(f"The service that is to {does} is configured")
    why = "There is neither an openai account nor `speech.api_key`."
    return warn(f"The service that is to {does} has no key", why, "Set `speech.api_key: env:NAME`.")


GROUP = Group("speech", (Check("hearing", check_hearing), Check("speaking", check_speaking)))
