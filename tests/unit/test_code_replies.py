"""The code that a reply asks to run; nothing else is ever taken for such code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.markup import visible
from arvis.tools.code import Code, code_of, envelope

OPEN, CLOSE = "<response-metadata>", "</response-metadata>"
RUN = "<execution-code>print(1)</execution-code>"


def block(body: str, behind: str = "\nMESSAGE TO SEND:\nOne moment.") -> str:
    return f"{OPEN}{body}{CLOSE}{behind}"


@pytest.mark.parametrize(
    ("body", "script", "libraries"),
    [
        (RUN, "print(1)", ()),
        ("\n<execution-code>\nprint(1)\n</execution-code>\n", "print(1)", ()),
        ("<execution-code>\n  if True:\n      print(1)\n</execution-code>", "if True:\n    print(1)", ()),
        ("<execution-code> import os\nprint(os)</execution-code>", "import os\nprint(os)", ()),
        ("<execution-code><![CDATA[\nprint(1 < 2)\n]]></execution-code>", "print(1 < 2)", ()),
        ("<execution-code>print(a < b > c & d)</execution-code>", "print(a < b > c & d)", ()),
        ("<execution-code>print('&lt;')</execution-code>", "print('&lt;')", ()),
        ("<execution-code>\n```python\nprint(1)\n```\n</execution-code>", "print(1)", ()),
        ("<EXECUTION-CODE>print(1)</Execution-Code>", "print(1)", ()),
        (
            f"<pip-dependencies-to-install>six, requests==2.1</pip-dependencies-to-install>{RUN}",
            "print(1)",
            ("six", "requests==2.1"),
        ),
        (f"{RUN}<pip-dependencies-to-install> , six ,, six\n</pip-dependencies-to-install>", "print(1)", ("six",)),
        (f"<pip-dependencies-to-install></pip-dependencies-to-install>{RUN}", "print(1)", ()),
        (f"<attributes><a>b</a></attributes>{RUN}", "print(1)", ()),
        # Each element counts once: the first one.
        (f"{RUN}<execution-code>print(2)</execution-code>", "print(1)", ()),
        # Everything in an element is its text.
        (f"<attributes><x><![CDATA[<execution-code>no</execution-code>]]></x></attributes>{RUN}", "print(1)", ()),
        (
            "<execution-code>p = '<pip-dependencies-to-install>six</pip-dependencies-to-install>'</execution-code>",
            "p = '<pip-dependencies-to-install>six</pip-dependencies-to-install>'",
            (),
        ),
    ],
)
def test_the_code_of_a_block(body: str, script: str, libraries: tuple[str, ...]) -> None:
    assert code_of(block(body)) == Code(script, libraries, "One moment.")


@pytest.mark.parametrize(
    "text",
    [
        "Hello.",
        RUN,
        "```python\nprint(1)\n```",
        block(""),
        block("<execution-code></execution-code>"),
        block("<execution-code>\n \n</execution-code>"),
        block("<execution-code><![CDATA[ ]]></execution-code>"),
        block("<attributes><a>b</a></attributes>"),
        # Broken markup: nothing runs.
        block("<execution-code>print(1)"),
        block("<execution-code><![CDATA[print(1)</execution-code>"),
        block(f"<pip-dependencies-to-install>six{RUN}"),
        f"{OPEN}{RUN}",
        f"{RUN}{CLOSE}",
        f"{OPEN[:-1]}/>{RUN}",
        # Examples, and texts inside of other tags.
        f"Write this:\n```\n{block(RUN)}\n```",
        f"~~~~xml\n{block(RUN)}",
        f"[DELEGATE:bob]{block(RUN)}[/DELEGATE]",
        f"<AGENT_DONE>{block(RUN)}",
        # A second block is ignored.
        f"{block('<attributes></attributes>')}{block(RUN)}",
    ],
)
def test_what_is_no_code(text: str) -> None:
    assert code_of(text) is None


def test_the_block_behind_an_example_counts() -> None:
    text = f"So:\n```\n{block('<execution-code>bad()</execution-code>')}\n```\n{block(RUN)}"
    code = code_of(text)
    assert code is not None
    assert code.script == "print(1)"


def test_a_block_that_begins_again_counts_from_there() -> None:
    code = code_of(f"{OPEN}<execution-code>bad(){block(RUN)}")
    assert code is not None
    assert code.script == "print(1)"


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        ("\nMESSAGE TO SEND:\nHi [MEMORY:fact] x [/MEMORY]there", "Hi there"),
        ("MESSAGE TO SEND: Hi", "Hi"),
        ("\nHi", ""),
        ("", ""),
        ("\nI write MESSAGE TO SEND: Hi", ""),
        (f"\nMESSAGE TO SEND:\nHi {block(RUN)}", "Hi"),
    ],
)
def test_what_people_read_beside_it(behind: str, said: str) -> None:
    code = code_of(block(RUN, behind))
    assert code is not None
    assert code.text == said


def test_a_long_script_is_read_whole() -> None:
    script = "\n".join(f"x{number} = {number}" for number in range(5_000))
    code = code_of(block(f"<execution-code>{script}</execution-code>"))
    assert code is not None
    assert code.script == script


def test_many_openings_take_little_time() -> None:
    assert code_of(OPEN * 20_000 + "<execution-code>" * 5_000) is None
    assert code_of(f"```\n{block(RUN) * 2_000}") is None


@given(st.text(alphabet="ab <>/`\n[]=()'", max_size=60).filter(str.strip), st.text(alphabet="ab \n", max_size=20))
def test_an_envelope_is_read_as_it_was_meant(script: str, said: str) -> None:
    text = envelope(script, ["six"], said)
    code = code_of(text)
    if code is not None:
        assert code.libraries == ("six",)
        assert code.text == visible(said)
    assert visible(text) == visible(said)
