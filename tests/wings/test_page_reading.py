"""Web pages as text: pages of many kinds, hostile pages, and the limits of the child program."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arvis.media import child
from arvis.media.page import read_page
from arvis.media.reading import DocumentReader
from arvis.process.sandbox import Bubblewrap
from arvis.process.subprocesses import GuardedPrograms
from tests.fixtures.pages import PAGES, Page, hostile
from tests.parts import refused, require

BASE = "https://example.com/docs/page.html"
#: The pages whose layout consists of tables. Nothing in them distinguishes a menu from the text.
_LAYOUTS = {"news in tables", "table in tables", "forum in tables"}


def text_of(html: str, url: str = BASE) -> str:
    _title, text = read_page(html, url)
    return text.strip("\n")


def plain(text: str) -> str:
    return " ".join(text.replace("*", "").replace("`", "").split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_main_part_of_a_page_is_read(page: Page) -> None:
    text = text_of(page.html, page.url)
    missing = [each for each in page.wanted if each not in (text if "\n" in each else plain(text))]
    assert missing == []
    if page.name not in _LAYOUTS:
        assert [each for each in page.unwanted if each in plain(text)] == []


PARTS = [
    ("", ""),
    ("plain", "plain"),
    ("<p>one<p>two", "one\n\ntwo"),
    ("one<br>two", "one\ntwo"),
    ("a &lt;b&gt; &amp; &eacute; &#x1F600;", "a &lt;b> &amp; é 😀"),
    ("<h1>Title</h1>text<h3>Part</h3>more", "# Title\n\ntext\n\n### Part\n\nmore"),
    ("<ul><li>one<li>two</ul>after", "- one\n- two\n\nafter"),
    ("<table><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table>end", "a | b\n1 | 2\n3 | 4\n\nend"),
    ("<table><tr><td><p>one</p><td><p>two</p></table>", "one\n\ntwo"),
    ("<pre>a\n  b\n\nc</pre>d", "```\na\n  b\n\nc\n```\n\nd"),
    ('<a href="/x">here</a>', "[here](https://example.com/x)"),
    ('<base href="http://b.example/c/"><a href="d">x</a>', "[x](http://b.example/c/d)"),
    ('<a href="#part">part</a>', "part"),
    ('<a href="page.html#part">part</a>', "part"),
    ('<a href="javascript:alert(1)">go</a>', "go"),
    ('<a href="data:text/html,x">data</a>', "data"),
    ('<a href="http://[::1">bad</a>', "bad"),
    (f'<a href="/{"x" * 400}">long</a>', "long"),
    ('<img alt="a cat" src="data:x"> and <img alt=""><img>', "(image: a cat) and"),
    ("<script>var a = '<p>no</p>';</script><style>p{}</style>yes", "yes"),
    ("<nav>menu</nav><aside>more</aside>yes", "yes"),
    ("<nav>menu<p>all there is", "menu\n\nall there is"),
    ("<template><p>no</p></template><noscript>no</noscript><svg><text>no</text></svg>yes", "yes"),
    ("<div hidden>no<div>no</div>no</div><p aria-hidden=true>no</p>yes", "yes"),
    ('<span style="DISPLAY : NONE !important">no</span>yes', "yes"),
    ("<!-- no --><?php no ?>yes", "yes"),
    ('<div class="has-sidebar"><p>the whole page</p></div>', "the whole page"),
    ("<dl><dt>When</dt><dd>today</dd></dl>", "When\n\ntoday"),
    ("<main></main><p>text beside an empty main part</p>", "text beside an empty main part"),
]


@pytest.mark.parametrize(("html", "text"), PARTS)
def test_parts_of_pages(html: str, text: str) -> None:
    assert text_of(html) == text


def test_the_title_is_on_the_first_line() -> None:
    title, _ = read_page("<title> A\n title &amp; more </title><title>second</title>text", BASE)
    assert title == "A title & more\n"


@given(
    st.lists(
        st.sampled_from(
            [*"<>/!-=&;\"' ax", "<p", "<a href=", "<pre>", "</ul>", "<li>", "<nav>", "<td>", "<tr>", "<!--"]
        )
    )
)
@settings(deadline=None)
def test_any_text_is_read(parts: list[str]) -> None:
    text_of("".join(parts))


#: The pages that are also tested in the short form of this test. Each of the others takes seconds.
_QUICK = {"a megabyte of entities", "an entity bomb", "attributes", "comments", "nulls", "deep nesting"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in _QUICK else pytest.mark.long) for name in hostile()]
)
async def test_hostile_pages_end_within_the_limits(name: str) -> None:
    found = await DocumentReader(programs=GuardedPrograms()).read_page(hostile()[name], BASE)
    assert found.problem in {"", "the page takes too much time or memory to read", "the page needs too much memory"}
    assert len(found.text) <= 1_048_576


async def test_pages_are_read_in_the_sandbox() -> None:
    require("bwrap", "install bubblewrap (Debian: apt-get install bubblewrap)")
    sandbox = Bubblewrap()
    if (reason := await sandbox.refusal()) is not None:
        refused(reason)
    reader = DocumentReader(programs=GuardedPrograms(), sandbox=sandbox)
    found = await reader.read_page("<title>T</title><a href=/x>é", BASE)
    assert (found.title, found.text, found.whole) == ("T", "[é](https://example.com/x)", True)


@pytest.mark.parametrize(
    ("kind", "seconds", "memory"),
    [("html", child.PAGE_SECONDS, child.PAGE_MEMORY), ("pdf", child.SECONDS, child.MEMORY)],
)
def test_the_system_limits_the_child_program_before_it_reads(kind: str, seconds: int, memory: int) -> None:
    command = [sys.executable, "-I", "-B", child.__file__, kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            while resource.prlimit(process.pid, resource.RLIMIT_FSIZE) != (0, 0):  # the last limit that it sets
                assert process.poll() is None
            assert resource.prlimit(process.pid, resource.RLIMIT_CPU) == (seconds, seconds + 1)
            assert resource.prlimit(process.pid, resource.RLIMIT_DATA) == (memory, memory)
        finally:
            process.kill()
