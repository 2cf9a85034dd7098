"""Hooks of MkDocs for `make docs`: add the generated pages, point links at pages, and refuse pages that need a network."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from tests.fixtures.docs_pages import DECISIONS, pages, site_links

#: Parts of a page that a browser loads by itself.
_LOADED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of all decisions below their list."""
    adr = sorted(Path(config.docs_dir, "adr").glob("*.md"))
    for section in config.nav or []:
        for entries in section.values():
            for entry in entries if isinstance(entries, list) else []:
                if entry == {"Decisions": DECISIONS}:
                    entry["Decisions"] = [DECISIONS, *(f"adr/{file.name}" for file in adr)]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    source = page.file.src_uri
    return markdown if page.file.generated_by else site_links(markdown, f"docs/{source}", source)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    found = _LOADED.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} loads something from another host: {found[0]}")
    return output


def on_post_build(config: MkDocsConfig) -> None:
    print(f"The documentation is in {Path(config.site_dir) / 'index.html'}")  # noqa: T201 - the result of the command
