"""Texts of a run that people or agents read.

In a run that has read untrusted text, a template could join inserted values to an address, such as a host and a
secret. So an address that several values make up is not a link (ADR 0071). An address stays a link if one value or the
author of the workflow wrote all of it, or if the author wrote it up to the values in its path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from arvis.domain.outgoing import addresses_in, texts_in
from arvis.domain.outgoing_links import Origin, Piece, SafeLinks, WrittenAddresses, without_joined
from arvis.domain.workflows import MADE, OUTPUT, SAID, as_text, has_made
from arvis.workflows.runtime import templates
from arvis.workflows.runtime.templates import PREVIOUS, TRIGGER, Known, Part
from arvis.workflows.runtime.token import Token

#: The kinds of nodes whose outputs contain no addresses that a script has made: agents and responses, because the links
#: of their texts are judged, and people.
_JUDGED = frozenset({"agent", "response", "user-input"})
_TOOL = "tool-call"


class Texts:
    """The texts of one visit of a node. `tainted` is True if the run has read untrusted text."""

    def __init__(self, state: Mapping[str, Any], token: Token, document: Mapping[str, Any], *, tainted: bool) -> None:
        self.known = templates.known_in(state, token)
        self._state = state
        self._token = token
        self._document = document
        self._kinds = {node["id"]: str(node["type"]) for node in document.get("nodes", ())}
        self._tainted = tainted

    def filled(self, text: str, known: Known | None = None) -> str:
        """Return the text with its templates replaced. `known` looks up the values instead of `Texts.known`."""
        return self._harmless(templates.parts(text, known or self.known))

    def shown(self, text: str, *, note: bool = False) -> str:
        """Return the text with its templates replaced, for people: it loads no image whose address the author has not
        written. With `note`, the text says that an address is not a link."""
        return self._for_people(templates.parts(text, self.known), note=note)

    def shown_output(self) -> str:
        """Return the output in the token as a text for people. The texts of agents and responses have been judged, also those
        that another node passed on."""
        output = self._token.output
        judged = not self._token.joined and self._kinds.get(self._token.source) in {"agent", "response"}
        if judged or output in [text for name, text in self._state.items() if name.startswith(SAID)]:
            return as_text(output)
        return self._for_people([(as_text(output), PREVIOUS)], note=isinstance(output, str))

    def error(self, text: str) -> str:
        """Return an error of the node. It may quote what the node sent, so only addresses that others wrote are links."""
        if not self._tainted:
            return text
        return SafeLinks(is_written=self._written.has, is_known=lambda _url: False, bare_hosts=True).replaced(text)

    # -- the parts of a filled text --------------------------------------------------------------------------------

    def _harmless(self, parts: Sequence[Part]) -> str:
        """Return the text of the parts without links that several values make up."""
        if not self._tainted:
            return "".join(part for part, _ in parts)
        pieces = [Piece(part, Origin.AUTHOR if name is None else self._origin_of(name)) for part, name in parts]
        return without_joined(pieces, self._written.has)

    def _for_people(self, parts: Sequence[Part], *, note: bool) -> str:
        made = self._harmless(parts)
        if not self._tainted:
            return made
        own = addresses_in("\n".join(part for part, name in parts if name is None))
        links = SafeLinks(is_written=lambda _url: True, is_known=lambda url: set() < addresses_in(url) <= own)
        made = links.replaced(made)
        return links.noted("".join(part for part, _ in parts), made) if note else made

    def _origin_of(self, name: str) -> Origin:
        """Return the origin of the value of a template."""
        if name == TRIGGER:
            made = self._state.get(MADE, False)
        elif name == PREVIOUS:
            sources = [source for source, _ in self._token.joined] or [self._token.source]
            made = any(map(self._is_made, sources))
        else:
            node, is_part = templates.place_in(name, self._state)
            # The text of an agent was judged before it was read as JSON, in which an address may be written in codes.
            is_coded = is_part and isinstance((self._state.get(OUTPUT + node) or {}).get("output"), str)
            made = self._is_made(node) or (is_coded and self._kinds.get(node) in _JUDGED)
        return Origin.MADE if made else Origin.VALUE

    def _is_made(self, node: str) -> bool:
        kept, kind = self._state.get(OUTPUT + node) or {}, self._kinds.get(node, "")
        if kind in _JUDGED:
            return False
        return bool(kept.get(MADE)) or (kind != _TOOL and has_made(self._state))

    @cached_property
    def _written(self) -> WrittenAddresses:
        """The addresses of the outputs that no script has made."""
        written = WrittenAddresses()
        for name, kept in self._state.items():
            if name.startswith(OUTPUT) and not self._is_made(name.removeprefix(OUTPUT)):
                for text, _ in texts_in([kept["output"]]):
                    written.read(text)
        if not self._state.get(MADE):
            written.read(self.known(TRIGGER) or "")
        for text, _ in texts_in(self._document):
            written.read(text)
        return written


def made_in(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the state of another run that notes that this run passes on the work of scripts."""
    return {MADE: True} if has_made(state) else {}


def has_agents(state: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Return True if an agent has worked in the run. Its scripts may have written files."""
    return any(OUTPUT + node["id"] in state for node in document.get("nodes", ()) if node["type"] == "agent")
