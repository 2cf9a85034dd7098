"""Passwords are hashed slowly, with limited memory, one at a time."""

from __future__ import annotations

import asyncio
import threading

import pytest

from arvis.domain.errors import TooMany
from arvis.process import secrets
from arvis.process.secrets import Argon2Passwords


async def test_a_password_matches_what_was_made_of_it_and_nothing_else() -> None:
    found = Argon2Passwords()
    kept = await found.hashed("correct horse, älter")
    assert kept.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert kept != await found.hashed("correct horse, älter")
    assert await found.matches("correct horse, älter", kept)
    assert await found.matches("correct horse, a\N{COMBINING DIAERESIS}lter", kept)
    for wrong in ("", "correct horse", "Correct horse, älter", "correct horse, älter\0", "\ud83d"):
        assert not await found.matches(wrong, kept)


async def test_nobody_matches_nothing() -> None:
    assert not await Argon2Passwords().matches("", None)


async def test_one_is_computed_at_a_time_whoever_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most, free = 0, 0, threading.Event()

    def slow(_: str) -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        free.wait(5)
        at_once -= 1
        return "kept"

    monkeypatch.setattr(secrets, "_hashed", slow)
    found = Argon2Passwords()
    tasks = [asyncio.create_task(found.hashed("x")) for _ in range(8)]
    await asyncio.sleep(0.05)
    for task in tasks[:4]:
        task.cancel()
    await asyncio.sleep(0.05)
    free.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results[4:] == ["kept"] * 4
    assert most == 1


async def test_a_flood_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    monkeypatch.setattr(secrets, "_matches", lambda *_: free.wait(5))
    found = Argon2Passwords()
    tasks = [asyncio.create_task(found.matches("x", "y")) for _ in range(100)]
    await asyncio.sleep(0.05)
    free.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    refused = [result for result in results if isinstance(result, TooMany)]
    assert 60 <= len(refused) < 100
    assert await found.matches("x", "y")
