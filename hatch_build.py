"""Build hook: what a wheel needs beyond the packages. Standard library only, besides hatchling itself."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface[Any]):
    """Puts `migrations/` into the wheel as `arvis/_migrations`.

    An editable install reads them from the checkout. A `force-include` table would also be applied there and
    leave a copy that grows stale, so the hook decides.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"]["migrations"] = "arvis/_migrations"
