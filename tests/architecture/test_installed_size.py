"""The default install stays small: the total size of Arvis and its dependencies, without byte code, is limited.

The requirements are read from `pyproject.toml`, because the metadata of an editable install may be older.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.tree import ROOT, kept_files

BUDGET_MB = 55
MB = 1_000_000

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
#: The extras whose packages `make test` does not install.
VOICE = {"voice", "voice-fast"}
TABLE = ROOT / "docs" / "how-to" / "install.md"
#: A size in the documentation may differ from the installed size by this part, because libraries grow.
TOLERANCE = 0.25


def of_arvis(*extras: str) -> set[str]:
    """Return the names of the distributions that Arvis with these extras needs on this machine, without itself."""
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in EXTRAS[extra])]
    names: set[str] = set()
    for requirement in map(Requirement, texts):
        if requirement.name == "arvis":
            names |= of_arvis(*sorted(requirement.extras))
        else:
            names |= needed(requirement, set())
    return names


def needed(requirement: Requirement, seen: set[tuple[str, frozenset[str]]]) -> set[str]:
    name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
    if (name, extras) in seen:
        return set()
    seen.add((name, extras))
    names: set[str] = {name}
    for inner in map(Requirement, distribution(name).requires or []):
        if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras | {""}):
            names |= needed(inner, seen)
    return names


def size_of(found: Distribution) -> int:
    """Return the bytes in the installer's record, without byte code, whose sizes it does not record."""
    return sum(file.size or 0 for file in found.files or [] if file.suffix != ".pyc")


def megabytes(names: Iterable[str]) -> float:
    return sum(size_of(distribution(name)) for name in names) / MB


def size_of_arvis() -> int:
    """Return the bytes of our own part of a wheel; the record of an editable install contains only a pointer."""
    inside = [file for file in kept_files() if file.relative_to(ROOT).parts[0] in {"arvis", "connectors", "migrations"}]
    travelling = [file for file in inside if not file.is_relative_to(ROOT / "arvis" / "web" / "ui")]
    built = [file for file in (ROOT / "arvis" / "web" / "static").rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in [*travelling, *built])


def test_the_default_install_fits_its_budget(figures: list[str]) -> None:
    sizes = {name: size_of(distribution(name)) for name in of_arvis()} | {"arvis": size_of_arvis()}
    total = sum(sizes.values()) / MB
    largest = sorted(sizes.items(), key=lambda size: size[1], reverse=True)[:10]
    figures.append(
        f"default install: {total:.1f} MB in {len(sizes)} distributions (budget {BUDGET_MB} MB), the largest: "
    )
    figures[-1] += ", ".join(f"{name} {size / MB:.1f}" for name, size in largest)
    assert total <= BUDGET_MB


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - VOICE))
def test_the_documentation_names_the_size_of_each_extra(extra: str, figures: list[str]) -> None:
    stated = re.search(rf"^\| `{extra}` \| .* \| ([\d.]+) MB", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert stated is not None
    try:
        added = megabytes(of_arvis(extra) - of_arvis())
    except PackageNotFoundError as missing:
        pytest.fail(f"{missing} is not installed; run make test", pytrace=False)
    figures.append(f"extra {extra}: {added:.1f} MB")
    assert abs(added - float(stated[1])) <= TOLERANCE * added


def test_optional_parts_are_not_counted() -> None:
    platforms = {"discord-py", "python-telegram-bot", "slack-bolt", "slack-sdk", "httpx"}
    assert of_arvis().isdisjoint({"psycopg", "mcp", "pytest", *platforms})


def test_the_extra_all_contains_all_but_the_browser_and_the_voice_engines() -> None:
    (alias,) = map(Requirement, EXTRAS["all"])
    assert alias.extras == EXTRAS.keys() - VOICE - {"all", "browser"}
