"""Web pages as text: which parts stay, which are left out, and the cost of hostile pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.tools.page_text import page_text

BASE = "https://example.com/docs/page.html"


def text_of(html: str, limit: int = 10_000) -> str:
    return page_text(html, base=BASE, limit=limit)[1]


PAGES = [
    ("", ""),
    ("plain", "plain"),
    ("<p>one</p><p>two</p>", "one\n\ntwo"),
    ("<p>one<p>two", "one\n\ntwo"),
    ("<div>one</div><div>two</div>", "one\ntwo"),
    ("<div><div><div>one</div></div></div>\n\n  two", "one\ntwo"),
    ("one<br>two<br/>three", "one\ntwo\nthree"),
    ("  a  \n b\t<b> c </b>d ", "a b c d"),
    ("<b>bold</b>face", "boldface"),
    ("a &lt;b&gt; &amp; &eacute; &#233; &#x1F600; &nbsp;c", "a <b> & é é 😀 c"),
    ("<h1>Title</h1>text<h3>Part</h3>more", "# Title\n\ntext\n\n### Part\n\nmore"),
    ("<ul><li>one<li>two</ul>after", "- one\n- two\n\nafter"),
    ("<ol><li>one</li><li>two</li></ol>", "1. one\n2. two"),
    ("<ul><li>one<ol><li>in</li></ol></li><li>two</li></ul>", "- one\n  1. in\n- two"),
    ("<ul><li></li><li>two</li></ul>", "- two"),
    ("<table><tr><th>a<th>b<tr><td>1<td>2</table>end", "a | b\n1 | 2\n\nend"),
    ("<pre>a\n  b\n\nc</pre>d", "a\n  b\n\nc\n\nd"),
    ('<a href="/x">here</a>', "here (https://example.com/x)"),
    ('see <a href="y.html?a=1&amp;b=2">here</a>, now', "see here (https://example.com/docs/y.html?a=1&b=2) , now"),
    ('<a href="http://other.example/">there</a>', "there (http://other.example/)"),
    ('<a href="#part">part</a>', "part"),
    ('<a href="page.html#part">part</a>', "part"),
    ('<a href="javascript:alert(1)">go</a>', "go"),
    ('<a href="mailto:a@b.c">mail</a>', "mail"),
    ('<a href="data:text/html,x">data</a>', "data"),
    ('<a href="http://[::1">bad</a>', "bad"),
    ('<a href="/x"></a>empty', "empty"),
    ('<a href="/x">one<a href="/y">two</a>', "one (https://example.com/x) two (https://example.com/y)"),
    (f'<a href="/{"x" * 400}">long</a>', "long"),
    ('<base href="http://b.example/c/"><a href="d">x</a>', "x (http://b.example/c/d)"),
    ('<img alt="a cat"> and <img alt=""><img>', "[a cat] and"),
    ("<script>var a = '<p>no</p>';</script>yes", "yes"),
    ("<style>p { color: red }</style>yes", "yes"),
    ("<nav><ul><li>menu</ul></nav>yes", "yes"),
    ("<nav>menu<p>all there is", "menu\n\nall there is"),
    ("<template><p>no</p></template><noscript>no</noscript>yes", "yes"),
    ("<svg><title>no</title><text>no</text></svg>yes", "yes"),
    ("<svg/>yes", "yes"),
    ("<iframe>no<iframe>no</iframe>no</iframe>yes", "yes"),
    ("<div hidden>no<div>no</div>no</div>yes", "yes"),
    ('<span style="display: none">no</span>yes', "yes"),
    ('<span style="DISPLAY:NONE !important">no</span>yes', "yes"),
    ("<!-- no --><!DOCTYPE html><?php no ?>yes", "yes"),
    ("<p>yes<!-- no", "yes"),
    ("<p>yes<a href='no", "yes"),
    ("yes</div></ul></p></nonsense>", "yes"),
    ("\ud800 yes", "\ud800 yes"),
]


@pytest.mark.parametrize(("html", "text"), PAGES)
def test_pages(html: str, text: str) -> None:
    assert text_of(html) == text


def test_the_title_is_told_apart() -> None:
    html = "<html><head><title> A\n title &amp; more </title><title>second</title></head><body>text</body></html>"
    title, text, more = page_text(html, base=BASE, limit=100)
    assert (title, more) == ("A title & more", False)
    assert text.endswith("text")


def test_reading_stops_when_there_is_enough() -> None:
    title, text, more = page_text("<title>T</title>" + "<p>word</p>" * 1000, base=BASE, limit=50)
    assert (title, more) == ("T", True)
    assert 50 < len(text) < 60


@pytest.mark.parametrize("piece", ["<!--", "<a", "<a x", "</", "<![CDATA[", "<!", "&", "&#x", "<script></x", "<div>"])
@pytest.mark.parametrize("end", ["", ">", "-->"])
def test_hostile_pages_end(piece: str, end: str) -> None:
    assert len(text_of(piece * 50_000 + end)) <= 10_000 + len(piece) * 50_000


@given(
    st.lists(st.sampled_from([*"<>/!-=&;\"' ax", "<p", "<a href=", "<pre>", "</ul>", "<li>", "<nav>", "<td>", "<!--"]))
)
def test_any_text_is_read(parts: list[str]) -> None:
    page_text("".join(parts), base=BASE, limit=1000)
