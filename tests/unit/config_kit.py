"""Helpers to read configurations in tests; each test has its own folder (fixture `empty_folder`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from arvis.config import Config, load
from arvis.domain.errors import ConfigError

CANARY = "canary-f00dfeedf00dfeed"


def read(text: str, environ: Mapping[str, str] | None = None) -> Config:
    Path("config.yaml").write_text(text, encoding="utf-8")
    return load(None, None, environ or {})


def refusal(text: str, environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        read(text, environ)
    assert caught.value.fix
    return f"{caught.value.what}\n{caught.value.why}\n{caught.value.fix}"
