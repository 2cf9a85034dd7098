"""The tool `generate_image` against a server with OpenAI's format."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from arvis.domain.agents import Agent
from arvis.domain.dataclass import replace
from arvis.domain.errors import ToolError
from arvis.domain.messages import OutgoingFile
from arvis.domain.runs import PictureRef
from arvis.domain.tools import Risk
from arvis.media import WebFileReader
from arvis.net.client import open_http_client
from arvis.net.fetcher import open_fetcher
from arvis.ports.store import Store
from arvis.ports.tool import Caller, ToolServices
from arvis.process.clock import SystemClock
from arvis.process.subprocesses import GuardedPrograms
from arvis.providers.images import ApiImages
from arvis.providers.speech import ApiAccess
from arvis.tools.generate_image import DECLARATION, create
from tests.fixtures.mcp_server import PNG
from tests.flows.test_mcp_client import serving


class Service:
    """The service: `answers` are its next answers, `asked` its requests."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[dict[str, Any]] = []
        routes = [Route("/v1/images/generations", self._make, methods=["POST"]), Route("/picture", self._picture)]
        self.app = Starlette(routes=routes)

    async def _make(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer key"
        self.asked.append(json.loads(await request.body()))
        status, answer = self.answers.pop(0)
        return JSONResponse(answer, status)

    async def _picture(self, _: Request) -> Response:
        return Response(PNG, media_type="image/png")


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    made = Service()
    async with serving(made.app) as url:
        made.url = url
        yield made


class Painter:
    def __init__(self, services: ToolServices, folder: Path) -> None:
        self._tool = create(services)
        self._folder = folder
        self.shown: list[PictureRef] = []
        self.sent: list[OutgoingFile] = []

    async def paint(self, **arguments: Any) -> str:
        agent = Agent("a", "helper", "Helper", tools=("generate_image",))
        caller = Caller(agent, None, "c", "e", None, "call", self._folder, "UTC")
        caller = replace(caller, show=self.shown.append, attach=self.sent.append)
        return await self._tool.call(arguments, caller)


@pytest.fixture
async def painter(service: Service, store: Store, tmp_path: Path) -> AsyncIterator[Painter]:
    url = service.url
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(open_http_client())
        images = ApiImages(
            http=http, access=lambda: ApiAccess(f"{url}/v1", "key"), model="gpt-image-1", size="1024x1024", seconds=30
        )
        services = ToolServices(
            store=store,
            clock=SystemClock(),
            fetcher=await stack.enter_async_context(open_fetcher(allow=[url.removeprefix("http://")])),
            http=http,
            reader=WebFileReader(programs=GuardedPrograms()),
            images=images,
            **dict.fromkeys(("sandbox", "secrets", "search"), cast("Any", None)),
        )
        yield Painter(services, tmp_path)


def made(**more: str) -> dict[str, Any]:
    return {"data": [{"b64_json": base64.b64encode(PNG).decode(), **more}]}


async def test_a_picture_is_sent_and_shown(service: Service, painter: Painter, store: Store) -> None:
    service.answers.append((200, made(revised_prompt="A red dot.")))
    result = await painter.paint(prompt="A dot")
    assert service.asked == [
        {"model": "gpt-image-1", "prompt": "A dot", "n": 1, "size": "1024x1024", "response_format": "b64_json"}
    ]
    [file] = painter.sent
    assert (file.filename, file.content_type, await store.get_blob(file.sha256)) == ("picture.png", "image/png", PNG)
    assert [name for name, _, _ in painter.shown] == ["picture.png"]
    assert "The service used this description: A red dot." in result
    assert DECLARATION.risk is Risk.MONEY


async def test_services_that_refuse_a_field_or_return_an_address(service: Service, painter: Painter) -> None:
    refused = {"error": {"message": "Unknown parameter: 'response_format'."}}
    url = service.url
    service.answers += [(400, refused), (200, {"data": [{"url": f"{url}/picture"}]})]
    await painter.paint(prompt="A dot", size="512x512")
    assert "response_format" not in service.asked[1]
    assert service.asked[1]["size"] == "512x512"
    assert len(painter.sent) == 1


@pytest.mark.parametrize(
    ("status", "answer", "text"),
    [
        (400, {"error": {"message": "Your request was rejected by the safety system."}}, "safety system"),
        (401, {}, "rejected the key"),
        (429, {}, "too many requests"),
        (200, {"data": []}, "unexpected form"),
        (200, {"data": [{"b64_json": "no base64!"}]}, "damaged"),
        (200, {"data": [{"url": "http://169.254.169.254/x"}]}, "169.254.169.254"),
    ],
)
async def test_a_failure_is_explained_and_nothing_is_sent(
    service: Service, painter: Painter, status: int, answer: Any, text: str
) -> None:
    service.answers.append((status, answer))
    with pytest.raises(ToolError, match=text):
        await painter.paint(prompt="A dot")
    assert painter.sent == []


async def test_a_wrong_size_is_refused(painter: Painter) -> None:
    with pytest.raises(ToolError, match="WIDTHxHEIGHT"):
        await painter.paint(prompt="A dot", size="large")
