"""The default install stays small: the total size of Arvis and its dependencies, without byte code, is limited."""

from __future__ import annotations

from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.tree import ROOT, kept_files

BUDGET_MB = 65
MB = 1_000_000


def needed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> set[str]:
    """Return the names of the distributions that `name` with these extras needs on this machine, including itself."""
    if (name, extras) in seen:
        return set()
    seen.add((name, extras))
    names = {name}
    for text in distribution(name).requires or []:
        requirement = Requirement(text)
        if _applies(requirement, extras):
            names |= needed(canonicalize_name(requirement.name), frozenset(requirement.extras), seen)
    return names


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras | {""})


def size_of(found: Distribution) -> int:
    """Return the bytes in the installer's record, without byte code, whose sizes it does not record."""
    return sum(file.size or 0 for file in found.files or [] if file.suffix != ".pyc")


def size_of_arvis() -> int:
    """Return the bytes of our own part of a wheel; the record of an editable install contains only a pointer."""
    inside = [file for file in kept_files() if file.relative_to(ROOT).parts[0] in {"arvis", "connectors", "migrations"}]
    travelling = [file for file in inside if not file.is_relative_to(ROOT / "arvis" / "web" / "ui")]
    built = [file for file in (ROOT / "arvis" / "web" / "static").rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in [*travelling, *built])


def test_the_default_install_fits_its_budget(figures: list[str]) -> None:
    names = needed("arvis", frozenset(), set())
    sizes = {name: size_of(distribution(name)) for name in names} | {"arvis": size_of_arvis()}
    total = sum(sizes.values()) / MB
    largest = sorted(sizes.items(), key=lambda size: size[1], reverse=True)[:10]
    figures.append(
        f"default install: {total:.1f} MB in {len(sizes)} distributions (budget {BUDGET_MB} MB), the largest: "
    )
    figures[-1] += ", ".join(f"{name} {size / MB:.1f}" for name, size in largest)
    assert total <= BUDGET_MB


def test_optional_parts_are_not_counted() -> None:
    assert needed("arvis", frozenset(), set()).isdisjoint({"psycopg", "uvloop", "pytest"})
