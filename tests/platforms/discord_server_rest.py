"""The methods of Discord's REST interface, version 10, that bots use, with the documented refusals."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import BodyPartReader, web

from tests.platforms.discord_server_gateway import GatewaySide
from tests.platforms.discord_server_world import TOKEN, ApiError, Json, World

_LONGEST_TEXT = 2000
_LONGEST_NONCE = 25
_EPHEMERAL = 64

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """Return a JSON answer. Discord's content type has no charset."""
    if status == 204:
        return web.Response(status=204, headers=headers)
    return web.Response(body=json.dumps(body).encode(), status=status, content_type="application/json", headers=headers)


class RestSide:
    """The REST interface.

    `said` are the answers to interactions, by interaction id, in order: (kind, body). `typed` are the channels in which
    the bot was shown typing. `registered` counts commands that were registered. With `hides_sizes`, files come without
    their length.
    """

    def __init__(self, world: World, gateway: GatewaySide) -> None:
        self.world = world
        self.gateway = gateway
        self.base = ""
        self.said: dict[str, list[tuple[str, Json]]] = {}
        self.tokens: dict[str, Json] = {}
        self.typed: list[str] = []
        #: The bodies of all requests that send or change a message.
        self.bodies: list[Json] = []
        self.registered = 0
        self.hides_sizes = False
        #: Headers of the answers to new messages.
        self.odd_headers: dict[str, str] = {}
        self._heard = asyncio.Event()

    def routes(self) -> list[web.RouteDef]:
        messages = "/api/v10/channels/{channel}/messages"
        return [
            web.get("/api/v10/users/@me", self._me),
            web.get("/api/v10/users/@me/guilds", self._guilds),
            web.post("/api/v10/users/@me/channels", self._open_direct),
            web.get("/api/v10/oauth2/applications/@me", self._application),
            web.get("/api/v10/applications/@me", self._application),
            web.get("/api/v10/applications/{app}/commands", self._commands),
            web.put("/api/v10/applications/{app}/commands", self._put_commands),
            web.post("/api/v10/applications/{app}/commands", self._upsert_command),
            web.get("/api/v10/channels/{channel}", self._channel),
            web.post("/api/v10/channels/{channel}/typing", self._typing),
            web.get(messages, self._history),
            web.post(messages, self._create),
            web.get(messages + "/{message}", self._message),
            web.patch(messages + "/{message}", self._change),
            web.delete(messages + "/{message}", self._delete),
            web.post(messages + "/{message}/threads", self._start_thread),
            web.post("/api/v10/interactions/{id}/{token}/callback", self._callback),
            web.post("/api/v10/webhooks/{app}/{token}", self._follow_up),
            web.patch("/api/v10/webhooks/{app}/{token}/messages/@original", self._original),
            web.get("/attachments/{id}/{name}", self._file),
        ]

    async def errors(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check the bot's token, and turn an `ApiError` into an answer."""
        free = request.path.startswith(("/gateway", "/attachments", "/api/v10/interactions", "/api/v10/webhooks"))
        if not free and request.headers.get("Authorization") != f"Bot {TOKEN}":
            return answer({"message": "401: Unauthorized", "code": 0}, 401)
        try:
            return await handler(request)
        except ApiError as error:
            return answer({"message": error.message, "code": error.code}, error.status)

    async def _me(self, _request: web.Request) -> web.Response:
        return answer(self.world.bot)

    async def _guilds(self, _request: web.Request) -> web.Response:
        guild = {"id": self.world.guild, "name": "Home", "owner": False, "permissions": str(self.world.permissions)}
        return answer([guild])

    async def _application(self, _request: web.Request) -> web.Response:
        world = self.world
        team = {"owner": world.bot, "team": None, "summary": "", "verify_key": "00", "description": "", "icon": None}
        return answer({"id": world.application, "name": "arvis", "flags": world.flags, "bot_public": True} | team
                      | {"bot_require_code_grant": False, "interactions_endpoint_url": None})  # fmt: skip

    async def _commands(self, _request: web.Request) -> web.Response:
        return answer(self.world.commands)

    async def _put_commands(self, request: web.Request) -> web.Response:
        self.registered += 1
        self.world.commands = [{"id": self.world.new_id(), "version": "1"} | each for each in await request.json()]
        return answer(self.world.commands)

    async def _upsert_command(self, request: web.Request) -> web.Response:
        """Replace a command of the same name, or add a new one."""
        self.registered += 1
        wanted = await request.json()
        made = {"id": self.world.new_id(), "version": "1", "type": 1} | wanted
        kept = [one for one in self.world.commands if (one["name"], one.get("type", 1)) != (made["name"], made["type"])]
        created = len(kept) == len(self.world.commands)
        self.world.commands = [*kept, made]
        return answer(made, 201 if created else 200)

    async def _open_direct(self, request: web.Request) -> web.Response:
        wanted = (await request.json())["recipient_id"]
        for name, person in self.world.people.items():
            if person["id"] == wanted:
                return answer(self.world.direct(name))
        raise ApiError(404, 10013, "Unknown User")

    async def _channel(self, request: web.Request) -> web.Response:
        return answer(self.world.find_channel(request.match_info["channel"]))

    async def _typing(self, request: web.Request) -> web.Response:
        self.typed.append(self.world.find_channel(request.match_info["channel"])["id"])
        return answer(None, 204)

    async def _history(self, request: web.Request) -> web.Response:
        return answer(self.world.history(request.match_info["channel"], dict(request.query)))

    async def _message(self, request: web.Request) -> web.Response:
        return answer(self.world.find_message(request.match_info["channel"], request.match_info["message"]))

    async def _create(self, request: web.Request) -> web.Response:
        channel = self.world.find_channel(request.match_info["channel"])
        body, files = await self._body(request)
        nonce = str(body.get("nonce") or "")
        _check(body, files, nonce)
        if body.get("enforce_nonce") and (known := self.world.remembered(nonce)) is not None:
            return answer(known)
        more = {"attachments": files, "components": body.get("components", []), "flags": body.get("flags", 0)}
        message = self.world.add_message(
            channel, self.world.bot, body.get("content", ""), **more, **self._reference(body, channel)
        )
        if nonce:
            message["nonce"] = nonce
            self.world.nonces[nonce] = (time.monotonic(), channel["id"], message["id"])
        self.world.pings[message["id"]] = _pings(body)
        await self.gateway.dispatch("MESSAGE_CREATE", self.as_event(message))
        return answer(message, headers=self.odd_headers)

    async def _change(self, request: web.Request) -> web.Response:
        message = self.world.find_message(request.match_info["channel"], request.match_info["message"])
        if message["author"] is not self.world.bot:
            raise ApiError(403, 50005, "Cannot edit a message authored by another user")
        body, files = await self._body(request)
        _check(message | body, files, "")
        message |= {key: body[key] for key in ("content", "components", "flags") if key in body}
        message["attachments"] = files or message["attachments"]
        message["edited_timestamp"] = "2026-01-01T00:00:00.000000+00:00"
        self.world.pings[message["id"]] = _pings(body)
        await self.gateway.dispatch("MESSAGE_UPDATE", self.as_event(message))
        return answer(message)

    async def _delete(self, request: web.Request) -> web.Response:
        channel, id_ = request.match_info["channel"], request.match_info["message"]
        self.world.find_message(channel, id_)
        await self.delete(channel, id_)
        return answer(None, 204)

    async def delete(self, channel: str, id_: str) -> None:
        del self.world.messages[channel][id_]
        event = {"id": id_, "channel_id": channel}
        await self.gateway.dispatch("MESSAGE_DELETE", event | self._guild_of(channel))

    async def _start_thread(self, request: web.Request) -> web.Response:
        channel, id_ = request.match_info["channel"], request.match_info["message"]
        self.world.find_message(channel, id_)
        if id_ in self.world.channels:
            raise ApiError(400, 160004, "A thread has already been created for this message")
        name = (await request.json())["name"]
        if not 1 <= len(name) <= 100:
            raise ApiError(400, 50035, "Invalid Form Body")
        thread = self.world.thread(name, self.world.channels[channel], id_)
        await self.gateway.dispatch("THREAD_CREATE", thread | {"newly_created": True})
        return answer(thread, 201)

    async def _callback(self, request: web.Request) -> web.Response:
        id_, body = request.match_info["id"], await request.json()
        if self.tokens.get(request.match_info["token"], {}).get("id") != id_:
            raise ApiError(404, 10062, "Unknown interaction")
        if self.said.get(id_):
            raise ApiError(400, 40060, "Interaction has already been acknowledged.")
        self._noted(id_, str(body["type"]), body.get("data") or {})
        if body["type"] == 7:
            self.tokens[request.match_info["token"]]["message"] |= body["data"]
        return answer(None, 204)

    async def _follow_up(self, request: web.Request) -> web.Response:
        interaction = self.tokens.get(request.match_info["token"])
        if interaction is None:
            raise ApiError(404, 10015, "Unknown Webhook")
        body = await request.json()
        self._noted(interaction["id"], "follow-up", body)
        return answer({"id": self.world.new_id()} | body)

    async def _original(self, request: web.Request) -> web.Response:
        interaction = self.tokens[request.match_info["token"]]
        body = await request.json()
        self._noted(interaction["id"], "original", body)
        if "message" in interaction:
            interaction["message"] |= body
        return answer({"id": self.world.new_id()} | body)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        id_ = request.match_info["id"]
        if id_ not in self.world.files:
            return web.Response(status=404, text="This content is no longer available.")
        if not self.hides_sizes:
            return web.Response(body=self.world.files[id_])
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(self.world.files[id_])
        return response

    async def until(self, interaction: str, count: int) -> None:
        """Wait until an interaction has this number of answers."""
        async with asyncio.timeout(20):
            while len(self.said.get(interaction, ())) < count:
                self._heard.clear()
                await self._heard.wait()

    def as_event(self, message: Json) -> Json:
        member: Json = {
            "nick": None,
            "roles": [],
            "joined_at": "2020-01-01T00:00:00+00:00",
            "deaf": False,
            "mute": False,
        }
        guild = self._guild_of(message["channel_id"])
        return message | guild | ({"member": member | {"flags": 0}} if guild else {})

    def _guild_of(self, channel: str) -> Json:
        guild = self.world.channels[channel].get("guild_id")
        return {"guild_id": guild} if guild else {}

    def _noted(self, id_: str, kind: str, body: Json) -> None:
        self.said.setdefault(id_, []).append((kind, body))
        self._heard.set()

    def _reference(self, body: Json, channel: Json) -> Json:
        reference = body.get("message_reference")
        if reference is None:
            return {}
        known = self.world.messages[channel["id"]].get(str(reference["message_id"]))
        if known is not None:
            return {
                "type": 19,
                "message_reference": {"type": 0, "message_id": known["id"], "channel_id": channel["id"]},
                "referenced_message": dict(known),
            }
        if reference.get("fail_if_not_exists", True):
            raise ApiError(400, 50035, "Invalid Form Body")
        return {}

    async def _body(self, request: web.Request) -> tuple[Json, list[Json]]:
        if request.content_type == "application/json":
            self.bodies.append(await request.json())
            return self.bodies[-1], []
        body: Json = {}
        files = []
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            data = await part.read(decode=False)
            if part.name == "payload_json":
                body = json.loads(data)
            else:
                files.append(self.world.add_file(part.filename or "", "text/plain", bytes(data), self.base))
        if len(body.get("attachments", [])) != len(files):
            raise ApiError(400, 50035, "Invalid Form Body")
        self.bodies.append(body)
        return body, files


def _check(body: Json, files: list[Json], nonce: str) -> None:
    text = body.get("content") or ""
    rows = body.get("components") or []
    buttons = [button for row in rows for button in row["components"]]
    ids = [button["custom_id"] for button in buttons]
    invalid = (
        len(text.encode("utf-16-le")) // 2 > _LONGEST_TEXT
        or len(nonce) > _LONGEST_NONCE
        or len(rows) > 5
        or any(not 1 <= len(row["components"]) <= 5 for row in rows)
        or any(not 1 <= len(button["label"]) <= 80 or not 1 <= len(button["custom_id"]) <= 100 for button in buttons)
        or len(set(ids)) != len(ids)
        or body.get("flags", 0) & _EPHEMERAL
    )
    if invalid:
        raise ApiError(400, 50035, "Invalid Form Body")
    if not text.strip() and not files and not body.get("attachments"):
        raise ApiError(400, 50006, "Cannot send an empty message")


def _pings(body: Json) -> tuple[str, ...]:
    """Return the mentions in a message that notify people. `allowed_mentions` may exclude all."""
    allowed = body.get("allowed_mentions")
    called = [word for word in (body.get("content") or "").split() if word.startswith(("@everyone", "@here", "<@"))]
    return tuple(called) if allowed is None or allowed.get("parse") else ()
