"""Regular expressions that are compiled at their first use.

The modules of Arvis contain about 300 constant expressions. Compiling them during the import would take a tenth of the
CPU time of the daemon's start, and an idle daemon uses only a few of them.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return an object with the methods and attributes of a compiled expression. The functions of `re` do not accept
    this object. An invalid `pattern` raises `re.error` at its first use; `tests/architecture/test_idle.py` checks all
    patterns."""
    return cast("re.Pattern[AnyStr]", _Expression(pattern, flags))


class _Expression(Generic[AnyStr]):
    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the compiled expression, and store it in this object, so that later uses do not call
        this method."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found
