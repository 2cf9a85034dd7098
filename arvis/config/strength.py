"""Find secrets that can be guessed because they are too short or have too few different characters.

No list of common passwords is needed: a long and varied secret cannot be guessed over the network.
"""

from __future__ import annotations

#: Characters, and different ones among them.
_KEY = (24, 10)
_PASSWORD = (10, 5)
MAKE_ONE = "python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


def is_weak_key(key: str) -> bool:
    return _weak(key, *_KEY)


def is_weak_password(password: str) -> bool:
    return _weak(password, *_PASSWORD)


def key_rule() -> str:
    return f"an API key needs {_KEY[0]} characters, {_KEY[1]} of them different"


def password_rule() -> str:
    return f"a password needs {_PASSWORD[0]} characters, {_PASSWORD[1]} of them different"


def _weak(secret: str, least: int, varied: int) -> bool:
    return len(secret) < least or len(set(secret)) < varied
