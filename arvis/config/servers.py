"""The sections `mcp` and `telemetry` of `config.yaml`: servers to which the daemon connects for tools and traces."""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from arvis.config.sections import Section
from arvis.config.values import Name, Positive, Refused, SecretText, TextList, Url
from arvis.domain.tools import Risk

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII)
#: A header value: visible ASCII characters, with spaces and tabs only in between.
_HEADER_VALUE = re.compile(r"[!-~]([ \t!-~]*[!-~])?", re.ASCII)


def _command(value: object) -> object:
    if isinstance(value, str):
        raise Refused("must be a list: the program, then each argument", "Write for example [npx, -y, some-server].")
    if isinstance(value, list):
        return [str(part) if isinstance(part, int | float) and not isinstance(part, bool) else part for part in value]
    return value


def _has_program(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or not value[0].strip():
        raise Refused("must begin with the program to run")
    if any("\x00" in part for part in value):
        raise Refused("must not contain NUL characters")
    return value


def web_address(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise Refused("must be an address that starts with http:// or https://")
    return value


def _variables(value: dict[str, SecretStr]) -> dict[str, SecretStr]:
    for name, text in value.items():
        if not _VARIABLE.fullmatch(name):
            raise Refused(f"contains {name!r}, which is not a valid name of an environment variable")
        if "\x00" in text.get_secret_value():
            raise Refused(f"contains a NUL character in {name}")
    return value


def header_lines(value: dict[str, SecretStr]) -> dict[str, SecretStr]:
    for name, text in value.items():
        if not _HEADER.fullmatch(name):
            raise Refused(f"contains {name!r}, which is not a valid name of a header")
        if not _HEADER_VALUE.fullmatch(text.get_secret_value()):
            raise Refused(f"contains characters in {name} that a header cannot contain")
    return value


class McpServer(Section):
    """One MCP server: either a program (`command`), which the daemon calls over standard input and output, or the
    address of a server (`url`)."""

    name: Annotated[str, Field(min_length=1, max_length=32, pattern=r"^[a-z0-9_-]+$")]
    command: Annotated[tuple[str, ...], BeforeValidator(_command), AfterValidator(_has_program)] | None = None
    url: Annotated[Url, AfterValidator(web_address)] | None = None
    #: The environment variables of the program. Like `headers`, they may contain secrets.
    env: Annotated[dict[str, SecretText], AfterValidator(_variables)] = Field(default_factory=dict)
    headers: Annotated[dict[str, SecretText], AfterValidator(header_lines)] = Field(default_factory=dict)
    #: The permitted tools; empty: all tools.
    tools: TextList = ()
    #: The risk of the server's tools.
    risk: Risk = Risk.WRITE
    #: True if the server's own statements about the risks of its tools are used.
    trust_annotations: bool = False
    timeout_seconds: Annotated[Positive, Field(le=3600)] = 60
    #: True if a call whose result was lost may be repeated.
    repeatable: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            text = "must have exactly one of `command` and `url`"
            raise Refused(text, "Name the program to run, or the address of a running server.")
        if self.url is not None and self.env:
            raise Refused("has `env`, which works only with `command`", "Use `headers`.")
        if self.command is not None and self.headers:
            raise Refused("has `headers`, which work only with `url`", "Use `env`.")
        return self

    def secrets(self) -> frozenset[str]:
        """Return the values that must never be shown."""
        return frozenset(text.get_secret_value() for text in (*self.env.values(), *self.headers.values()))


def _each_once(value: tuple[McpServer, ...]) -> tuple[McpServer, ...]:
    for name, count in Counter(server.name for server in value).items():
        if count > 1:
            raise Refused(f"has {count} servers with the name {name}", "Give each server its own name.")
    return value


class Mcp(Section):
    servers: Annotated[tuple[McpServer, ...], AfterValidator(_each_once)] = ()


class Telemetry(Section):
    """The export of traces."""

    #: None: no traces are sent.
    endpoint: Annotated[Url, AfterValidator(web_address)] | None = None
    headers: Annotated[dict[str, SecretText], AfterValidator(header_lines)] = Field(default_factory=dict)
    service_name: Name = "arvis"
    #: True if traces include the text of messages and the arguments and results of tools.
    capture_content: bool = False

    def secrets(self) -> frozenset[str]:
        """Return the values that must never be shown."""
        return frozenset(text.get_secret_value() for text in self.headers.values())
