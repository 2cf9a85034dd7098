"""OpenAI's client library against the running daemon: agents are its models, and the demo provider answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest

from tests.acceptance.daemon import Daemon, running_daemon

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PATIENCE = 30.0


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    agents = [{"slug": "helper", "name": "Helper", "model": "demo", "tools": ["calculate", "write_file"]}]
    settings = {"ARVIS__AGENTS": json.dumps(agents)}
    with running_daemon(tmp_path_factory.mktemp("app"), settings=settings) as daemon:
        yield daemon


@pytest.fixture
def client(daemon: Daemon) -> Iterator[openai.OpenAI]:
    with client_of(daemon, daemon.api_key) as client:
        yield client


def client_of(daemon: Daemon, key: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{daemon.url}/v1", api_key=key, timeout=PATIENCE)


def user(content: Any) -> Any:
    return {"role": "user", "content": content}


def timeline(daemon: Daemon, message_id: str) -> Any:
    address = f"{daemon.url}/api/messages/{message_id}/wait?timeout=20"
    return httpx2.get(address, headers={"Authorization": f"Bearer {daemon.api_key}"}, timeout=PATIENCE).json()


def conversation(daemon: Daemon, thread: str) -> list[Any]:
    """Return the messages of a conversation, newest first."""
    with httpx2.Client(headers={"Authorization": f"Bearer {daemon.api_key}"}, base_url=daemon.url) as http:
        found = http.get("/api/conversations").json()["items"]
        (known,) = [each for each in found if each["thread"] == thread]
        messages: list[Any] = http.get(f"/api/conversations/{known['id']}/messages").json()["items"]
        return messages


def test_an_agent_answers_whole(client: openai.OpenAI, daemon: Daemon) -> None:
    raw = client.chat.completions.with_raw_response.create(model="helper", messages=[user("demo: say Good day")])
    answer = raw.parse()
    assert answer.choices[0].message.content == "Good day"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens > 0
    assert timeline(daemon, raw.headers["x-arvis-message-id"])["reply"] == "Good day"


def test_an_agent_answers_while_it_writes(client: openai.OpenAI) -> None:
    words = " ".join(str(number) for number in range(40))
    with client.chat.completions.create(
        model="helper", messages=[user(f"demo: say {words}")], stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    said = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(said) == words
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0


def test_agents_are_listed_and_a_wrong_key_is_not_let_in(client: openai.OpenAI, daemon: Daemon) -> None:
    assert "helper" in [model.id for model in client.models.list()]
    assert client.models.retrieve("helper").owned_by == "arvis"
    with client_of(daemon, "wrong") as stranger, pytest.raises(openai.AuthenticationError):
        stranger.models.list()
    with pytest.raises(openai.NotFoundError, match="GET /v1/models"):
        client.chat.completions.create(model="gpt-9", messages=[user("Hello")])


def test_users_are_conversations_of_their_own(client: openai.OpenAI, daemon: Daemon) -> None:
    for name in ("ann", "bob", "ann"):
        client.chat.completions.create(model="helper", user=name, messages=[user(f"demo: say Hello {name}")])
    ann, bob = conversation(daemon, "v1/owner/ann"), conversation(daemon, "v1/owner/bob")
    assert [message["content"] for message in ann if message["role"] == "assistant"] == ["Hello ann", "Hello ann"]
    assert [message["content"] for message in bob if message["role"] == "assistant"] == ["Hello bob"]


def test_a_chat_goes_on_with_the_librarys_own_history(client: openai.OpenAI, daemon: Daemon) -> None:
    messages = [{"role": "system", "content": "Be brief."}, user("demo: say First")]
    first = client.chat.completions.with_raw_response.create(model="helper", messages=messages)
    # People send back the answer object of the library unchanged.
    messages += [first.parse().choices[0].message, user("demo: say Second")]
    second = client.chat.completions.with_raw_response.create(model="helper", messages=messages)
    jobs = [timeline(daemon, each.headers["x-arvis-message-id"])["job"]["lane"] for each in (first, second)]
    assert jobs[0] == jobs[1]


def test_what_the_library_sends_again_after_a_timeout_is_one_message(daemon: Daemon) -> None:
    slow = "demo: sleep 1.5\ndemo: say Once"
    with openai.OpenAI(base_url=f"{daemon.url}/v1", api_key=daemon.api_key, timeout=0.7, max_retries=5) as hasty:
        answer = hasty.chat.completions.create(model="helper", messages=[user(slow)])
    assert answer.choices[0].message.content == "Once"
    headers = {"Authorization": f"Bearer {daemon.api_key}"}
    found = httpx2.get(f"{daemon.url}/api/messages?q=sleep%201.5", headers=headers, timeout=PATIENCE).json()
    assert len(found["items"]) == 1


def test_a_picture_of_the_request_is_a_file_of_the_message(client: openai.OpenAI, daemon: Daemon) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    parts = [{"type": "text", "text": "demo: say Seen"}, {"type": "image_url", "image_url": {"url": url}}]
    answer = client.chat.completions.create(model="helper", user="painter", messages=[user(parts)])
    assert answer.choices[0].message.content == "Seen"
    (file,) = conversation(daemon, "v1/owner/painter")[-1]["attachments"]
    assert (file["filename"], file["kind"], file["size"]) == ("image-1.png", "image", len(PICTURE))
    far = [{"type": "image_url", "image_url": {"url": "https://pictures.example/cat.png"}}]
    with pytest.raises(openai.BadRequestError, match="is not fetched"):
        client.chat.completions.create(model="helper", messages=[user(far)])


def test_a_failure_says_why_and_is_not_tried_again(client: openai.OpenAI) -> None:
    with pytest.raises(openai.InternalServerError, match="declined") as caught:
        client.chat.completions.create(model="helper", user="refused", messages=[user("demo: fail refused")])
    assert caught.value.code == "refused"
    assert caught.value.response.headers["x-should-retry"] == "false"


def test_who_closes_a_stream_stops_the_answer(client: openai.OpenAI, daemon: Daemon) -> None:
    question = "demo: say It begins\ndemo: sleep 20\ndemo: say and it ends"
    raw = client.chat.completions.with_raw_response.create(
        model="helper", user="hasty", messages=[user(question)], stream=True
    )
    with raw.parse() as stream:
        while not (next(stream).choices[0].delta.content or "").startswith("It"):
            pass
    found = timeline(daemon, raw.headers["x-arvis-message-id"])
    assert found["status"] == "cancelled"


def test_the_libraries_request_id_is_ours(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="helper", messages=[user("demo: say Hi")])
    assert (answer._request_id or "").startswith("req_")
    with pytest.raises(openai.NotFoundError) as unknown:
        client.embeddings.create(model="helper", input="x")
    assert unknown.value.code == "not_found"
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="helper", messages=[user("Hi")], n=2)
    assert refused.value.param == "n"


def test_a_stream_with_a_tool_ends_with_the_reply(client: openai.OpenAI, daemon: Daemon) -> None:
    question = 'demo: say I look\ndemo: tool calculate {"expression": "6*7"}'
    raw = client.chat.completions.with_raw_response.create(
        model="helper", user="sums", messages=[user(question)], stream=True
    )
    said = "".join(chunk.choices[0].delta.content or "" for chunk in raw.parse() if chunk.choices)
    reply = timeline(daemon, raw.headers["x-arvis-message-id"])["reply"]
    assert "42" in reply
    assert said.endswith(reply)


def test_what_a_person_must_allow_is_said(client: openai.OpenAI) -> None:
    question = 'demo: tool write_file {"path": "today.txt", "content": "milk"}'
    answer = client.chat.completions.create(model="helper", user="writer", messages=[user(question)])
    text = answer.choices[0].message.content or ""
    assert "waits for a person's decision" in text
    assert "milk" in text
    assert "arvis questions answer" in text


def test_the_same_request_again_is_answered_once(client: openai.OpenAI, daemon: Daemon) -> None:
    asked = {"model": "helper", "user": "twice", "messages": [user("demo: say Once")]}
    headers = {"Idempotency-Key": "5f0c"}
    for _ in range(2):
        answer = client.chat.completions.create(**asked, extra_headers=headers)  # type: ignore[call-overload]
        assert answer.choices[0].message.content == "Once"
    assert len(conversation(daemon, "v1/owner/twice")) == 2
