"""Keys that this version reads and does not act upon yet: whoever sets one must hear of it.

A key leaves this list in the change that makes it work.
"""

from __future__ import annotations

from collections.abc import Iterator

from arvis.config.schema import Config

_SECTIONS = ("language",)


def ineffective_keys(config: Config) -> tuple[str, ...]:
    """Those that are set to something else than their default, as they are written."""
    return tuple(_ineffective(config))


def _ineffective(config: Config) -> Iterator[str]:
    fields = type(config).model_fields
    yield from (name for name in _SECTIONS if getattr(config, name) != fields[name].get_default())
