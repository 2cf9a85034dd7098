"""The optional parts of this installation (extras), and the command that installs one.

The command depends on the program that made the environment of this process. pip, pipx and uv each install into another
place, and pipx and uv forget packages that another program has added.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution, metadata, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arvis.domain.errors import MissingPackage
from arvis.domain.regex import regex

_NAME = "arvis"
#: The name of a package at the beginning of a requirement.
_NAME_OF_PACKAGE = regex(r"[\w.-]+")
#: The files in which uv and pipx describe an environment that they made for a program.
_UV_RECEIPT, _PIPX_RECORD = "uv-receipt.toml", "pipx_metadata.json"


def missing_package(part: str, package: str, extra: str) -> MissingPackage:
    """Return the error about a part that needs a package which is not installed. If `extra` is no extra of Arvis, the
    part comes from another package, and the fix names only the missing package."""
    fix = f"Install it with `{install_command(extra)}`" if extra in extras() else f"Install the package {package}"
    what = f"{part} needs the package {package}, which is not installed"
    return MissingPackage(what, fix=f"{fix}, then start Arvis again.")


def extras() -> frozenset[str]:
    """Return the names of the extras of the installed Arvis; an empty set if Arvis runs without installation."""
    try:
        return frozenset(metadata(_NAME).get_all("Provides-Extra") or ())
    except PackageNotFoundError:
        return frozenset()


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the environment of this process. The command keeps the other extras."""
    environment = Path(sys.prefix)
    if (receipt := _read(environment / _UV_RECEIPT)) is not None:
        return _uv_tool_command(extra, receipt)
    if (environment / _PIPX_RECORD).is_file():
        return shlex.join(["pipx", "inject", environment.name, *_requirements_of(extra)])
    wanted = shlex.quote(f"{_NAME}[{extra}]")
    if find_spec("pip") is None:
        return f"uv pip install --python {shlex.quote(sys.executable)} {wanted}"
    if Path(shutil.which("pip") or "").parent == Path(sys.executable).parent:
        return f"pip install {wanted}"
    return f"{shlex.quote(sys.executable)} -m pip install {wanted}"


def is_installed(extra: str) -> bool:
    """Return False if a package that the extra needs is missing. A part that is no extra counts as installed."""
    return all(_is_there(_NAME_OF_PACKAGE.match(text)) for text in _requirements_of(extra))


def _is_there(name: re.Match[str] | None) -> bool:
    try:
        return name is None or bool(distribution(name[0]))
    except PackageNotFoundError:
        return False


def _read(file: Path) -> Mapping[str, Any] | None:
    """Return the content of a TOML file; None if it is missing or unreadable."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _requirements_of(extra: str) -> list[str]:
    """Return the requirements that an extra adds, such as `discord.py>=2.7`."""
    try:
        pairs = [text.partition(";") for text in requires(_NAME) or ()]
    except PackageNotFoundError:
        return []
    condition = f"extra=='{extra}'"
    return [wanted.strip() for wanted, _, marker in pairs if condition in marker.replace(" ", "").replace('"', "'")]


def _uv_tool_command(extra: str, receipt: Mapping[str, Any]) -> str:
    """Return the command by which uv installs Arvis again, with its present extras, source and other packages, and with
    this extra."""
    main: Mapping[str, Any] = {"name": _NAME}
    others: list[str] = []
    for each in receipt.get("tool", {}).get("requirements", []):
        if each["name"] == _NAME:
            main = each
        else:
            others.append(_requirement(each))
    wanted = _requirement({**main, "extras": sorted({*main.get("extras", ()), extra})})
    return shlex.join(["uv", "tool", "install", *(f"--with={each}" for each in others), wanted])


def _requirement(entry: Mapping[str, Any]) -> str:
    """Return an entry of uv's receipt as the text of a requirement."""
    chosen = f"[{','.join(entry['extras'])}]" if entry.get("extras") else ""
    places = [entry[key] for key in ("path", "directory", "editable", "url") if key in entry]
    places += [f"git+{entry['git']}"] if "git" in entry else []
    return f"{entry['name']}{chosen}{f' @ {places[0]}' if places else entry.get('specifier', '')}"
