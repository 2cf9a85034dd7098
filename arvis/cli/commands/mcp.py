"""`arvis mcp`: commands for tool servers. Without a subcommand, the command connects the daemon's `/mcp` with clients
that start an MCP server as a program and talk to it on standard input and output.

The command only forwards the messages of such a client to the daemon and adds HTTP headers. The daemon implements the
protocol. Standard output contains only messages.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import (
    Pairs,
    PlacedCommand,
    all_options,
    read_secret,
    secrets_of,
    settings_and_secrets,
    values_of,
)
from arvis.cli.output import Output, Table
from arvis.domain.errors import NotFound

#: The maximum size in bytes of a message of the client.
_MAX_LINE = 16 * 1024 * 1024
#: The maximum number of concurrent requests.
_MOST = 8
#: The timeout of a request in seconds. The daemon waits up to two minutes for the answer of an agent.
_TIMEOUT = 180.0

_PARSE_ERROR, _INVALID, _FAILED = -32700, -32600, -32603
_VERSION = "io.modelcontextprotocol/protocolVersion"
#: For each method, the field whose value the header `Mcp-Name` repeats.
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def _state(server: Mapping[str, Any]) -> str:
    if server["login"] == "needed":
        return "needs a login"
    return "connected" if server["connected"] else "not connected"


_SERVERS = Table(
    "name",
    ("state", _state),
    "tools",
    "changed",
    "new",
    "problem",
    nothing="No servers. `arvis mcp create` adds one; programs are added in `mcp.servers` of config.yaml.",
)
_TOOLS = Table("name", "state", "description", nothing="No tools.")
#: The timeout in seconds of the commands for servers. The daemon waits 15 seconds for the first connection to a server.
_SERVER_TIMEOUT = 40.0


class _McpCommands(ApiCommands):
    """The group of `arvis mcp`, with `--config` and `--data` for its use without a subcommand."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.params.extend(PlacedCommand.common)


@click.group(cls=_McpCommands, invoke_without_command=True)
@click.pass_context
def mcp(ctx: click.Context, *, config: Path | None, data: Path | None) -> None:
    """List and change tool servers, show their tools, log in to them, and accept changed descriptions.

    Without a command, serve the Model Context Protocol on standard input and output, for clients that start their
    server as a program.
    """
    if ctx.invoked_subcommand is None:
        Bridge(Api(config, data).connect()).run()
    else:
        place = {name: str(path) for name, path in (("config", config), ("data", data)) if path is not None}
        ctx.default_map = dict.fromkeys(mcp.commands, place)


#: The options of `create` and `update`.
_details = all_options(
    settings_and_secrets("header", "NAME", example=", such as risk=read"),
    click.option("--client-secret-env", metavar="VARIABLE", help="Read `client_secret` from this variable."),
)


@mcp.command()
@click.argument("server")
@click.argument("url")
@_details
def create(
    *,
    api: Api,
    server: str,
    url: str,
    settings: Pairs,
    asked: Sequence[str],
    variables: Pairs,
    files: Pairs,
    client_secret_env: str | None,
) -> Output:
    """Add a tool server with this address. Agents can use it at once.

    The settings are those of `mcp.servers`. A server that is a program can only be added in config.yaml.
    """
    body = {
        "name": server,
        "settings": {**values_of(settings), "url": url},
        "headers": secrets_of(asked, variables, files),
        **_client_secret(client_secret_env),
    }
    found = api.post("tool-servers", body=body, timeout=_SERVER_TIMEOUT)
    return Output(found, f"The server {found['name']} is added.", notes=_problems(found))


@mcp.command()
@click.argument("server")
@_details
@click.option("--unset", "gone", multiple=True, metavar="KEY", help="Remove a setting.")
@click.option("--unset-header", "gone_headers", multiple=True, metavar="NAME", help="Remove a header.")
def update(
    *,
    api: Api,
    server: str,
    settings: Pairs,
    asked: Sequence[str],
    variables: Pairs,
    files: Pairs,
    client_secret_env: str | None,
    gone: Sequence[str],
    gone_headers: Sequence[str],
) -> Output:
    """Change a tool server, and connect to it again. Servers of the configuration cannot be changed here."""
    headers: dict[str, Any] = {**secrets_of(asked, variables, files), **dict.fromkeys(gone_headers)}
    body = {
        "settings": {**values_of(settings), **dict.fromkeys(gone)},
        "headers": headers,
        **_client_secret(client_secret_env),
    }
    found = api.patch("tool-servers", server, body=body)
    return Output(found, f"The server {found['name']} is changed.", notes=_problems(found))


@mcp.command()
@click.argument("server")
def delete(*, api: Api, server: str) -> Output:
    """Delete a tool server with its login. Servers of the configuration cannot be deleted here."""
    return Output(api.delete("tool-servers", server), f"The server {server} is deleted.")


def _client_secret(variable: str | None) -> dict[str, str]:
    return {} if variable is None else {"clientSecret": read_secret("client-secret", variable, None)}


@mcp.command("list")
def list_servers(*, api: Api) -> Output:
    """List the servers with the numbers of their tools, those of the configuration first."""
    return _SERVERS.page(api.get("tool-servers", timeout=_SERVER_TIMEOUT))


@mcp.command()
@click.argument("server")
def tools(*, api: Api, server: str) -> Output:
    """List the tools of a server, with the whole change of each changed tool."""
    found = api.get("tool-servers", server, timeout=_SERVER_TIMEOUT)
    return Output(found, _TOOLS.text(found["items"]), *_changes(found["items"]), notes=_problems(found))


@mcp.command()
@click.argument("server")
@click.argument("tool", required=False)
def accept(*, api: Api, server: str, tool: str | None) -> Output:
    """Accept the changed and new descriptions of a server's tools, or of one tool.

    Print the accepted changes. Read them first with `arvis mcp tools`.
    """
    found = api.get("tool-servers", server, timeout=_SERVER_TIMEOUT)
    chosen = [
        each for each in found["items"] if (each["state"] != "accepted" if tool is None else each["name"] == tool)
    ]
    if not chosen:
        if tool is not None or not found["connected"]:
            raise NotFound(
                f"The server {server} offers no tool {tool}." if tool else f"The server {server} is not connected.",
                why=found["problem"] or "",
                fix=f"List its tools with `arvis mcp tools {server}`.",
            )
        return Output(found, f"All tools of {server} are accepted already.")
    body = {"tools": [{"name": each["name"], "digest": each["digest"]} for each in chosen]}
    done = api.post("tool-servers", server, "accept", body=body, timeout=_SERVER_TIMEOUT)
    names = ", ".join(each["name"] for each in chosen)
    return Output(done, *_changes(chosen), f"Accepted: {names}.")


@mcp.command()
@click.argument("server")
@click.option("--answer", metavar="ADDRESS", help="The address of the last page, if the browser cannot open it.")
def login(*, api: Api, server: str, answer: str | None) -> Output:
    """Log in to a tool server: print the address that you open in a browser.

    After the login, the browser opens a page of Arvis. If the browser runs on another machine, it cannot open this
    page. In this case, pass the address of the page with --answer.
    """
    if answer is not None:
        done = api.post("tool-servers", server, "login", "answer", body={"address": answer}, timeout=_SERVER_TIMEOUT)
        return Output(done, f"Logged in to {server}.", notes=_problems(done))
    link = api.post("tool-servers", server, "login", timeout=_SERVER_TIMEOUT)
    return Output(
        link,
        "Open this address in a browser within 10 minutes:",
        link["url"],
        notes=[f"`arvis mcp tools {server}` shows the result."],
    )


@mcp.command()
@click.argument("server")
def logout(*, api: Api, server: str) -> Output:
    """Delete the login of a tool server."""
    return Output(api.delete("tool-servers", server, "login"), f"The login of {server} is deleted.")


def _changes(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{each['name']}:\n{each['change']}" for each in tools if each["change"]]


def _problems(server: Mapping[str, Any]) -> list[str]:
    return (
        [] if server["connected"] else [f"{server['name']} is not connected: {server['problem'] or 'it is starting'}."]
    )


class Bridge:
    """The connection between the client and the daemon. It sends each line to the daemon and writes the daemon's
    answer. Requests run concurrently, because one request may take minutes."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._room = threading.Semaphore(_MOST)
        self._writing = threading.Lock()
        self._version: str | None = None

    def run(self) -> None:
        """Forward messages until the input has ended and all requests are answered."""
        threads: list[threading.Thread] = []
        for line in _lines():
            message = _message(line)
            if message is None:
                self._write(_error(None, _PARSE_ERROR, "The line is not a JSON object."))
            elif message.get("method") == "initialize":
                # The next message must wait for this answer, because the headers of later messages depend on it.
                self._pass_on(message)
            else:
                threads = [thread for thread in threads if thread.is_alive()]
                self._room.acquire()
                thread = threading.Thread(target=self._pass_on_and_make_room, args=(message,), daemon=True)
                thread.start()
                threads.append(thread)
        for thread in threads:
            thread.join()

    def _pass_on_and_make_room(self, message: Mapping[str, Any]) -> None:
        try:
            self._pass_on(message)
        finally:
            self._room.release()

    def _pass_on(self, message: Mapping[str, Any]) -> None:
        answer = self._asked(message)
        if "id" not in message:
            return
        if message.get("method") == "initialize":
            self._version = (answer.get("result") or {}).get("protocolVersion")
        self._write(answer)

    def _asked(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the daemon's answer, or an error in the form of the protocol."""
        number = message.get("id")
        place = urlsplit(self._api.url)
        connection = HTTPConnection(place.hostname or "", place.port, timeout=_TIMEOUT)
        try:
            connection.request("POST", "/mcp", json.dumps(message).encode(), self._headers(message))
            content = connection.getresponse().read()
            answer = json.loads(content) if content else {}
        except OSError as error:
            why = error.strerror or str(error) or "it does not answer"
            text = f"Arvis cannot be reached at {self._api.url}: {why}. Start Arvis with `arvis run`."
            return _error(number, _FAILED, text)
        except (HTTPException, ValueError):
            return _error(number, _FAILED, f"Another program answers at {self._api.url}. Check `web.port` and --data.")
        finally:
            connection.close()
        match answer:
            case {"error": {"message": str(text), "fix": str(fix)}}:
                return _error(number, _INVALID, f"{text} {fix}")
            case {"jsonrpc": "2.0"}:
                return dict(answer)
            case _:
                return _error(number, _FAILED, "The daemon sent no answer to this request.")

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        """Return the HTTP headers of a message. Newer clients send the version of the protocol in each message, older
        clients only in `initialize`."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = meta.get(_VERSION) if isinstance(meta, dict) else None
        headers = {
            "Authorization": f"Bearer {self._api.key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if isinstance(version, str):
            method = str(message.get("method"))
            headers |= {"MCP-Protocol-Version": _header(version), "Mcp-Method": _header(method)}
            if isinstance(name := params.get(_NAMES.get(method, "")), str):
                headers["Mcp-Name"] = _header(name)
        elif self._version is not None and message.get("method") != "initialize":
            headers["MCP-Protocol-Version"] = _header(self._version)
        return headers

    def _write(self, message: Mapping[str, Any]) -> None:
        with self._writing:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()


def _lines() -> Iterator[bytes]:
    while line := sys.stdin.buffer.readline(_MAX_LINE):
        if line.strip():
            yield line


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _header(text: str) -> str:
    """Return the value of a header. If it has characters that a header cannot contain, return it encoded as the
    protocol requires."""
    if text.isascii() and text.isprintable() and text == text.strip():
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def _error(number: Any, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
