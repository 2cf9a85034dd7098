"""Checks that other users of this machine and of the network have no access to stored data and secrets. `arvis doctor
--security` runs only this group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from arvis.cli.doctor.findings import Check, Group, Verdict, fail, ok, warn
from arvis.cli.doctor.scene import PLACEHOLDER, Scene
from arvis.config import Config, is_loopback
from arvis.config.values import MAKE_ONE, is_weak_key

#: The permissions of other users.
OTHERS = 0o077


def check_folder_mode(scene: Scene) -> Verdict | None:
    if not scene.folder.is_dir():
        return None
    mode = scene.folder.stat().st_mode & 0o777
    if mode & OTHERS:
        why = f"Its mode is {mode:04o}, so other users of this machine can look inside."
        return warn(f"{scene.folder} is not private", why, f"Run `chmod 700 {scene.folder}`.")
    return ok(f"{scene.folder} is private")


def check_file_modes(scene: Scene) -> Verdict | None:
    """Check that the files in the data folder are private, because a change of the folder's mode may expose them. If
    other users can read a file and open the folder, the finding is a failure. If they can read the file but not open
    the folder, it is a warning."""
    files = [file for file in private_files(scene.folder) if file.is_file()]
    if not files:
        return None
    exposed = [file for file in files if file.stat().st_mode & OTHERS]
    if not exposed:
        return ok("Key, database, backups and logs are private")
    why = f"Other users of this machine may read {', '.join(file.name for file in exposed[:5])}."
    fix = f"Run `chmod 600 {' '.join(str(file) for file in exposed[:5])}`."
    if scene.folder.stat().st_mode & OTHERS:
        return fail("Other users can read stored data", why, fix)
    return warn("Some files are not private", why, fix)


def check_secrets_in_file(scene: Scene) -> Verdict | None:
    file = scene.config.config_file
    if file is None:
        return None
    if not holds_secret(scene):
        return ok("The configuration file contains no secrets")
    fix = "Replace it with `env:NAME` or `file:PATH`. If other people could have read the secret, create a new one."
    if file.stat().st_mode & OTHERS:
        why = f"Its mode is {file.stat().st_mode & 0o777:04o}, so other users of this machine can read it."
        return fail(f"{file} contains a secret", why, fix)
    return warn(f"{file} contains a secret", "Every copy of the file contains the secret.", fix)


def check_api_keys(scene: Scene) -> Verdict | None:
    keys = [entry.key.get_secret_value() for entry in scene.config.web.api_keys]
    keys = [key for key in keys if key != PLACEHOLDER]
    if not keys:
        return None
    fix = f"Make new keys: {MAKE_ONE}"
    weak = sum(is_weak_key(key) for key in keys)
    if weak:
        why = f"{weak} of {len(keys)} keys in `web.api_keys` are short or have few different characters."
        open_to_others = not is_loopback(scene.config.web.host) or scene.config.web.public_url is not None
        return (fail if open_to_others else warn)("API keys can be guessed", why, fix)
    if max(Counter(keys).values()) > 1:
        return warn(
            "An API key is listed twice",
            "The entries may have different roles, and it is undefined which one applies.",
            "Remove one of the entries.",
        )
    return ok(f"API keys that cannot be guessed: {len(keys)}")


def check_encryption(scene: Scene) -> Verdict:
    web = scene.config.web
    public = urlsplit(web.public_url or "")
    if not is_loopback(web.host) and public.scheme != "https":
        why = f"`web.host` is {web.host}, and Arvis does not encrypt connections."
        fix = "Listen on 127.0.0.1 behind a proxy with TLS, and set web.public_url to its https:// address."
        return warn("Keys and messages can be read on the network", why, fix)
    if public.scheme == "http" and not is_loopback(public.hostname or ""):
        why = f"web.public_url is {web.public_url}."
        return warn(
            "Keys and messages can be read on the network",
            why,
            "Set up TLS on the proxy, and use https:// in `web.public_url`.",
        )
    return ok("Nothing leaves this machine unencrypted")


def check_user(scene: Scene) -> Verdict | None:
    """Report a daemon that runs as root, because a defect in the daemon would then affect the whole machine."""
    process = scene.system.proc / str(scene.daemon.pid) if scene.daemon is not None else None
    if process is None or not process.is_dir():
        return None
    if process.stat().st_uid == 0:
        why = "An attacker who exploits a defect in Arvis or in a tool gets all rights on this machine."
        return warn("The daemon runs as root", why, "Create a separate user for Arvis and run the daemon as this user.")
    return ok("The daemon does not run as root")


def holds_secret(scene: Scene) -> bool:
    """Return whether the configuration file contains a secret."""
    file = scene.config.config_file
    text = "" if file is None else file.read_text(encoding="utf-8", errors="replace")
    return any(secret in text for secret in _secrets(scene.config))


def private_files(folder: Path) -> Iterator[Path]:
    """Yield the files of the data folder that other users must not read; some may not exist."""
    yield from (
        folder / name for name in ("api-key", "secrets.key", "address", "arvis.db", "arvis.db-wal", "arvis.db-shm")
    )
    for name in ("backups", "logs", "aside"):
        if (folder / name).is_dir():
            yield from sorted((folder / name).iterdir())


def _secrets(config: Config) -> Iterator[str]:
    """Yield the values that must not be in the configuration file. The address of a database is one of these values
    only if it contains a password."""
    for secret in config.secrets() - {PLACEHOLDER}:
        if secret != config.postgres_url or urlsplit(secret).password:
            yield secret


GROUP = Group(
    "security",
    (
        Check("data_folder_mode", check_folder_mode),
        Check("file_modes", check_file_modes),
        Check("secrets_in_file", check_secrets_in_file),
        Check("api_keys", check_api_keys),
        Check("encryption", check_encryption),
        Check("daemon_user", check_user),
    ),
)
