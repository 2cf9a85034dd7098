"""Tool servers (Model Context Protocol) over HTTP, and the acceptance of their descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Annotated, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field
from starlette.responses import HTMLResponse, Response

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.errors import Conflict, NotFound, sentences
from arvis.domain.events import Changed
from arvis.domain.regex import regex
from arvis.tools.mcp.logins import CALLBACK
from arvis.tools.mcp.servers import Acceptance, LoginState, McpServers, ServerSource, ServerStatus, ToolStatus
from arvis.tools.mcp.stored import ServerChanges
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, OWN, PUBLIC
from arvis.web.http.models import About, AnyObject, Body, OkView, Page, Says, View
from arvis.web.http.requests import unusable
from arvis.web.http.schema import STRING
from arvis.web.http.views import without_login

_NAME = regex(r"[a-z0-9_-]{1,32}", re.ASCII)
_DIGEST = regex(r"[0-9a-f]{64}", re.ASCII)
_MOST_TOOLS = 1_000
_LONGEST_ADDRESS = 8_000
_LONGEST_SECRET = 8_192
_MOST_FIELDS = 50
#: The settings that are shown. The arguments of programs are not shown, because they may contain secrets.
_SHOWN = {
    "tools",
    "risk",
    "local",
    "trust_annotations",
    "timeout_seconds",
    "repeatable",
    "client_id",
    "scopes",
    "send_files",
    "sampling",
}
#: The maximum number of characters of a shown change. A change is shorter if its schemas and descriptions do not exceed
#: the limits for models.
_LONGEST_CHANGE = 500_000


class ServerView(View):
    name: str
    source: ServerSource
    connected: bool
    login: Annotated[LoginState, About("`needed`: a person must log in to the server before its tools can be used.")]
    may_log_in: Annotated[bool, About("False for programs, and for servers with a header `Authorization`.")]
    problem: Annotated[
        str | None, About("The reason why it is not connected; null before the first attempt has ended.")
    ]
    tools: int
    changed: Annotated[int, About("The tools with a change that no person has accepted.")]
    new: Annotated[int, About("The tools that were added after the first list, and that no person has accepted.")]

    @classmethod
    def of(cls, server: ServerStatus) -> Self:
        states = [tool.acceptance for tool in server.tools]
        return cls.showing(
            server,
            name=server.settings.name,
            problem=server.trouble or None,
            tools=len(states),
            changed=states.count(Acceptance.CHANGED),
            new=states.count(Acceptance.NEW),
        )


class ServerToolView(View):
    name: Annotated[str, About("The server's name for the tool.")]
    description: Annotated[str, About("The description that models get.")]
    state: Acceptance
    change: Annotated[str | None, About("The whole change of description, schema and read-only claim, line by line.")]
    digest: Annotated[str, About("The SHA-256 of the present description.")]

    @classmethod
    def of(cls, tool: ToolStatus) -> Self:
        change = tool.change
        if len(change) > _LONGEST_CHANGE:
            change = f"{change[:_LONGEST_CHANGE]}\n[cut here: the change has {len(change):,} characters]"
        return cls.showing(tool, state=tool.acceptance, change=change or None)


class ServerDetailView(ServerView):
    settings: Annotated[AnyObject, About("The settings as in the configuration, without secrets and programs.")]
    headers: Annotated[list[str], About("The names of the headers that are set.")]
    items: Annotated[list[ServerToolView], About("Its tools by name; none while it is not connected.")]

    @classmethod
    def of(cls, server: ServerStatus) -> Self:
        settings = server.settings
        shown = settings.model_dump(mode="json", include=_SHOWN, exclude_defaults=True)
        if settings.url is not None:
            shown["url"] = without_login(settings.url)
        return cls.showing(
            ServerView.of(server),
            settings=shown,
            headers=sorted(settings.headers),
            items=[ServerToolView.of(tool) for tool in server.tools],
        )


class ChangedServer(Body):
    """Omitted fields are unchanged; null removes a setting or a header. A new address requires the headers again."""

    settings: Annotated[
        AnyObject | None, About("The settings of `mcp.servers`, except those for programs. `url` is needed.")
    ] = None
    headers: Annotated[
        AnyObject | None,
        About(
            "Headers by their names. They are encrypted in the database and never returned.",
            additionalProperties={"type": "string", "maxLength": _LONGEST_SECRET},
        ),
    ] = None
    client_secret: Annotated[str, Field(min_length=1, max_length=_LONGEST_SECRET)] | None = None

    def written(self) -> ServerChanges:
        settings, headers = self.settings or {}, self.headers or {}
        if len(settings) > _MOST_FIELDS or len(headers) > _MOST_FIELDS:
            raise unusable("settings", f"and `headers` may each contain at most {_MOST_FIELDS} entries")
        for name, text in headers.items():
            if text is not None and not (isinstance(text, str) and 0 < len(text) <= _LONGEST_SECRET):
                raise unusable(f"headers.{name[:50]}", f"must be a string of at most {_LONGEST_SECRET} characters")
        return ServerChanges(settings, headers, self.client_secret)


class NewServer(ChangedServer):
    name: Annotated[
        str, Field(pattern=f"^{_NAME.pattern}$"), Says("must be 1 to 32 lower-case letters, digits, - and _")
    ]


class LoginLinkView(View):
    url: Annotated[str, About("The address that a person opens to log in.")]
    expires_at: int


class LoginAnswer(Body):
    address: Annotated[
        Annotated[str, Field(min_length=1, max_length=_LONGEST_ADDRESS)],
        About("The address of the last page after the login, if the browser could not open it."),
        Says("must be the address of the last page after the login"),
    ]


class AcceptedTool(Body):
    name: Annotated[str, Field(min_length=1, max_length=128), Says("must be the name of a tool")]
    digest: Annotated[
        Annotated[str, Field(pattern=f"^{_DIGEST.pattern}$"), Says("must be the digest of the tool")],
        About("The digest that the person has seen; 409 if the description has changed since."),
    ]


class AcceptedTools(Body):
    tools: Annotated[
        list[AcceptedTool], Field(min_length=1, max_length=_MOST_TOOLS), Says("must be a list of 1 to 1000 tools")
    ]


_ALL, _ONE = "/api/tool-servers", "/api/tool-servers/{server}"


class ToolServerRoutes(Routes):
    """Routes of tool servers. `address_of` returns the address of a page of the dashboard."""

    def __init__(
        self, *, servers: McpServers, gate: Authorizer, bus: EventBus, address_of: Callable[[str], str]
    ) -> None:
        self._bus = bus
        self._servers = servers
        self._gate = gate
        self._address_of = address_of

    @route("GET", _ALL, "List the tool servers", OPERATE, {200: Page[ServerView]})
    async def _list(self, _: Call) -> Response:
        return answer_page([ServerView.of(each) for each in await self._servers.statuses()], None)

    @route("POST", _ALL, "Add a tool server with an address", OWN, {201: ServerDetailView}, body=NewServer)
    async def _add(self, call: Call) -> Response:
        body = await call.read(NewServer)
        await self._servers.add(body.name, body.written())
        return answer(ServerDetailView.of(await self._servers.status(body.name)), 201)

    @route("PATCH", _ONE, "Change a server of the database", OWN, {200: ServerDetailView}, body=ChangedServer)
    async def _change(self, call: Call) -> Response:
        body = await call.read(ChangedServer)
        await self._servers.change(_server(call), body.written())
        return answer(ServerDetailView.of(await self._servers.status(_server(call))))

    @route("DELETE", _ONE, "Remove a server of the database", OWN, {200: OkView})
    async def _remove(self, call: Call) -> Response:
        await self._servers.remove(_server(call))
        return done()

    @route("GET", _ONE, "Show a tool server with its tools", OPERATE, {200: ServerDetailView})
    async def _show(self, call: Call) -> Response:
        return answer(ServerDetailView.of(await self._servers.status(_server(call))))

    @route(
        "POST",
        f"{_ONE}/accept",
        "Accept the present descriptions of tools",
        OWN,
        {200: ServerDetailView},
        body=AcceptedTools,
    )
    async def _accept(self, call: Call) -> Response:
        name, body = _server(call), await call.read(AcceptedTools)
        by = await self._gate.principal_id(call.identity)
        await self._servers.accept(name, {each.name: each.digest for each in body.tools}, by)
        return answer(ServerDetailView.of(await self._servers.status(name)))

    @route("POST", f"{_ONE}/login", "Start a login to a server", OWN, {200: LoginLinkView})
    async def _begin_login(self, call: Call) -> Response:
        link = await self._servers.begin_login(_server(call), self._address_of(CALLBACK))
        return answer(LoginLinkView(url=link.url, expires_at=link.expires_at))

    @route(
        "POST",
        f"{_ONE}/login/answer",
        "Finish a login whose page the browser could not open",
        OWN,
        {200: ServerDetailView},
        body=LoginAnswer,
    )
    async def _answer_login(self, call: Call) -> Response:
        _server(call)
        body = await call.read(LoginAnswer)
        name = await self._servers.finish_login(dict(parse_qsl(urlsplit(body.address).query)))
        return answer(ServerDetailView.of(await self._servers.status(name)))

    @route("DELETE", f"{_ONE}/login", "Delete the login of a server", OWN, {200: OkView})
    async def _end_login(self, call: Call) -> Response:
        await self._servers.end_login(_server(call))
        return done()

    @route(
        "GET",
        CALLBACK,
        "Accept the answer of an authorization server",
        PUBLIC,
        {200: STRING, 409: STRING},
        media="text/html",
    )
    async def _come_back(self, call: Call) -> Response:
        try:
            name = await self._servers.finish_login(dict(call.request.query_params))
            self._bus.publish(Changed(ChangeTopic.SETTINGS))
        except Conflict as failed:
            return _page("The login failed", sentences(failed.what, failed.why, failed.fix), 409)
        return _page("Logged in", f"Arvis can now use the tools of {name}. You can close this page.", 200)


def _page(title: str, text: str, status: int) -> Response:
    """Return a page without scripts. Its address must not be stored or sent on, because it contains the code."""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<h1>{escape(title)}</h1><p>{escape(text)}</p></html>"
    )
    return HTMLResponse(body, status)


def _server(call: Call) -> str:
    name = call.named("server", _NAME)
    if name is None:
        raise NotFound("There is no such tool server.", fix="List the servers: `arvis mcp list`.")
    return name
