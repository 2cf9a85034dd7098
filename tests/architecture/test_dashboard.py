"""The sources of the dashboard follow the project's rules, and its generated types match the routes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from arvis.web.http.static_files import ADDRESSES
from tests.architecture.tree import ROOT, lines_with, relative
from tests.fixtures.api_types import ROUTES, current

UI = ROOT / "arvis" / "web" / "ui"
SOURCES = sorted(file for file in (UI / "src").rglob("*.ts*") if file != ROUTES)

#: Code that could turn a user's text into markup or code.
DANGEROUS = re.compile(
    r"dangerouslySetInnerHTML|\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
)
ELSEWHERE = re.compile(r"""["'`]https?://""")
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(")
MOST_LINES = 300


async def test_the_types_of_the_api_are_those_of_the_routes() -> None:
    assert ROUTES.read_text(encoding="utf-8") == await current(), "run: python -m tests.fixtures.api_types"


def test_the_server_knows_the_pages_of_the_dashboard() -> None:
    pages = (UI / "src" / "pages" / "pages.ts").read_text(encoding="utf-8")
    assert set(re.findall(r'page\("/([a-z]+)', pages)) == ADDRESSES


def test_the_lock_names_no_address_but_checks_every_package() -> None:
    packages = json.loads((UI / "package-lock.json").read_text())["packages"]
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert not [name for name, package in packages.items() if name and "integrity" not in package]
    assert "omit-lockfile-registry-resolved=true" in (UI / ".npmrc").read_text()


def test_packages_are_pinned_and_a_build_needs_no_tools_of_checks() -> None:
    package = json.loads((UI / "package.json").read_text())
    locked = json.loads((UI / "package-lock.json").read_text())["packages"]
    pinned = {**package["dependencies"], **package["devDependencies"]}
    assert not [name for name, version in pinned.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)]
    tools = [name for name in package["devDependencies"] if not name.startswith("@types/")]  # libraries need some types
    assert not [name for name in tools if not locked[f"node_modules/{name}"].get("dev")]


def test_nothing_becomes_markup_or_comes_from_elsewhere() -> None:
    assert not lines_with(DANGEROUS, SOURCES)
    assert not lines_with(ELSEWHERE, SOURCES)


def test_colours_have_names() -> None:
    styles = [file for file in (UI / "src").rglob("*.css") if file.name not in {"tokens.css", "base.css"}]
    assert not lines_with(COLOUR, styles)


@pytest.mark.parametrize("file", SOURCES, ids=relative)
def test_a_file_is_read_in_one_sitting(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
