"""`arvis knowledge`: commands for knowledge bases, whose documents agents search."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import CLEARED, all_options, changes, given, page_options
from arvis.cli.output import Output, Row, Table, at, fields, file_size, yes_or_no
from arvis.domain.errors import UsageError
from arvis.domain.knowledge import ENDINGS, LARGEST_DOCUMENT, DocumentStatus

_BASES = Table(
    "slug",
    "name",
    ("trusted", lambda base: yes_or_no(base["trusted"])),
    "indexed",
    "pending",
    "failed",
    ("agents", lambda base: ", ".join(base["agents"])),
    nothing="No knowledge bases.",
)
_DOCUMENTS = Table(
    "id",
    "status",
    "title",
    "location",
    ("size", lambda document: file_size(document["size"])),
    ("indexed", at("indexedAt")),
    "problem",
    nothing="No documents.",
)
_MS = 1_000
#: The timeout (seconds) of the upload of one file.
_TIMEOUT = 120.0
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def _milliseconds(text: str) -> int | object:
    if text == "":
        return CLEARED
    if text[-1] not in _UNITS or not text[:-1].isdecimal():
        raise click.BadParameter("write a number and a unit (m, h, d or w), such as 12h or 7d.")
    return int(text[:-1]) * _UNITS[text[-1]] * _MS


@click.group(cls=ApiCommands)
def knowledge() -> None:
    """List, show, create, update, fill and search knowledge bases."""


@knowledge.command("list")
def list_knowledge(*, api: Api) -> Output:
    """List all knowledge bases."""
    return _BASES.page(api.get("knowledge"))


@knowledge.command()
@click.argument("slug")
@click.option("--status", type=click.Choice([*map(str, DocumentStatus)][:-1]), help="Only documents with this status.")
@click.option("--text", help="Only documents whose title or location contains this text.")
@page_options
def show(*, api: Api, slug: str, **query: Any) -> Output:
    """Show one knowledge base with its documents, newest first."""
    base = api.get("knowledge", slug)
    page = api.get("knowledge", slug, "documents", query=query)
    cursor = page["nextCursor"]
    more = [f"There are more documents. Show them with --cursor {cursor}"] if cursor else []
    shown = fields(
        {name: value if value != "" else None for name, value in base.items()},
        "createdAt",
        "updatedAt",
        agents=", ".join(base["agents"]) or None,
    )
    return Output({**base, "documents": page}, shown, _DOCUMENTS.text(page["items"]), notes=more)


_details = all_options(
    click.option("--name", help="The name that people see."),
    click.option("--description", help="The topic of the documents. Agents read it to decide whether to search."),
    click.option(
        "--trusted/--untrusted",
        default=None,
        help="Trust the documents like an agent's own prompt. Use this only if no one except owners can change them.",
    ),
)


@knowledge.command()
@click.argument("slug")
@_details
def create(*, api: Api, **body: Any) -> Output:
    """Create a knowledge base. `arvis agents update AGENT --knowledge SLUG` assigns it to an agent."""
    made = api.post("knowledge", body=given(body))
    slug = made["slug"]
    return Output(made, f"The knowledge base {slug} is created. Add documents: `arvis knowledge add {slug} FILE`.")


@knowledge.command()
@click.argument("slug")
@_details
def update(*, api: Api, slug: str, **details: Any) -> Output:
    """Change the given fields of a knowledge base."""
    changed = api.patch("knowledge", slug, body=changes(details, "--name"))
    return Output(changed, f"The knowledge base {slug} is changed.")


@knowledge.command()
@click.argument("slug")
def delete(*, api: Api, slug: str) -> Output:
    """Delete a knowledge base with all its documents."""
    return Output(api.delete("knowledge", slug), f"The knowledge base {slug} is deleted.")


@knowledge.command()
@click.argument("slug")
@click.argument("sources", metavar="FILE|FOLDER|URL…", nargs=-1, required=True)
@click.option("--title", help="The title of the document (default: the title in it).")
@click.option(
    "--refresh",
    type=_milliseconds,
    metavar="DURATION",
    help="Fetch a web page again at this interval, such as 12h or 7d.",
)
def add(*, api: Api, slug: str, sources: tuple[str, ...], title: str | None, refresh: int | None) -> Output:
    """Add files, the files of folders, or web pages. A document with the same name is replaced.

    Unchanged files are not indexed again, so the same command brings a folder up to date. To let the daemon do
    this by itself, add the folder to `knowledge.folders` in config.yaml."""
    added: list[Row] = []
    failed: list[str] = []
    names: set[str] = set()
    for source in sources:
        if source.startswith(("http://", "https://")):
            body = given({"url": source, "title": title, "refresh": refresh})
            added.append(api.post("knowledge", slug, "documents", body=body, timeout=_TIMEOUT))
            continue
        if refresh is not None:
            raise click.UsageError("--refresh is only for web pages.")
        for name, file in _files(Path(source)):
            if name in names:
                failed.append(f"{file} was left out, because another of these files has the name {name}.")
                continue
            names.add(name)
            if file.stat().st_size > LARGEST_DOCUMENT:
                failed.append(f"{file} is larger than {file_size(LARGEST_DOCUMENT)} and was left out.")
                continue
            data = base64.b64encode(file.read_bytes()).decode()
            body = given({"name": name, "file": data, "title": title})
            added.append(api.post("knowledge", slug, "documents", body=body, timeout=_TIMEOUT))
    waiting = sum(each["status"] == DocumentStatus.PENDING for each in added)
    words = f"Documents added to {slug}: {len(added)}. Not indexed yet: {waiting}."
    return Output({"items": added}, words, notes=failed, failed=bool(failed))


@knowledge.command()
@click.argument("slug")
@click.argument("document")
def remove(*, api: Api, slug: str, document: str) -> Output:
    """Delete a document. DOCUMENT is its id, which `show` prints."""
    return Output(api.delete("knowledge", slug, "documents", document), f"The document {document} is deleted.")


@knowledge.command()
@click.argument("slug")
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--limit", type=click.IntRange(1, 50), default=5, show_default=True, help="The maximum number of results."
)
def search(*, api: Api, slug: str, text: tuple[str, ...], limit: int) -> Output:
    """Search a knowledge base, as agents do."""
    found = api.get("knowledge", slug, "search", query={"text": " ".join(text), "limit": limit})
    return Output(found, "\n\n".join(map(_result, found["items"])) or "Nothing was found.")


@knowledge.command()
@click.argument("slug")
@click.argument("document", required=False)
def refresh(*, api: Api, slug: str, document: str | None) -> Output:
    """Fetch or read a document again; without DOCUMENT, all web pages and all failed documents."""
    path = ("knowledge", slug, *(("documents", document) if document is not None else ()), "refresh")
    done = api.post(*path)
    return Output(done, f"Documents that Arvis reads again: {done['documents']}.")


def _result(found: Row) -> str:
    quoted = "\n".join(f"  {line}" for line in found["text"].splitlines())
    return f"[{found['mark']}] {found['source']} (score {found['score']:.4f})\n{quoted}"


def _files(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield the documents of a file or a folder with their names. Links and hidden files of a folder are left out."""
    if source.is_file():
        yield source.name, source
        return
    if not source.is_dir():
        raise UsageError(f"There is no file or folder {source}.", fix="Check the path.")
    for path, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(path, name)
            if not name.startswith(".") and file.suffix.lower() in ENDINGS and file.is_file() and not file.is_symlink():
                yield str(file.relative_to(source)), file
