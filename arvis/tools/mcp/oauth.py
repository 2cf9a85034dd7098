"""Login to tool servers by OAuth 2.1: discovery, registration, the exchange of a code, and the refresh of tokens.

The client of the package `mcp` keeps an attempt to log in only in memory until the person has logged in. In Arvis, the
browser may return to another process, or after a restart. So attempts are stored (`logins`), and only the parts of that
package that have no state are used. A tool server names the addresses of its authorization server. Therefore the rules
for addresses from models apply to them, and without TLS they are used only if they are on the host of the tool server.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

import httpx2
from mcp.client.auth import OAuthFlowError, PKCEParameters
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    extract_field_from_www_auth,
    get_client_metadata_scopes,
    issuers_match,
    union_scopes,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import BaseModel, ValidationError

from arvis.config.servers import McpServer
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Conflict, ToolError
from arvis.domain.text import storable
from arvis.ports.clock import Clock
from arvis.ports.http import Fetched, GuardedClient
from arvis.tools.mcp.logins import REFRESH_MS, Endpoints, Login, Logins, OpenClient
from arvis.tools.mcp.remote import LinkLost

M = TypeVar("M", bound=BaseModel)

_MAX_BYTES = 262_144
_SECONDS = 15.0
_MAX_COMPLAINT = 300
#: The time (ms) before its expiry at which an access token is refreshed.
_EARLY_MS = 30_000
#: The interval in seconds of the checks of a login that another process refreshes.
_LOOK = 0.2
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_GRANTS = ["authorization_code", "refresh_token"]
#: The ways to send a client's secret, preferred first.
_METHODS = ("client_secret_basic", "client_secret_post", "none")
#: The error of a registration that does not exist any more, or has expired.
_UNKNOWN_CLIENT = "invalid_client"


class LoginFailed(Conflict):
    """The error of a login that did not succeed."""

    code = "login_failed"


@dataclass(frozen=True, slots=True)
class Challenge:
    """The information about the login in a refusal of the server."""

    metadata: str = ""
    scope: str = ""

    @classmethod
    def of(cls, header: str) -> Challenge:
        """Read the header `WWW-Authenticate`."""
        response = httpx2.Response(HTTPStatus.UNAUTHORIZED, headers={"WWW-Authenticate": header} if header else {})
        found = [extract_field_from_www_auth(response, name) or "" for name in ("resource_metadata", "scope")]
        return cls(*found)


# -- a login by a person ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoginLink:
    """The address that a person opens to log in. `expires_at` is in ms."""

    url: str
    expires_at: int


async def begin_login(
    settings: McpServer, header: str, redirect: str, *, logins: Logins, open_client: OpenClient
) -> LoginLink:
    """Find the authorization server, register Arvis there if necessary, and store an attempt. `header` is the header
    `WWW-Authenticate` of the refusal. Raise `LoginFailed` if one of these steps fails."""
    address, challenge = settings.url or "", Challenge.of(header)
    known = await logins.get(settings.name, address)
    async with _errors_as_failures(settings.name), open_client([_host(address)]) as client:
        found = await _discover(client, address, challenge)
        wanted = " ".join(settings.scopes) or union_scopes(known.scope if known else None, found.scope or None) or ""
        draft = Login(address, found.endpoints, "", "none", redirect, found.resource, wanted)
        if known is not None and 0 < known.client_expires_at <= logins.clock.now():
            known = known.without_client
        login = await _registered(client, settings, draft, known, found.methods)
    pkce = PKCEParameters.generate()
    state, expires_at = await logins.begin(settings.name, login, pkce.code_verifier)
    query = {
        "response_type": "code",
        "client_id": login.client_id,
        "redirect_uri": redirect,
        "state": state,
        "code_challenge": pkce.code_challenge,
        "code_challenge_method": "S256",
        "resource": login.resource,
        **({"scope": wanted} if wanted else {}),
        **({"prompt": "consent"} if "offline_access" in wanted.split() else {}),
    }
    return LoginLink(_with_query(login.endpoints.authorization, query), expires_at)


async def finish_login(answer: Mapping[str, str], *, logins: Logins, open_client: OpenClient) -> str:
    """Accept the answer of an authorization server to a login attempt, and store the login. Return the name of the
    server. An attempt can be answered only once. Raise `LoginFailed` if there is no such attempt, or if the server
    refuses the login."""
    taken = await logins.take(answer.get("state", ""))
    if taken is None:
        raise LoginFailed(
            "This login is not known.",
            why="It was used already, it has expired, or a newer one has replaced it.",
            fix="Start the login again.",
        )
    server, attempt = taken
    login = attempt.login
    async with _errors_as_failures(server), open_client([_host(login.address)]) as client:
        _check_issuer(answer.get("iss"), login.endpoints)
        if "code" not in answer:
            text = answer.get("error_description") or answer.get("error") or "it sent no code"
            raise OAuthFlowError(f"The authorization server refused the login: {text}")
        fields = {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": login.redirect,
            "code_verifier": attempt.verifier,
            "resource": login.resource,
        }
        answered = await _ask_token(client, login, fields)
        if _error_in(answered) == _UNKNOWN_CLIENT:
            await _forget_client(server, login, logins)
        token = _token_in(answered)
    await logins.put(server, _with_token(login, token, logins.clock))
    return server


async def _forget_client(server: str, login: Login, logins: Logins) -> None:
    """Drop the stored registration if this login uses it, so that the next login registers Arvis again."""
    known = await logins.get(server, login.address)
    if known is not None and known.client_id == login.client_id:
        await logins.swap(server, known, known.without_client)


async def end_login(settings: McpServer, *, logins: Logins, open_client: OpenClient) -> None:
    """Delete a login. Ask the authorization server to revoke it, if the server offers that. A failure of this request
    is ignored, because the stored tokens are already deleted."""
    login = await logins.get(settings.name, settings.url or "")
    await logins.remove(settings.name)
    token = "" if login is None else login.refresh or login.access
    if login is None or not token or not login.endpoints.revocation:
        return
    with contextlib.suppress(ToolError):
        async with open_client([_host(login.address)]) as client:
            await _post_form(client, login, login.endpoints.revocation, {"token": token})


@contextlib.asynccontextmanager
async def _errors_as_failures(server: str) -> AsyncIterator[None]:
    try:
        yield
    except (OAuthFlowError, ToolError) as failed:
        why = failed.what if isinstance(failed, ToolError) else str(failed)
        fix = "Check the address of the server, then start the login again."
        raise LoginFailed(f"The login to {server} failed.", why=_plain(why), fix=fix) from None


def _check_issuer(stated: str | None, endpoints: Endpoints) -> None:
    """Refuse an answer of another authorization server (RFC 9207)."""
    if stated is None and endpoints.states_issuer:
        raise OAuthFlowError("The answer does not name its issuer, although this authorization server always names it.")
    if stated is not None and stated != endpoints.issuer:
        raise OAuthFlowError("The answer comes from another authorization server.")


# -- discovery and registration ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    endpoints: Endpoints
    resource: str
    scope: str
    #: The ways in which the token endpoint accepts a client's secret; empty if it states none.
    methods: tuple[str, ...] = ()


async def _discover(client: GuardedClient, address: str, challenge: Challenge) -> _Found:
    """Find the authorization server of a tool server (RFC 9728, RFC 8414)."""
    about = await _about_resource(client, address, challenge)
    issuer = str(about.authorization_servers[0]) if about is not None else None
    metadata = None
    for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, address):
        metadata = _read(OAuthMetadata, await _get(client, url, address))
        if metadata is not None:
            break
    resource = str(about.resource) if about is not None else resource_url_from_server_url(address)
    scope = get_client_metadata_scopes(challenge.scope or None, about, metadata, _GRANTS) or ""
    if metadata is None:
        if about is not None:
            raise OAuthFlowError(f"The authorization server {issuer} does not publish its addresses.")
        # Servers of the first version of the protocol have their authorization server at fixed paths.
        root, authorize, token, register = (
            urljoin(address, path) for path in ("/", "/authorize", "/token", "/register")
        )
        return _Found(_safe(Endpoints(root, authorize, token, register), address), resource, scope)
    stated = str(metadata.issuer)
    if stated != issuer and (issuer is not None or not issuers_match(stated, urljoin(address, "/"))):
        raise OAuthFlowError(f"The authorization server states another issuer: {stated}")
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise OAuthFlowError("The authorization server does not support PKCE with S256, which the protocol requires.")
    endpoints = Endpoints(
        stated,
        str(metadata.authorization_endpoint),
        str(metadata.token_endpoint),
        str(metadata.registration_endpoint or ""),
        str(metadata.revocation_endpoint or ""),
        states_issuer=bool(metadata.authorization_response_iss_parameter_supported),
    )
    methods = tuple(metadata.token_endpoint_auth_methods_supported or ())
    return _Found(_safe(endpoints, address), resource, scope, methods)


async def _about_resource(
    client: GuardedClient, address: str, challenge: Challenge
) -> ProtectedResourceMetadata | None:
    for url in build_protected_resource_metadata_discovery_urls(challenge.metadata or None, address):
        found = _read(ProtectedResourceMetadata, await _get(client, url, address))
        if found is None:
            continue
        asked = resource_url_from_server_url(address)
        if not check_resource_allowed(requested_resource=asked, configured_resource=str(found.resource)):
            raise OAuthFlowError(f"The server describes another resource: {found.resource}")
        return found
    return None


def _safe(endpoints: Endpoints, address: str) -> Endpoints:
    """Return the endpoints. Raise `OAuthFlowError` if one of them has no TLS."""
    named = (endpoints.issuer, endpoints.authorization, endpoints.token, endpoints.registration, endpoints.revocation)
    for url in filter(None, named):
        _refuse_plain(url, address)
    return endpoints


def _refuse_plain(url: str, address: str) -> None:
    """Refuse an address without TLS, unless the tool server (`address`) uses no TLS either and has the same host."""
    server, parts = urlsplit(address), urlsplit(url)
    if parts.scheme != "https" and (server.scheme != "http" or parts.hostname != server.hostname):
        raise OAuthFlowError(f"The login would use an address without TLS: {url}")


async def _registered(
    client: GuardedClient, settings: McpServer, login: Login, known: Login | None, methods: Sequence[str]
) -> Login:
    """Return the login with the configured client, the known registration, or a new registration (RFC 7591). `methods`
    are the ways in which the token endpoint accepts a client's secret."""
    if settings.client_id is not None:
        secret = settings.client_secret.get_secret_value() if settings.client_secret is not None else ""
        usable = [method for method in _METHODS[:2] if method in (methods or _METHODS)]
        method = usable[0] if secret and usable else "none"
        return replace(login, client_id=settings.client_id, client_secret=secret, method=method)
    if known is not None and (known.endpoints, known.redirect) == (login.endpoints, login.redirect) and known.client_id:
        return replace(
            login,
            client_id=known.client_id,
            client_secret=known.client_secret,
            client_expires_at=known.client_expires_at,
            method=known.method,
        )
    if not login.endpoints.registration:
        raise OAuthFlowError(
            f"The authorization server does not register programs. Register Arvis there with the address "
            f"{login.redirect}, and set `client_id`"
        )
    made = await _register(client, login, methods)
    method = made.token_endpoint_auth_method or ("client_secret_basic" if made.client_secret else "none")
    # The field is required for a client with a secret; 0 means that the secret does not expire (RFC 7591).
    expires_at = (made.client_secret_expires_at or 0) * 1_000 if made.client_secret else 0
    return replace(
        login,
        client_id=made.client_id,
        client_secret=made.client_secret or "",
        client_expires_at=expires_at,
        method=method,
    )


async def _register(client: GuardedClient, login: Login, methods: Sequence[str]) -> OAuthClientInformationFull:
    wanted = next((method for method in _METHODS if method in methods), _METHODS[0])
    body = {
        "client_name": "Arvis",
        "redirect_uris": [login.redirect],
        "grant_types": _GRANTS,
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted,
        "application_type": "web" if login.redirect.startswith("https://") else "native",
        **({"scope": login.scope} if login.scope else {}),
    }
    answer = await client.post(
        login.endpoints.registration,
        content=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Accept": "application/json"},
        max_bytes=_MAX_BYTES,
        timeout=_SECONDS,
    )
    made = _read(OAuthClientInformationFull, answer) if answer.status in {HTTPStatus.OK, HTTPStatus.CREATED} else None
    if made is None:
        raise OAuthFlowError(f"The authorization server did not register Arvis: {_complaint(answer)}")
    check_registration_usable(made)
    return made


# -- requests ----------------------------------------------------------------------------------------------------------


async def _get(client: GuardedClient, url: str, address: str) -> Fetched:
    _refuse_plain(url, address)
    headers = {"Accept": "application/json", "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION}
    answer = await client.fetch(url, max_bytes=_MAX_BYTES, timeout=_SECONDS, headers=headers)
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        # A failed request does not show that the document is missing, so the next address is not tried.
        raise OAuthFlowError(f"{url} answers with status {answer.status}.")
    return answer


def _read(kind: type[M], answer: Fetched) -> M | None:
    if answer.status not in {HTTPStatus.OK, HTTPStatus.CREATED} or answer.truncated:
        return None
    try:
        return kind.model_validate_json(answer.body)
    except ValidationError:
        return None


async def _ask_token(client: GuardedClient, login: Login, fields: Mapping[str, str]) -> Fetched:
    return await _post_form(client, login, login.endpoints.token, fields)


async def _post_form(client: GuardedClient, login: Login, url: str, fields: Mapping[str, str]) -> Fetched:
    headers, sent = dict(_FORM), {"client_id": login.client_id, **fields}
    if login.method == "client_secret_basic" and login.client_secret:
        pair = f"{quote(login.client_id, safe='')}:{quote(login.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif login.method == "client_secret_post" and login.client_secret:
        sent["client_secret"] = login.client_secret
    return await client.post(
        url, content=urlencode(sent).encode(), headers=headers, max_bytes=_MAX_BYTES, timeout=_SECONDS
    )


def _token_in(answer: Fetched) -> OAuthToken:
    token = _read(OAuthToken, answer)
    if token is None:
        raise OAuthFlowError(f"The authorization server gave no token: {_complaint(answer)}")
    return token


def _with_token(login: Login, token: OAuthToken, clock: Clock) -> Login:
    lives = token.expires_in
    return replace(
        login,
        access=token.access_token,
        refresh=token.refresh_token or login.refresh,
        scope=login.scope if token.scope is None else token.scope,
        expires_at=0 if lives is None else clock.now() + max(0, lives) * 1_000,
        refreshing_until=0,
    )


def _error_in(answer: Fetched) -> str:
    with contextlib.suppress(ValueError, AttributeError):
        return str(json.loads(answer.body).get("error") or "")
    return ""


def _complaint(answer: Fetched) -> str:
    """Return the reason that an answer states, or its status."""
    with contextlib.suppress(ValueError, AttributeError):
        stated: Any = json.loads(answer.body)
        if text := stated.get("error_description") or stated.get("error"):
            return f"“{_plain(str(text))}”"
    return f"status {answer.status}"


def _plain(text: str) -> str:
    return " ".join(storable(text).split())[:_MAX_COMPLAINT]


def _host(address: str) -> str:
    """Return the host and the port of an address in the form of `tools.allow_hosts`."""
    parts = urlsplit(address)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return f"{host}:{parts.port or {'http': 80}.get(parts.scheme, 443)}"


def _with_query(url: str, more: Mapping[str, str]) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query=urlencode([*parse_qsl(parts.query), *more.items()]), fragment=""))


# -- tokens for requests -----------------------------------------------------------------------------------------------


#: The errors of a refresh after which a person must log in again.
_ENDED = frozenset({"invalid_grant", _UNKNOWN_CLIENT, "unauthorized_client"})


class StoredToken(httpx2.Auth):
    """The access token of a stored login, for the requests to a server. It is refreshed before it expires, and after the
    server has refused it."""

    def __init__(
        self, settings: McpServer, *, logins: Logins, open_client: OpenClient, used: set[str] | None = None
    ) -> None:
        self._name, self._address = settings.name, settings.url or ""
        self._logins = logins
        self._open_client = open_client
        self._used = set() if used is None else used

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = await self._current()
        if token:
            self._add(request, token)
        response = yield request
        if response.status_code == HTTPStatus.UNAUTHORIZED and token:
            fresh = await self._renewed(token)
            if fresh and fresh != token:
                self._add(request, fresh)
                yield request

    def _add(self, request: httpx2.Request, token: str) -> None:
        self._used.add(token)
        request.headers["Authorization"] = f"Bearer {token}"

    async def _current(self) -> str:
        """Return the access token; "" if there is no login."""
        login = await self._logins.get(self._name, self._address)
        if login is None or not login.access:
            return ""
        if login.expires_at and login.refresh and login.expires_at - _EARLY_MS <= self._logins.clock.now():
            return await self._renewed(login.access)
        return login.access

    async def _renewed(self, refused: str) -> str:
        """Return a token other than the refused one; "" if a person must log in again. Only one process refreshes a
        login; the others wait for the result."""
        while True:
            login, now = await self._logins.get(self._name, self._address), self._logins.clock.now()
            if login is None or login.access != refused:
                return "" if login is None else login.access
            if not login.refresh:
                return ""
            if login.refreshing_until > now:
                await self._logins.clock.sleep(_LOOK)
                continue
            claimed = replace(login, refreshing_until=now + REFRESH_MS)
            if await self._logins.swap(self._name, login, claimed):
                # The refresh continues if the caller is cancelled: the server may already have replaced the refresh
                # token, so the new one must be stored.
                return await asyncio.shield(asyncio.ensure_future(self._refresh(claimed)))

    async def _refresh(self, login: Login) -> str:
        fields = {"grant_type": "refresh_token", "refresh_token": login.refresh, "resource": login.resource}
        try:
            async with self._open_client([_host(self._address)]) as client:
                answer = await _ask_token(client, login, fields)
        except ToolError as failed:
            await self._logins.swap(self._name, login, replace(login, refreshing_until=0))
            raise LinkLost(f"its authorization server cannot be reached: {failed.what}") from None
        token = _read(OAuthToken, answer)
        if token is None and _error_in(answer) not in _ENDED:
            # Only these errors end a login (RFC 6749). For example, a proxy may answer with another error for some
            # time.
            await self._logins.swap(self._name, login, replace(login, refreshing_until=0))
            raise LinkLost(f"its authorization server does not refresh the login: status {answer.status}")
        if token is not None:
            renewed = _with_token(login, token, self._logins.clock)
        else:
            renewed = login.without_client if _error_in(answer) == _UNKNOWN_CLIENT else login.without_tokens
        await self._logins.swap(self._name, login, renewed)
        return renewed.access
