"""Defines the section `speech` of `config.yaml`. It sets the engines for voice messages, and the limits for speech over
the socket."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from arvis.config.declarations import Section, setting
from arvis.config.values import Name, Positive, Refused, SecretText, TextList, Url, Whole

_PROGRAM = "It names a program that runs on this machine."


class SpeechBuffer(Section):
    """The limits that decide when speech over the socket becomes a message."""

    pause_seconds: Positive = setting(
        1.5, "after a complete thought, a pause of this length sends the message, in seconds", le=60
    )
    silence_seconds: Positive = setting(
        3, "after an incomplete thought, a silence of this length sends the message, in seconds", le=60
    )
    longest_seconds: Positive = setting(
        15, "longest time from the first chunk until the message is sent, in seconds", le=600
    )
    least_characters: Whole = setting(
        20, "a text with fewer characters is not sent before more text or silence follows", ge=0, le=1000
    )
    languages: TextList = setting(
        (), "languages whose words mark the beginning and end of a thought: en, de, ru, zh; empty: all of them"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.pause_seconds <= self.silence_seconds <= self.longest_seconds:
            raise Refused(
                "must not have `pause_seconds` above `silence_seconds`, or `silence_seconds` above `longest_seconds`"
            )
        return self


class SpeechToText(Section):
    """The engine that transcribes voice messages."""

    engine: Literal["none", "openai-whisper", "faster-whisper", "openai-api", "command"] = setting(
        "none", "transcribes voice messages: none, openai-whisper, faster-whisper, openai-api or command"
    )
    model: Name | None = setting(
        None,
        "null: base (engines on this machine), whisper-1 (openai-api); or the path of a model",
        file_only="It may name a file on this machine.",
    )
    language: str | None = setting(None, "such as de; null: detected automatically")
    command: Name | None = setting(
        None,
        "for `engine: command`: the program that prints the transcript, such as `my-recogniser {file}`",
        file_only=_PROGRAM,
    )

    @model_validator(mode="after")
    def _command_is_named(self) -> Self:
        if self.engine == "command" and self.command is None:
            raise Refused("must have `command`, the program to run, because `engine` is `command`")
        return self


class TextToSpeech(Section):
    """The engine that reads replies to voice messages aloud."""

    engine: Literal["none", "openai-api", "command"] = setting(
        "none", "speaks the reply to a voice message, in addition to the text: none, openai-api or command"
    )
    model: Name = setting("gpt-4o-mini-tts", "the speech model of openai-api")
    command: Name | None = setting(
        None, "for `engine: command`: the program that reads the text and prints the audio", file_only=_PROGRAM
    )
    voice: Name = setting("alloy", "for openai-api")

    @model_validator(mode="after")
    def _command_is_named(self) -> Self:
        if self.engine == "command" and self.command is None:
            raise Refused("must have `command`, the program to run, because `engine` is `command`")
        return self


class Speech(Section):
    """The speech engines. The engine `openai-api` uses `base_url` and `api_key` for both directions."""

    stt: SpeechToText = setting(SpeechToText.defaults(), "speech to text")
    tts: TextToSpeech = setting(TextToSpeech.defaults(), "text to speech")
    base_url: Url | None = setting(
        None,
        "for openai-api; null: the address of the first openai account, else OpenAI's",
        file_only="A stored key would be sent to the new address.",
    )
    api_key: SecretText | None = setting(
        None,
        "for openai-api: env:NAME or file:PATH; null: the key of the first openai account",
        file_only="A secret is named in config.yaml or the environment.",
    )
    minutes: Positive = setting(10, "the longest voice message, in minutes", le=600)
    memory_mb: Whole = setting(4096, "memory limit of an engine or command on this machine, in MB", ge=256, le=262_144)
    buffer: SpeechBuffer = setting(
        SpeechBuffer.defaults(), "turns speech that arrives over the socket, chunk by chunk, into messages"
    )
