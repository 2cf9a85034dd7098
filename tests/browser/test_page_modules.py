"""The page's pure modules, run in the browser that they are made for and under the page's own policy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page

from tests.browser.daemon import Daemon


def js(value: Any) -> str:
    """A value as JavaScript writes it."""
    return json.dumps(value)


USER = js({"id": "u", "text": "hi", "files": [], "at": 1})
SENT = f"c.acknowledged(c.written(c.empty(), {USER}), {{id: 'u', messageId: 'M'}})"


def delivery(seq: int, text: str) -> str:
    return js({"seq": seq, "content": text, "messageId": f"R{seq}", "replyTo": "M", "answers": ["M"], "timestamp": 2})


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Where the modules are served. They keep nothing, so one daemon is enough for all."""
    daemon = Daemon(tmp_path_factory.mktemp("modules"))
    try:
        await daemon.start()
        yield daemon.address
    finally:
        await daemon.close()


@pytest_asyncio.fixture(loop_scope="session")
async def modules(page: Page, address: str) -> Page:
    """A page where `c` is conversation.js, `markdown` and `connection` are what they are called."""
    await page.goto(address)
    await page.evaluate("""async () => {
        const names = ["conversation", "markdown", "connection"];
        [window.c, window.markdown, window.connection] = await Promise.all(names.map((name) => import(`/${name}.js`)));
    }""")
    return page


async def texts(page: Page, state: str) -> list[str]:
    found: list[str] = await page.evaluate(f"() => {state}.entries.map((entry) => entry.text)")
    return found


@pytest.mark.parametrize(("offset", "text"), [(5, "👋🏽 abc"), (4, "👋🏽 ac")])
async def test_a_stream_grows_by_offsets_counted_in_characters(modules: Page, offset: int, text: str) -> None:
    state = f"c.streamed(c.streamed({SENT}, {{messageId: 'M', offset: 0, text: '👋🏽 ab'}}), "
    assert await texts(modules, state + f"{{messageId: 'M', offset: {offset}, text: 'c'}})") == ["hi", text]


async def test_a_retried_stream_starts_again(modules: Page) -> None:
    state = f"c.streamed(c.streamed({SENT}, {{messageId: 'M', offset: 0, text: 'wrong'}}), "
    assert await texts(modules, state + "{messageId: 'M', offset: 0, text: 'right'})") == ["hi", "right"]


async def test_a_stream_whose_beginning_was_missed_is_not_shown(modules: Page) -> None:
    assert await texts(modules, f"c.streamed({SENT}, {{messageId: 'M', offset: 7, text: 'late'}})") == ["hi"]


async def test_a_delivery_takes_the_place_of_its_stream(modules: Page) -> None:
    streamed = f"c.streamed({SENT}, {{messageId: 'M', offset: 0, text: 'so'}})"
    state = f"c.delivered({streamed}, {delivery(1, 'done')})"
    assert await texts(modules, state) == ["hi", "done"]
    assert await modules.evaluate(f"() => {state}.entries.map((entry) => entry.key)") == ["u", "stream M"]


async def test_a_delta_after_the_delivery_changes_nothing(modules: Page) -> None:
    state = f"c.streamed(c.delivered({SENT}, {delivery(1, 'done')}), {{messageId: 'M', offset: 0, text: 'x'}})"
    assert await texts(modules, state) == ["hi", "done"]


async def test_a_delivery_is_shown_once(modules: Page) -> None:
    state = f"c.delivered(c.delivered({SENT}, {delivery(1, 'done')}), {delivery(1, 'done')})"
    assert await texts(modules, state) == ["hi", "done"]


async def test_the_history_adds_only_what_is_not_there(modules: Page) -> None:
    past = [
        {"key": "p1", "kind": "user", "messageId": "A", "text": "before", "status": "answered", "past": True},
        {"key": "p2", "kind": "user", "messageId": "M", "text": "hi", "status": "answered", "past": True},
        {"key": "p3", "kind": "agent", "messageId": "R1", "replyTo": "M", "text": "done", "final": True, "past": True},
    ]
    script = f"""() => {{
        const past = {js(past)};
        const streamed = c.streamed({SENT}, {{messageId: 'M', offset: 0, text: 'do'}});
        const state = c.delivered(c.remembered(c.remembered(streamed, past), past), {delivery(1, "done")});
        return state.entries.map((entry) => [entry.text, entry.status ?? null]);
    }}"""
    assert await modules.evaluate(script) == [["before", "answered"], ["hi", "answered"], ["done", None]]


async def test_memory_is_bounded_but_unsent_messages_stay(modules: Page) -> None:
    script = f"""() => {{
        let state = c.written(c.empty(), {USER});
        for (let seq = 1; seq <= 700; seq += 1) {{
            state = c.delivered(state, {{seq, content: String(seq), messageId: `R${{seq}}`, timestamp: 2}});
        }}
        return [state.entries.length, state.entries[0].text, state.entries.at(-1).text, c.MOST_ENTRIES];
    }}"""
    assert await modules.evaluate(script) == [500, "hi", "700", 500]


async def test_an_answered_message_is_not_reopened(modules: Page) -> None:
    state = f"c.statusChanged(c.delivered({SENT}, {delivery(1, 'done')}), {{messageId: 'M', status: 'running'}})"
    assert await modules.evaluate(f"() => {state}.entries[0].status") == "answered"


async def test_a_notice_of_failure_is_no_answer(modules: Page) -> None:
    state = f"c.statusChanged(c.delivered({SENT}, {delivery(1, 'sorry')}), {{messageId: 'M', status: 'failed'}})"
    assert await modules.evaluate(f"() => {state}.entries[0].status") == "failed"


async def test_pauses_between_tries_double_up_to_thirty_seconds(modules: Page) -> None:
    pauses = await modules.evaluate("() => [0, 1, 2, 3, 4, 5, 50].map(connection.backOff)")
    assert pauses == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]


async def rendered(page: Page, text: str) -> str:
    """The HTML that a text becomes."""
    script = """(text) => {
        const box = document.createElement("div");
        box.append(...markdown.render(text));
        return box.innerHTML;
    }"""
    html: str = await page.evaluate(script, text)
    return html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a **b** `c`", '<p dir="auto">a <strong>b</strong> <code>c</code></p>'),
        ("``a ` b``", '<p dir="auto"><code>a ` b</code></p>'),
        ("2 ** 3 ** 4", '<p dir="auto">2 ** 3 ** 4</p>'),
        ("<img src=x onerror=alert(1)>", '<p dir="auto">&lt;img src=x onerror=alert(1)&gt;</p>'),
        ("[a](javascript:alert(1))", '<p dir="auto">[a](javascript:alert(1))</p>'),
        ("[a](http://a.example)", '<p dir="auto">[a](http://a.example)</p>'),
        ("[a](https://b.example@evil.example)", '<p dir="auto">[a](https://b.example@evil.example)</p>'),
        ("\u202eabc\u200b", '<p dir="auto">[U+202E]abc[U+200B]</p>'),
        ("", ""),
    ],
)
async def test_markdown_is_small_and_harmless(modules: Page, text: str, html: str) -> None:
    assert await rendered(modules, text) == html


async def test_a_link_says_where_it_goes(modules: Page) -> None:
    html = await rendered(modules, "see [bank.example](https://evil.example/x), https://a.example/b.")
    assert 'href="https://evil.example/x" rel="noopener noreferrer" target="_blank"' in html
    assert '<span class="host"> (evil.example)</span></a>, <a href="https://a.example/b"' in html
    assert html.endswith("</bdi></a>.</p>")


async def test_a_fence_keeps_its_text_as_it_is(modules: Page) -> None:
    html = await rendered(modules, "before\n```python\n**a** <b>\n\n  `c`\n```\nafter")
    assert "<code>**a** &lt;b&gt;\n\n  `c`</code>" in html
    assert html.startswith('<p dir="auto">before</p><figure class="code"><figcaption>python')
    assert html.endswith('<p dir="auto">after</p>')


async def test_an_unclosed_fence_is_code_to_the_end(modules: Page) -> None:
    assert "<code>a\nb</code>" in await rendered(modules, "~~~\na\nb")


async def test_an_answer_may_be_faster_than_the_acknowledgement(modules: Page) -> None:
    written = f"c.written(c.empty(), {USER})"
    state = f"c.acknowledged(c.delivered({written}, {delivery(1, 'done')}), {{id: 'u', messageId: 'M'}})"
    assert await modules.evaluate(f"() => {state}.entries[0].status") == "answered"


async def test_history_that_is_faster_than_the_acknowledgement_leaves_no_double(modules: Page) -> None:
    past = [{"key": "p", "kind": "user", "messageId": "M", "text": "hi", "status": "accepted", "past": True}]
    remembered = f"c.remembered(c.written(c.empty(), {USER}), {js(past)})"
    assert await texts(modules, f"c.acknowledged({remembered}, {{id: 'u', messageId: 'M'}})") == ["hi"]
