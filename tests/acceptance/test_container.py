"""The image and the compose files. The steps of the Containerfile are executed in a root folder, so that no container
engine is needed."""

from __future__ import annotations

import os
import shlex
import subprocess
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.tags import parse_tag, sys_tags

from tests.acceptance.scratch_image import Builder, Stage, inside, run
from tests.architecture.test_installed_size import needed, of_arvis
from tests.architecture.tree import ROOT
from tests.parts import refused, require

#: The extras of the tested image.
EXTRAS = "telegram"
#: Files of an installed package that its wheel does not have.
_OF_THE_INSTALLER = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
#: Runs the container's command, checks its health, talks to it and stops it.
SCRIPT = """
{command} > /data/out 2> /data/err &
pid=$!
tries=0
until grep -q 'is ready' /data/out; do
  kill -0 $pid || {{ wait $pid; echo "code=$?"; cat /data/err; exit; }}
  tries=$((tries + 1)); [ $tries -lt 600 ] || exit 1
  sleep 0.1
done
{health} && echo "health=$?"
arvis chat hello
touch /opt/arvis/new 2> /dev/null || echo "program=read-only"
id -u
kill -TERM $pid
wait $pid
echo "code=$?"
"""


def wheel_of(name: str, folder: Path) -> None:
    """Write the wheel of an installed package, so that an installation needs no network."""
    found = distribution(name)
    tags = [line.partition(": ")[2] for line in (found.read_text("WHEEL") or "").splitlines() if line.startswith("Tag")]
    own = set(sys_tags())
    tag = next(tag for tag in tags if own & parse_tag(tag))
    normal = found.metadata["Name"].replace("-", "_").replace(".", "_").lower()
    inner = [file for file in found.files or [] if ".." not in file.parts and file.suffix != ".pyc"]
    with ZipFile(folder / f"{normal}-{found.version}-{tag}.whl", "w") as archive:
        files = [file for file in inner if file.name not in _OF_THE_INSTALLER and Path(str(file.locate())).is_file()]
        for file in files:
            archive.write(str(file.locate()), file.as_posix())
        about = next(file.parent for file in files if file.name == "WHEEL")
        archive.writestr(f"{about}/RECORD", "".join(f"{file.as_posix()},,\n" for file in [*files, about / "RECORD"]))


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    require("bwrap", "install bubblewrap (Debian: apt-get install bubblewrap)")
    if os.geteuid() != 0 or subprocess.run(["bwrap", "--ro-bind", "/", "/", "true"], check=False).returncode != 0:
        refused("only root may execute the steps of an image, and only where mounts are permitted")
    folder = tmp_path_factory.mktemp("image")
    wheels = folder / "wheels"
    wheels.mkdir()
    for name in of_arvis(EXTRAS) | needed(Requirement("hatchling"), set()):
        wheel_of(name, wheels)
    return Builder(folder, wheels, {"EXTRAS": EXTRAS}).build()


def started(image: Stage, volume: Path, **environ: str) -> str:
    """Run the container as its user, without capabilities, with a read-only root and a network of its own."""
    user, group = image.others["USER"].split(":")
    os.chown(volume, int(user), int(group))
    drop = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--bounding-set=-all", "--no-new-privs"]
    script = SCRIPT.format(command=shlex.join(image.command), health=shlex.join(image.health))
    mounts = ["--bind", str(volume), "/data", "--unshare-net", "--unshare-pid"]
    return run([*inside(image, writable=False), *mounts, *drop, "sh", "-c", script], image.environment | environ)


def test_the_image_answers_as_a_user_without_rights_and_with_a_read_only_root(image: Stage, tmp_path: Path) -> None:
    assert (image.others["VOLUME"], image.others["USER"]) == ("/data", "10001:10001")
    said = started(image, tmp_path, ARVIS__WEB__PASSWORD="a long password of a test").splitlines()
    assert said[0] == "health=0"
    assert "hello" in said[1]
    assert said[-3:] == ["program=read-only", "10001", "code=0"]
    assert (tmp_path / "arvis.db").stat().st_uid == 10001


def test_the_image_does_not_start_without_a_password(image: Stage, tmp_path: Path) -> None:
    said = started(image, tmp_path)
    assert "code=2" in said
    assert "no password or API key protects it" in said


def test_the_image_contains_the_program_and_nothing_of_its_build(image: Stage) -> None:
    assert not (image.root / "src").exists()
    assert [file.name for file in (image.root / "opt").iterdir()] == ["arvis"]
    packages = next((image.root / "opt" / "arvis" / "lib").glob("python*/site-packages"))
    assert (packages / "arvis" / "web" / "static" / "index.html.gz").exists()
    assert list((packages / "arvis" / "__pycache__").iterdir())
    assert (packages / "telegram").exists()
    assert not (packages / "discord").exists()


# -- compose -----------------------------------------------------------------------------------------------


def composed(*names: str) -> dict[str, Any]:
    """Return the services of compose files; a later file adds to an earlier one."""
    services: dict[str, Any] = {}
    for name in names:
        for service, more in yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["services"].items():
            before = services.setdefault(service, {})
            before |= {key: before[key] | value if key in before else value for key, value in more.items()}
    return services


def test_compose_starts_a_protected_service_that_only_this_machine_reaches() -> None:
    arvis = composed("compose.yaml")["arvis"]
    assert (arvis["read_only"], arvis["cap_drop"]) == (True, ["ALL"])
    assert arvis["security_opt"] == ["no-new-privileges:true"]
    assert arvis["ports"] == ["127.0.0.1:5070:5070"]
    assert arvis["volumes"] == ["data:/data"]
    assert arvis["environment"]["ARVIS__WEB__PASSWORD"].startswith("${ARVIS_PASSWORD:?")


def test_compose_with_postgresql_connects_to_its_service() -> None:
    services = composed("compose.yaml", "compose.postgres.yaml")
    database = urlsplit(services["arvis"]["environment"]["ARVIS__DATABASE"])
    server = services["postgres"]
    assert database.hostname in services
    assert (database.username, database.path) == (server["environment"]["POSTGRES_USER"], "/arvis")
    assert "ARVIS__WEB__PASSWORD" in services["arvis"]["environment"]
    assert "healthcheck" in server
    assert services["arvis"]["depends_on"]["postgres"] == {"condition": "service_healthy"}
