"""The command that installs an extra fits the program that made the environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from arvis.ports.extras import extras, install_command, is_installed, missing_package

METADATA = """Metadata-Version: 2.4
Name: arvis
Version: 9
Provides-Extra: parrot
Provides-Extra: here
Requires-Dist: pydantic
Requires-Dist: no-such-parrot>=2.7; extra == "parrot"
Requires-Dist: no-such-cage; extra == 'parrot'
Requires-Dist: pytest; extra == "here"
"""

RECEIPT = """[tool]
requirements = [
    { name = "arvis", extras = ["slack"], path = "/srv/my wheels/arvis.whl" },
    { name = "weather-tool", specifier = ">=1" },
    { name = "other-tool", git = "https://example.com/tool.git?rev=main" },
]
"""


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create the files of an environment in which Arvis is installed."""
    about = tmp_path / "site" / "arvis-9.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(METADATA)
    monkeypatch.syspath_prepend(about.parent)
    folder = tmp_path / "arvis"
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return folder


def test_pip_of_an_environment_that_is_not_active_is_called_by_its_path(environment: Path) -> None:
    assert install_command("parrot") == f"{environment}/bin/python -m pip install 'arvis[parrot]'"


def test_pip_of_an_active_environment_is_called_by_its_name(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (environment / "bin" / "pip").write_text("#!/bin/sh\n")
    (environment / "bin" / "pip").chmod(0o755)
    monkeypatch.setenv("PATH", f"{environment}/bin:/usr/bin")
    assert install_command("parrot") == "pip install 'arvis[parrot]'"


def test_an_environment_without_pip_needs_uv(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(environment.parent / "site")])
    monkeypatch.delitem(sys.modules, "pip", raising=False)
    assert install_command("parrot") == f"uv pip install --python {environment}/bin/python 'arvis[parrot]'"


def test_pipx_injects_the_packages_because_it_refuses_the_name_of_the_program(environment: Path) -> None:
    (environment / "pipx_metadata.json").write_text("{}")
    assert install_command("parrot") == "pipx inject arvis 'no-such-parrot>=2.7' no-such-cage"


def test_uv_keeps_the_source_the_extras_and_the_other_packages_of_a_tool(environment: Path) -> None:
    (environment / "uv-receipt.toml").write_text(RECEIPT)
    assert install_command("parrot") == (
        "uv tool install '--with=weather-tool>=1' '--with=other-tool @ git+https://example.com/tool.git?rev=main' "
        "'arvis[parrot,slack] @ /srv/my wheels/arvis.whl'"
    )


def test_an_error_names_the_command_for_an_extra_and_the_package_for_another_part() -> None:
    assert extras() == {"parrot", "here"}
    own = missing_package("The parrot", "no_such_parrot", "parrot")
    assert own.what == "The parrot needs the package no_such_parrot, which is not installed"
    assert own.fix.startswith("Install it with `")
    assert "arvis[parrot]" in own.fix
    other = missing_package("The owl", "owls", "owl")
    assert other.fix == "Install the package owls, then start Arvis again."


def test_an_extra_is_installed_when_all_its_packages_are() -> None:
    assert is_installed("here")
    assert not is_installed("parrot")
    assert is_installed("no extra")
