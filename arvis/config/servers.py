"""Defines the sections `mcp`, `images`, `telemetry` and `email` of `config.yaml`. They name the servers to which the daemon
connects for tools, pictures, traces and e-mails."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from arvis.config.declarations import Section, setting
from arvis.config.values import Name, Positive, Refused, SecretText, TextList, Url, Whole
from arvis.domain.model_requests import Sampling
from arvis.domain.regex import regex
from arvis.domain.tools import Risk
from arvis.ports.images import SIZE

_VARIABLE = regex(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_HEADER = regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII)
#: A header value. It has visible ASCII characters; spaces and tabs may only be between them.
_HEADER_VALUE = regex(r"[!-~]([ \t!-~]*[!-~])?", re.ASCII)


def _command(value: object) -> object:
    if isinstance(value, str):
        raise Refused("must be a list of the program and its arguments", "Write for example [npx, -y, some-server].")
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
            raise Refused(f"contains an invalid character in the value of the header {name}")
    return value


#: The key-value with the servers that were added at run time.
STORED_SERVERS = "mcp servers"


def stored_names(text: str | None) -> Collection[str]:
    """Return the names of the servers in this key-value."""
    found: dict[str, object] = json.loads(text) if text else {}
    return found.keys()


class McpServer(Section):
    """One MCP server: either a program (`command`), which the daemon calls over standard input and output, or the
    address of a server (`url`)."""

    name: Annotated[str, Field(min_length=1, max_length=32, pattern=r"^[a-z0-9_-]+$")] = Field(
        description="its name; the tools are called `NAME.tool`"
    )
    command: Annotated[tuple[str, ...], BeforeValidator(_command), AfterValidator(_has_program)] | None = setting(
        None, "the program to start, with its arguments: [some-server, --flag]"
    )
    url: Annotated[Url, AfterValidator(web_address)] | None = setting(None, "the address of a running server")
    env: Annotated[dict[str, SecretText], AfterValidator(_variables)] = setting(
        {}, "environment variables of the program: {TOKEN: env:SOME_TOKEN}"
    )
    headers: Annotated[dict[str, SecretText], AfterValidator(header_lines)] = setting(
        {}, "headers for the address: {authorization: env:SOME_HEADER}"
    )
    tools: TextList = setting((), "the permitted tools; empty: all of them")
    risk: Risk = setting(Risk.WRITE, "the risk of the server's tools")
    local: bool = setting(
        False, "the program sends the arguments of its tools to no other system (only with `command`)"
    )
    trust_annotations: bool = setting(False, "a tool that its server declares read-only has the risk `read`")
    timeout_seconds: Positive = setting(60, "longest duration of one call, in seconds", le=3600)
    repeatable: bool = setting(False, "a call whose result was lost may be repeated without an approval")
    client_id: Name | None = setting(
        None, "the id under which Arvis is registered at the server's login; null: Arvis registers itself"
    )
    client_secret: SecretText | None = setting(None, "the secret of this id: env:NAME or file:PATH")
    scopes: TextList = setting((), "the scopes of a login; empty: the scopes that the server names")
    sampling: Sampling = setting(
        Sampling.OFF,
        "the server may use the agent's model during a call, at the expense of the person: off, ask (the person decides "
        "each time) or allow",
    )
    send_files: bool = setting(
        False, "all files in results are sent with the reply; otherwise only those that the server marks for the person"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            text = "must have exactly one of `command` and `url`"
            raise Refused(text, "Name the program to run, or the address of a running server.")
        if self.url is not None and self.env:
            raise Refused("has `env`, which works only with `command`", "Use `headers`.")
        if self.command is not None and self.headers:
            raise Refused("has `headers`, which work only with `url`", "Use `env`.")
        if self.url is not None and self.local:
            raise Refused("has `local`, which works only with `command`", "Remove `local`.")
        if self.url is None and (self.client_id is not None or self.scopes):
            raise Refused("has `client_id` or `scopes`, which work only with `url`", "Remove them.")
        if self.client_secret is not None and self.client_id is None:
            raise Refused("has `client_secret` without `client_id`", "Write the `client_id` to which it belongs.")
        return self

    @property
    def may_log_in(self) -> bool:
        """True if Arvis may log in to this server (OAuth): it has an address, and no header `Authorization` is
        configured."""
        return self.url is not None and not any(name.lower() == "authorization" for name in self.headers)

    def secrets(self) -> frozenset[str]:
        """Return the values that must never be shown."""
        more = () if self.client_secret is None else (self.client_secret,)
        return frozenset(text.get_secret_value() for text in (*self.env.values(), *self.headers.values(), *more))


def _each_once(value: tuple[McpServer, ...]) -> tuple[McpServer, ...]:
    for name, count in Counter(server.name for server in value).items():
        if count > 1:
            raise Refused(f"has {count} servers with the name {name}", "Give each server its own name.")
    return value


class Mcp(Section):
    servers: Annotated[tuple[McpServer, ...], AfterValidator(_each_once)] = setting(
        (),
        "the servers, each a program (`command`) or an address (`url`)",
        examples=("- {name: files, command: [some-server, --flag], env: {TOKEN: env:SOME_TOKEN}}",),
    )


def _size(value: str) -> str:
    if not SIZE.fullmatch(value):
        raise Refused("must be WIDTHxHEIGHT or auto", "Write for example 1024x1024.")
    return value


class Images(Section):
    """The service for generated pictures: an API in OpenAI's format."""

    account: Name | None = setting(None, "the name of the account that is used; null: the first one of OpenAI")
    model: Name | None = setting(None, "the model, such as gpt-image-1; null: no pictures are generated")
    size: Annotated[str, AfterValidator(_size)] = setting("1024x1024", "the usual size, such as 1024x1024, or auto")
    timeout_seconds: Positive = setting(180, "longest duration of one request, in seconds", le=600)


class Telemetry(Section):
    """The export of traces."""

    endpoint: Annotated[Url, AfterValidator(web_address)] | None = setting(
        None, "the collector, such as http://127.0.0.1:4318; null: no traces are sent"
    )
    headers: Annotated[dict[str, SecretText], AfterValidator(header_lines)] = setting(
        {}, "headers for the collector: {authorization: env:COLLECTOR_KEY}"
    )
    service_name: Name = setting("arvis", "service name in the traces")
    capture_content: bool = setting(
        False, "include the text of messages and the arguments and results of tools in traces"
    )

    def secrets(self) -> frozenset[str]:
        """Return the values that must never be shown."""
        return frozenset(text.get_secret_value() for text in self.headers.values())


#: An address without a display name. The server checks the rest of its form.
_ADDRESS = regex(r"[^@\s<>,;\"]{1,64}@[^@\s<>,;\"]{1,255}")


def _address(value: str) -> str:
    if value and not _ADDRESS.fullmatch(value):
        raise Refused("must be an e-mail address such as ann@example.org")
    return value


def _addresses(value: tuple[str, ...]) -> tuple[str, ...]:
    for each in value:
        if not _ADDRESS.fullmatch(each):
            raise Refused(f"contains {each!r}, which is not an e-mail address", "Write for example [ann@example.org].")
    return value


def _absolute(value: str) -> str:
    if not value.startswith("/"):
        raise Refused("must be an absolute path", "Write for example /etc/ssl/certs/mail.pem.")
    return value


class Email(Section):
    """The e-mails about notifications."""

    host: Name | None = setting(None, "the SMTP server; null: no e-mails are sent")
    port: Whole = setting(587, "587 with starttls, 465 with tls", ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = setting("starttls", "starttls, tls or none")
    user: Name | None = setting(None, "the user at the server; null: no login")
    password: SecretText | None = setting(None, "the password of the user: env:NAME or file:PATH")
    ca_file: Annotated[Name, AfterValidator(_absolute)] | None = setting(
        None, "absolute path of a file with the certificates to trust; null: the certificates of this machine"
    )
    sender: Annotated[str, AfterValidator(_address)] = setting("", "the address that sends the e-mails")
    to: Annotated[TextList, AfterValidator(_addresses)] = setting((), "the addresses that receive them")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.host is None:
            return self
        if not self.sender or not self.to:
            raise Refused("has a `host` but no `sender` or no `to`", "Name the sender and at least one recipient.")
        if (self.user is None) != (self.password is None):
            raise Refused("has only one of `user` and `password`", "Set both, or neither.")
        if self.security == "none" and self.user is not None:
            raise Refused("would send the password unencrypted", "Set `security` to starttls or tls.")
        return self

    def secrets(self) -> frozenset[str]:
        """Return the values that must never be shown."""
        return frozenset() if self.password is None else frozenset({self.password.get_secret_value()})
