"""A backup with a passphrase: it cannot be read without the passphrase, and every change is noticed."""

from __future__ import annotations

import io
import tarfile
import threading
from pathlib import Path

import pytest

from arvis.domain.dataclass import replace
from arvis.domain.errors import BackupDamaged, BackupLocked
from arvis.store.backups import encryption
from arvis.store.backups.archive import verify_archive
from arvis.store.backups.folder import list_backups
from arvis.store.backups.making import back_up_to, make_backup
from arvis.store.backups.restore import restore, restore_newest
from arvis.store.open import Database
from tests.files.backup_kit import FILES, HASHES, MESSAGES, NOW, copied, everything, filled, said, say

PASSPHRASE = "correct horse battery staple"
KEY = b"the key that decrypts all secrets"
NEVER = threading.Event()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return filled(tmp_path_factory.mktemp("template") / "data")


@pytest.fixture
def database(template: Database, tmp_path: Path) -> Database:
    database = replace(copied(template, tmp_path / "data"), passphrase=PASSPHRASE)
    database.secrets_key.write_bytes(KEY)
    return database


def elsewhere(database: Database) -> Database:
    """Return an empty data folder on another machine, with the same configuration."""
    folder = database.folder.with_name("elsewhere")
    folder.mkdir()
    return replace(database, file=folder / "arvis.db", folder=folder)


def test_another_machine_gets_everything_with_the_key_of_the_secrets(database: Database) -> None:
    say(database, "hello")
    made = make_backup(database, NOW)
    assert (made.path.name, made.encrypted) == ("arvis-20270115T080000Z.tar.gz.enc", True)
    other = elsewhere(database)
    assert restore(other, made.path, NOW).missing == 0
    assert said(other) == ["hello"]
    assert other.secrets_key.read_bytes() == KEY
    assert other.secrets_key.stat().st_mode & 0o777 == 0o600
    assert [other.blobs.path(name).read_bytes() for name in HASHES] == list(FILES)


def test_a_backup_without_a_passphrase_contains_no_key(database: Database) -> None:
    made = make_backup(replace(database, passphrase=None), NOW)
    with tarfile.open(made.path) as tar:
        assert "secrets.key" not in tar.getnames()
    assert not made.encrypted


def test_it_is_listed_without_its_passphrase(database: Database) -> None:
    make_backup(database, NOW)
    [listed] = list_backups(replace(database, passphrase=None))
    assert (listed.created_at, listed.messages, listed.encrypted) == (NOW, MESSAGES, True)


def test_no_content_is_readable(database: Database) -> None:
    say(database, "a canary in the database")
    content = make_backup(database, NOW).path.read_bytes()
    for secret in (b"canary", FILES[0], KEY, HASHES[0].encode(), b"arvis.db", PASSPHRASE.encode()):
        assert secret not in content


@pytest.mark.parametrize(
    ("passphrase", "why"), [(None, "no passphrase is configured"), (PASSPHRASE + ".", "the passphrase is wrong")]
)
def test_another_passphrase_is_told_and_changes_nothing(database: Database, passphrase: str | None, why: str) -> None:
    made = make_backup(database, NOW)
    before = everything(database.folder)
    with pytest.raises(BackupLocked) as locked:
        restore(replace(database, passphrase=passphrase), made.path, NOW)
    assert (locked.value.why, "backup.passphrase" in locked.value.fix) == (why, True)
    assert everything(database.folder) == before


def test_each_backup_has_another_key_and_stream(database: Database) -> None:
    one, other = (back_up_to(database, database.folder / name, NOW, at_rest=True).path for name in ("one", "other"))
    assert one.read_bytes()[:250] != other.read_bytes()[:250]
    assert one.read_bytes()[-100:] != other.read_bytes()[-100:]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Make the pieces small, so that there are many, and the key cheap, so that a test is fast. Return the size of a
    piece."""
    monkeypatch.setattr(encryption, "PIECE", 2000)
    monkeypatch.setattr(encryption, "_MEMORY", 8192)
    monkeypatch.setattr(encryption, "_PASSES", 1)
    return 2000


def encrypted(content: bytes) -> bytes:
    out = io.BytesIO()
    with encryption.encrypting(out, encryption.Summary(NOW, None, 0, 0), PASSPHRASE) as stream:
        stream.write(content)
    return out.getvalue()


def decrypted(data: bytes) -> bytes:
    with encryption.decrypting(Path("backup"), io.BytesIO(data), PASSPHRASE) as stream:
        return stream.read()


@pytest.mark.parametrize("size", [0, 1, 1999, 2000, 2001, 6000, 6100])
def test_the_stream_returns_its_content(small: int, size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    assert decrypted(encrypted(content)) == content


def test_the_stream_notices_every_change_by_itself(small: int) -> None:
    """The archive inside has checksums of its own, but anyone could compute them again."""
    good = encrypted(bytes(3 * small + 10))
    start, sealed = good.index(b"}\n") + 2 + 24, small + 17
    pieces = [good[at : at + sealed] for at in range(start, len(good), sealed)]
    assert len(pieces) == 4
    one, two, three, last = pieces
    for order in ([two, one, three, last], [one, two, last], [one, two, three], [one, one, two, three, last], [last]):
        with pytest.raises(ValueError, match=r"changed|ends"):
            decrypted(good[:start] + b"".join(order))
    for data in (good + b"x", good[:-1], good[: start + 5], good[:-1] + bytes([good[-1] ^ 1]), good[: start - 1]):
        with pytest.raises(ValueError, match=r"changed|incomplete|end"):
            decrypted(data)


def test_every_changed_byte_and_every_cut_is_noticed(database: Database, tmp_path: Path, small: int) -> None:
    path = make_backup(database, NOW).path
    good, bad = path.read_bytes(), tmp_path / "bad"
    assert verify_archive(path, NEVER, PASSPHRASE).messages == MESSAGES
    start = good.index(b"}\n") + 2
    sealed = small + 17
    pieces = [good[at : at + sealed] for at in range(start + 24, len(good), sealed)]
    head = good[: start + 24]
    changed = [
        *(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(0, len(good), len(good) // 150)),
        *(good[:end] for end in range(0, len(good), len(good) // 100)),
        *(good[:end] for end in range(len(good) - 20, len(good))),
        good + b"x",
        good + pieces[-1],
        head + b"".join([pieces[1], pieces[0], *pieces[2:]]),
        head + b"".join([*pieces[:2], *pieces[3:]]),
        head + b"".join([*pieces[:2], pieces[1], *pieces[2:]]),
        good.replace(b'"messages":4', b'"messages":5'),
    ]
    assert len(pieces) > 10
    for content in changed:
        bad.write_bytes(content)
        with pytest.raises((BackupDamaged, BackupLocked)):
            verify_archive(bad, NEVER, PASSPHRASE)


def test_a_header_cannot_demand_any_amount_of_memory(database: Database, tmp_path: Path) -> None:
    good, bad = make_backup(database, NOW).path.read_bytes(), tmp_path / "bad"
    for old, new in ((b'"memory":67108864', b'"memory":99999999999'), (b'"passes":4', b'"passes":40')):
        assert old in good
        bad.write_bytes(good.replace(old, new))
        with pytest.raises(BackupDamaged, match="cannot be restored"):
            verify_archive(bad, NEVER, PASSPHRASE)


def test_the_key_of_the_replaced_database_goes_with_it(database: Database) -> None:
    made = make_backup(database, NOW)
    database.secrets_key.write_bytes(b"another key")
    restored = restore(database, made.path, NOW)
    assert database.secrets_key.read_bytes() == KEY
    assert restored.aside is not None
    assert (restored.aside / "secrets.key").read_bytes() == b"another key"


def test_an_equal_key_stays(database: Database) -> None:
    restored = restore(database, make_backup(database, NOW).path, NOW)
    assert restored.aside is not None
    assert not (restored.aside / "secrets.key").exists()
    assert database.secrets_key.read_bytes() == KEY


def test_a_damaged_database_is_replaced_by_an_encrypted_backup(database: Database) -> None:
    plain = make_backup(replace(database, passphrase=None), NOW)
    make_backup(database, NOW + 1000)
    restored = restore_newest(database, NOW)
    assert restored is not None
    assert restored.source.name.endswith(".enc")
    locked = restore_newest(replace(database, passphrase=None), NOW)
    assert locked is not None
    assert locked.source == plain.path
    assert [each.why for each in locked.passed_over] == ["no passphrase is configured"]
