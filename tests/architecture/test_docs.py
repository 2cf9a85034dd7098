"""The documentation: every page is in the navigation, every link leads somewhere, and every command exists.

`make docs` also checks the links of the site, but takes longer and needs more packages.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import click
import pytest
import yaml

from arvis.cli.main import arvis
from tests.architecture.tree import ROOT, kept_files, relative
from tests.fixtures.docs_pages import api, commands, decisions, page_of, pages, site_links

DOCS = ROOT / "docs"
FRONT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md")
DOCUMENTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in FRONT} | {
    relative(file): file.read_text(encoding="utf-8") for file in sorted(DOCS.rglob("*.md"))
}

_FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_MENTIONED = re.compile(r"(?<![\w/.-])docs/(?:adr/\d{4}\b|[a-z/-]+\.(?:md|json|py)\b)")
#: Words of a test's example, which is no document.
_EXAMPLE = "docs/guide.md"
_ITEM = re.compile(r"\s*([-*]|\d+\.) ")


# -- the site ----------------------------------------------------------------------------------------------


def in_navigation(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from in_navigation(value) if isinstance(value, list) else [value]


def test_every_page_is_in_the_navigation_once() -> None:
    """The hook of the site adds the decisions below their list."""
    listed = sorted(in_navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    written = [name.removeprefix("docs/") for name in DOCUMENTS if name.startswith("docs/")]
    assert listed == sorted([*(page for page in written if not page.startswith("adr/")), *pages()])


def test_generated_pages_name_every_command_operation_and_decision() -> None:
    assert "\n### arvis workflows approve\n" in commands()
    assert "--note" in commands()
    operations = api()
    assert "\n### POST /api/messages\n" in operations
    assert "| `content` | string or null |" in operations
    assert "[Agent](#schema-agent)" in operations
    found = decisions()
    assert all(file.name in found for file in (DOCS / "adr").glob("*.md"))
    assert "`arvis/process/secrets.py`" in found


def test_links_of_a_page_lead_to_pages() -> None:
    text = "[a](docs/how-to/tools.md#approvals) [b](config.yaml) [c](docs/adr/) [d](https://example.com/x.md)"
    assert site_links(text, "ARCHITECTURE.md", "explanation/architecture.md") == (
        "[a](../how-to/tools.md#approvals) [b](../reference/configuration.md) [c](decisions.md) [d](https://example.com/x.md)"
    )
    assert page_of("docs/images/chat.png") == "images/chat.png"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_lists_are_lists_in_the_site_too(name: str) -> None:
    """Python-Markdown needs an empty line before a list, and four spaces before a paragraph inside one."""
    lines = _FENCED.sub("", DOCUMENTS[name]).splitlines()
    joined = [
        line
        for before, line in pairwise(lines)
        if _ITEM.match(line)
        and before.strip()
        and not before.startswith((" ", "#", "<!--"))
        and not _ITEM.match(before)
    ]
    shallow = [line for before, line in pairwise(lines) if not before.strip() and re.match(r" {1,3}\S", line)]
    assert joined == shallow == []


# -- links -------------------------------------------------------------------------------------------------


def prose(name: str) -> str:
    return _SPAN.sub("``", _FENCED.sub("", DOCUMENTS[name]))


def anchors(name: str) -> set[str]:
    """Return the anchors that the headings of a document have both in the repository and in the site."""
    return {anchor for heading in _HEADING.findall(_FENCED.sub("", DOCUMENTS[name])) if (anchor := _anchor(heading))}


def _anchor(heading: str) -> str:
    plain = re.sub(r"[^\w\s-]", "", heading.lower()).strip()
    repository, site = plain.replace(" ", "-"), re.sub(r"[-\s]+", "-", plain)
    return site if site == repository else ""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_leads_to_a_file_and_a_heading(name: str) -> None:
    broken = []
    for target, anchor in _LINK.findall(prose(name)):
        if "://" in target:
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) if target else name
        # Generated pages exist in the site only, and so does its first page.
        made = name == "docs/index.md" and path.removeprefix("docs/") in pages()
        if not (made or (ROOT / path).exists()) or (anchor and anchor not in anchors(path)):
            broken.append(f"{target}#{anchor}")
    assert broken == []


def test_documents_that_code_and_texts_mention_exist() -> None:
    kinds = {".py", ".md", ".ts", ".tsx", ".yaml", ".toml", ".sql", ".json"}
    mentioned = {
        (found, relative(file))
        for file in kept_files()
        if file.suffix in kinds
        for found in _MENTIONED.findall(file.read_text(encoding="utf-8"))
    }
    missing = {
        (found, file)
        for found, file in mentioned
        if not (ROOT / found).exists() and not list(ROOT.glob(f"{found}-*.md")) and found != _EXAMPLE
    }
    assert missing == set()


# -- commands ----------------------------------------------------------------------------------------------


def named_commands(text: str) -> Iterator[str]:
    """Yield each `arvis …` of a document: in spans of code, and at the start of lines in blocks."""
    for block in [*_FENCED.findall(text), *re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)]:
        joined = re.sub(r"\\\n\s*", " ", block)
        yield from re.findall(r"^\s*(?:\$ )?(?:\w+=\S+ )*(arvis [^\n]*)", joined, re.MULTILINE)
    for _, span in _SPAN.findall(_FENCED.sub("", text)):
        found = re.match(r"(?:\w+=\S+ )*(arvis .*)", " ".join(span.split()))
        if found:
            yield found[1]


def problem_of(command: str) -> str | None:
    """Return why a command cannot be run as it is written; arguments may be placeholders."""
    try:
        words = shlex.split(command, comments=True)[1:]
    except ValueError as error:
        return str(error)
    ends = [at for at, word in enumerate(words) if word in {"<", ">", "|", "&&", ";"}]
    words = [word.rstrip(",") for word in words[: ends[0] if ends else None]]
    found: click.Command = arvis
    context = click.Context(arvis, info_name="arvis")
    while isinstance(found, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        if name.isupper():
            return None  # a placeholder for any command
        inner = found.get_command(context, name)
        if inner is None:
            return f"no command {name!r}"
        found, context = inner, click.Context(inner, info_name=name, parent=context)
    try:
        _, rest, _ = found.make_parser(context).parse_args(words)
    except click.UsageError as error:
        return error.format_message()
    return f"unexpected {rest}" if rest else None


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "CHANGELOG.md"])
def test_every_command_exists_with_its_options(name: str) -> None:
    wrong = {command: problem for command in named_commands(DOCUMENTS[name]) if (problem := problem_of(command))}
    assert wrong == {}


def test_wrong_commands_are_found() -> None:
    text = "`arvis agents lst` and `arvis jobs list --sttus failed`\n\n    $ arvis agents show a b\n\n`arvis COMMAND --help`"
    assert [problem_of(command) for command in named_commands(text)] == [
        "unexpected ['b']",
        "no command 'lst'",
        "No such option '--sttus'. Did you mean '--status'?",
        None,
    ]


def test_the_guide_lists_every_command() -> None:
    """Each row of the table begins with a command; the words in code after it are its other subcommands."""
    rows = re.findall(r"^\| (`arvis [^|]*)\|", DOCUMENTS["docs/reference/command-line.md"], re.MULTILINE)
    listed: set[str] = set()
    for row in rows:
        first, *others = re.findall(r"`([^`]+)`", row)
        words = [word for word in first.split()[1:] if not word.startswith("[")]
        listed |= {" ".join(words), *(" ".join([*words[:-1], other]) for other in others)}
    assert listed == set(every_command(arvis))


def every_command(group: click.Group) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from (f"{name} {inner}" for inner in command.list_commands(click.Context(command)))
        else:
            yield name
