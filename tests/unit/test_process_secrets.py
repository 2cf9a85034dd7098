"""Sealed data opens with its own key only; another key gives a clear error."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from arvis.domain.errors import ConfigError, SecretLost
from arvis.process.secrets import SealedBox, secrets_key_file

CANARY = "canary-4711-ünïcode"


class Heard:
    def __init__(self) -> None:
        self.secrets: list[str] = []

    def __call__(self, secrets: Iterable[str]) -> None:
        self.secrets += secrets


def box(folder: Path, given: str | None = None, tell: Heard | None = None) -> SealedBox:
    return SealedBox(file=secrets_key_file(folder), given=given, tell=tell or Heard())


def new_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


def test_what_is_sealed_opens_again_after_a_restart(tmp_path: Path) -> None:
    sealed = box(tmp_path).seal(CANARY)
    assert box(tmp_path).open(sealed) == CANARY
    assert box(tmp_path).open(box(tmp_path).seal("")) == ""
    assert CANARY not in sealed
    assert sealed.isascii()
    assert sealed.isprintable()
    assert base64.b64encode(CANARY.encode()).decode() not in sealed


def test_the_key_is_made_when_something_is_first_sealed_and_is_private(tmp_path: Path) -> None:
    fresh = box(tmp_path)
    with pytest.raises(SecretLost, match="cannot be decrypted") as raised:
        fresh.open("v1.00000000.AAAA")
    assert "no key here" in raised.value.why
    assert list(tmp_path.iterdir()) == []
    umask = os.umask(0)
    try:
        fresh.seal(CANARY)
    finally:
        os.umask(umask)
    [file] = tmp_path.iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == ("secrets.key", 0o600)
    assert len(base64.b64decode(file.read_text().strip(), validate=True)) == 32


def test_the_same_text_is_never_sealed_alike(tmp_path: Path) -> None:
    assert box(tmp_path).seal(CANARY) != box(tmp_path).seal(CANARY)


def test_another_key_is_told_by_its_fingerprint(tmp_path: Path) -> None:
    right, wrong = new_key(), new_key()
    sealed = box(tmp_path, right).seal(CANARY)
    with pytest.raises(SecretLost) as raised:
        box(tmp_path, wrong).open(sealed)
    fingerprint = sealed.split(".")[1]
    assert fingerprint in raised.value.why
    assert "the key here is" in raised.value.why
    assert "encryption_key" in raised.value.fix
    assert "PostgreSQL" in raised.value.fix
    told = f"{raised.value} {raised.value.why} {raised.value.fix}"
    assert not {right, wrong, CANARY} & set(told.split())
    assert box(tmp_path, right).open(sealed) == CANARY
    assert list(tmp_path.iterdir()) == [], "a given key needs no file"


@pytest.mark.parametrize("place", [-2, -20, 20])
def test_what_was_changed_does_not_open(tmp_path: Path, place: int) -> None:
    sealed = box(tmp_path).seal(CANARY)
    letter = "A" if sealed[place] != "A" else "B"
    changed = sealed[:place] + letter + sealed[place:][1:]
    with pytest.raises(SecretLost) as raised:
        box(tmp_path).open(changed)
    assert "was changed" in raised.value.why


@pytest.mark.parametrize("sealed", ["", "v1", "v1..", "v2.00.AAAA", CANARY])
def test_what_was_never_sealed_does_not_open(tmp_path: Path, sealed: str) -> None:
    used = box(tmp_path)
    used.seal("x")
    with pytest.raises(SecretLost):
        used.open(sealed)


def test_a_key_file_that_holds_something_else_is_not_replaced(tmp_path: Path) -> None:
    secrets_key_file(tmp_path).write_text("no key")
    with pytest.raises(SecretLost) as raised:
        box(tmp_path).seal(CANARY)
    assert "does not contain a valid key" in raised.value.why
    assert secrets_key_file(tmp_path).read_text() == "no key"


def test_a_link_in_the_place_of_the_key_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(new_key())
    secrets_key_file(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SecretLost):
        box(tmp_path).seal(CANARY)


def test_a_folder_that_takes_no_key_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be stored"):
        box(tmp_path / "none").seal(CANARY)


@pytest.mark.parametrize("given", ["", "short", base64.b64encode(b"x" * 31).decode(), "ü" * 44])
def test_a_given_key_that_is_none_ends_the_start(tmp_path: Path, given: str) -> None:
    with pytest.raises(ConfigError, match="encryption_key") as raised:
        box(tmp_path, given)
    assert "base64" in raised.value.fix


def test_threads_that_seal_at_once_share_one_key(tmp_path: Path) -> None:
    used, sealed = box(tmp_path), list[str]()
    threads = [threading.Thread(target=lambda: sealed.append(used.seal(CANARY))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({text.split(".")[1] for text in sealed}) == 1
    assert {box(tmp_path).open(text) for text in sealed} == {CANARY}


def test_every_secret_that_passes_is_told_to_the_filter_of_the_logs(tmp_path: Path) -> None:
    heard = Heard()
    sealed = box(tmp_path, tell=heard).seal(CANARY)
    box(tmp_path, tell=heard).open(sealed)
    box(tmp_path, tell=heard).seal("abc")
    assert heard.secrets == [CANARY, CANARY]


def test_nothing_of_the_library_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, arvis.process.secrets as s; from pathlib import Path\n"
        "s.SealedBox(file=Path('x'), given=None, tell=print); print('nacl' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
