"""A model server with a small window and its own token count, which refuses longer prompts.

Example:

    async with counting_server(window=8_192) as server:
        ...  # an account {provider: custom, base_url: server.url, model: small}
        assert server.refusals <= 1
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from arvis.testing.openai_server import CallsTools, Failure, ReceivedRequest, Reply, openai_server

MESSAGE_TOKENS = 5
#: The tokens of each picture: as many as Arvis expects, because it does not learn from the counts of requests with pictures.
PICTURE_TOKENS = 3_000

_CJK = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LETTERS = re.compile(r"[A-Za-z ]")

Document = Mapping[str, Any]


def count_text(text: str) -> float:
    """Count tokens; code, Cyrillic and Chinese count more than with other counters."""
    cjk, cyrillic, letters = (len(kind.findall(text)) for kind in (_CJK, _CYRILLIC, _LETTERS))
    return 2.0 * cjk + 0.9 * cyrillic + 0.25 * letters + 0.6 * (len(text) - cjk - cyrillic - letters)


def count_prompt(document: Document) -> int:
    """Count the tokens of all messages, their tool calls and pictures, and the offered tools."""
    messages: Sequence[Document] = document["messages"]
    texts, pictures = [json.dumps(tool, ensure_ascii=False) for tool in document.get("tools", ())], 0
    for message in messages:
        content = message.get("content") or ""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        pictures += sum(part["type"] == "image_url" for part in parts)
        texts += [part["text"] for part in parts if part["type"] == "text"]
        texts += [json.dumps(call, ensure_ascii=False) for call in message.get("tool_calls", ())]
    return round(sum(map(count_text, texts)) + MESSAGE_TOKENS * len(messages) + PICTURE_TOKENS * pictures)


def say_little(document: Document) -> str:
    """Return a reply that differs from message to message, so that no two turns are equal."""
    return f"This is reply {len(document['messages'])} to {count_prompt(document)} tokens."


@dataclass(slots=True)
class Counted:
    """The server's records. `prompts` holds the tokens of each accepted prompt. `refused` holds the tokens of each
    refused prompt and of the reply that it asked for. `documents` are all requests, in order."""

    window: int
    reply: Callable[[Document], str]
    #: Returns the tool calls (name, arguments as text) with which a request is answered instead.
    asks: Callable[[Document], Sequence[tuple[str, str]]] = lambda _: ()
    url: str = ""
    prompts: list[int] = field(default_factory=list)
    refused: list[tuple[int, int]] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return len(self.documents)

    @property
    def refusals(self) -> int:
        return len(self.refused)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        """Answer one call in OpenAI's format."""
        document = received.document
        self.documents.append(document)
        prompt, wanted = count_prompt(document), document.get("max_tokens") or document.get("max_completion_tokens", 0)
        if prompt + wanted > self.window:
            self.refused.append((prompt, wanted))
            text = f"This model's maximum context length is {self.window} tokens. However, you requested"
            text += f" {prompt + wanted} tokens ({prompt} in the messages, {wanted} in the completion)."
            return await Failure(400, "context_length_exceeded", text).answer(received)
        self.prompts.append(prompt)
        if asked := self.asks(document):
            return await CallsTools(tuple(asked)).answer(received)
        said = self.reply(document)
        middle = len(said) // 2
        usage = (prompt, max(1, round(count_text(said))))
        return await Reply(pieces=(said[:middle], said[middle:]), usage=usage).answer(received)


@asynccontextmanager
async def counting_server(
    *,
    window: int = 8_192,
    reply: Callable[[Document], str] = say_little,
    asks: Callable[[Document], Sequence[tuple[str, str]]] = lambda _: (),
) -> AsyncIterator[Counted]:
    """Run the server on a free port of 127.0.0.1; `reply` returns the answer to a request, unless `asks` returns tool
    calls."""
    counted = Counted(window, reply, asks)
    async with openai_server(default=counted) as server:
        counted.url = server.base_url
        yield counted
