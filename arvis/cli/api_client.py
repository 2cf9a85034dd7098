"""The command line's client of the daemon's API, and the command classes that use this client. The client is blocking,
sends one request at a time, and needs only the standard library.

The client finds the daemon by two files in the data folder: `address`, which exists while the daemon runs, and
`api-key`.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlencode, urlsplit

import click

from arvis.cli.options import PrintingCommand
from arvis.domain.errors import AccessError, ArvisError, ConfigError, DaemonUnreachable, NotFound
from arvis.process.data_folder import address_file, api_key_file

#: The timeout in seconds of requests that do not wait for a long task.
TIMEOUT = 30.0

_FIRST_ERROR = 400
#: The maximum number of problems of a workflow's document that are printed.
_MOST_PROBLEMS = 50
_NOT_KNOWN, _NOT_FOUND = 401, 404

_START = "Start the daemon with `arvis run`, or give the path of its data folder with --data."


class Answer(NamedTuple):
    status: int
    data: Any


class Api:
    """The API of the daemon that uses the data folder. Its methods raise `DaemonUnreachable`, or the daemon's own error
    as an `ArvisError`.

    The first request searches for the daemon. A command can therefore report wrong arguments before it reports a
    missing daemon.
    """

    def __init__(self, config: Path | None, data: Path | None) -> None:
        self._config = config
        self._data = data

    def connect(self) -> Self:
        """Search for the daemon now."""
        _ = self._daemon
        return self

    @property
    def url(self) -> str:
        return self._daemon.url

    @property
    def key(self) -> str:
        return self._daemon.key

    @cached_property
    def _daemon(self) -> _Daemon:
        return _found(self._config, self._data)

    def get(self, *path: str, query: Mapping[str, object] | None = None, timeout: float = TIMEOUT) -> Any:
        """Return the resource below `/api`. `path` contains the segments of the path after `/api`. None values in
        `query` are left out."""
        return self._call("GET", _joined(path) + _asked(query), timeout=timeout)

    def download(self, *path: str, query: Mapping[str, object] | None = None, timeout: float = TIMEOUT) -> bytes:
        """Return the file below `/api`."""
        answer = request(self.url, "GET", _joined(path) + _asked(query), key=self.key, timeout=timeout, decode=bytes)
        if answer.status >= _FIRST_ERROR:
            raise _complaint(Answer(answer.status, json.loads(answer.data)), self.url)
        found: bytes = answer.data
        return found

    def post(
        self, *path: str, body: Any = None, query: Mapping[str, object] | None = None, timeout: float = TIMEOUT
    ) -> Any:
        return self._call("POST", _joined(path) + _asked(query), body=body, timeout=timeout)

    def put(self, *path: str, body: Any) -> Any:
        return self._call("PUT", _joined(path), body=body)

    def patch(self, *path: str, body: Any, query: Mapping[str, object] | None = None) -> Any:
        return self._call("PATCH", _joined(path) + _asked(query), body=body)

    def delete(self, *path: str, query: Mapping[str, object] | None = None) -> Any:
        return self._call("DELETE", _joined(path) + _asked(query))

    def _call(self, method: str, path: str, *, body: Any = None, timeout: float = TIMEOUT) -> Any:
        answer = request(self.url, method, path, key=self.key, body=body, timeout=timeout)
        if answer.status >= _FIRST_ERROR:
            raise _complaint(answer, self.url)
        return answer.data


class ApiCommand(PrintingCommand):
    """A command whose function gets the daemon's API as `api`."""

    def invoke(self, ctx: click.Context) -> None:
        ctx.params["api"] = Api(ctx.params.pop("config"), ctx.params.pop("data"))
        super().invoke(ctx)


class ApiCommands(click.Group):
    """A group of `ApiCommand`s. Its help lists the commands in the order in which the module defines them. The group
    class of click would sort them by name."""

    command_class = ApiCommand

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - its signature
        return list(self.commands)


class _Daemon(NamedTuple):
    url: str
    key: str


def _found(config: Path | None, data: Path | None) -> _Daemon:
    """Return the daemon that uses the data folder. Raise `DaemonUnreachable` if no daemon has used it yet.

    If `data` is given without `config` and a daemon runs, read only the files of the daemon. In all other cases, read
    the configuration. Reading the configuration is slow, because importing the code for it takes most of the time of a
    command.
    """
    if config is None and data is not None:
        url, key = left_in(address_file(data)), left_in(api_key_file(data))
        if url is not None and key is not None:
            return _Daemon(url, key)
    settings = importlib.import_module("arvis.config").load(config, data, os.environ)
    file = api_key_file(settings.data_dir)
    key = left_in(file)
    if key is None:
        raise DaemonUnreachable(
            "The daemon cannot be reached.",
            why=f"It is not running, or it uses another data folder: {file} does not exist.",
            fix=_START,
        )
    return _Daemon(daemon_url(settings.data_dir, settings.web.host, settings.web.port), key)


def daemon_url(data_dir: Path, host: str, port: int) -> str:
    """Return the address at which the daemon serves. If the daemon does not run, return the address with the configured
    host and port."""
    url = left_in(address_file(data_dir))
    if url is not None:
        return url
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host.strip("[]"), host.strip("[]"))  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def request(
    url: str,
    method: str,
    path: str,
    *,
    key: str | None = None,
    body: Any = None,
    timeout: float = TIMEOUT,
    decode: Callable[[bytes], Any] = json.loads,
) -> Answer:
    """Send one request and return the response, whatever its status. Raise `DaemonUnreachable` if no program answers,
    or if `decode` cannot read the response. In the second case, another program uses this address."""
    place = urlsplit(url)
    headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    connection = HTTPConnection(place.hostname or "", place.port, timeout=timeout)
    try:
        connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        response = connection.getresponse()
        return Answer(response.status, decode(response.read()))
    except OSError as error:
        raise _unreachable(url, error.strerror or str(error) or "it does not answer") from error
    except (HTTPException, ValueError) as error:
        raise _unreachable(url, "another program answers at this address") from error
    finally:
        connection.close()


def _joined(path: tuple[str, ...]) -> str:
    return "/api/" + "/".join(quote(part, safe="") for part in path)


def _asked(query: Mapping[str, object] | None) -> str:
    asked = {name: value for name, value in (query or {}).items() if value is not None}
    wanted = urlencode(
        {name: str(value).lower() if isinstance(value, bool) else value for name, value in asked.items()}
    )
    return f"?{wanted}" if wanted else ""


def left_in(file: Path) -> str | None:
    """Return the line that the daemon wrote to a file; None if the file does not exist. Raise `ConfigError` if the file
    cannot be read."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        fix = "Run this command as the user that runs the daemon."
        raise ConfigError(f"{file} cannot be read", why=error.strerror or "", fix=fix) from error


def _complaint(answer: Answer, url: str) -> ArvisError:
    """Return the error that the daemon reports. If the response does not have the form of Arvis, return
    `DaemonUnreachable`."""
    match answer.data:
        case {"error": {"code": str(code), "message": str(message), "fix": str(fix)}}:
            if answer.status == _NOT_KNOWN:
                fix = f"With --data, give the path of the data folder that the daemon at {url} uses."
                return AccessError(message, fix=fix, code=code)
            if answer.status == _NOT_FOUND:
                return NotFound(message, fix=fix, code=code)
            return ArvisError(message, why=_problems(answer.data), fix=fix, code=code)
        case _:
            return _unreachable(url, f"another program answers at this address (status {answer.status})")


def _problems(data: Any) -> str:
    """Return the problems that the daemon's answer lists for a document, one on each line."""
    found = data.get("problems") if isinstance(data, dict) else None
    listed = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return "\n       ".join(
        " ".join(filter(None, [each.get("node") and f"{each['node']}:", each.get("message"), each.get("fix")]))
        for each in listed[:_MOST_PROBLEMS]
    )


def _unreachable(url: str, why: str) -> DaemonUnreachable:
    return DaemonUnreachable(f"The daemon cannot be reached at {url}", why=why, fix=_START)
