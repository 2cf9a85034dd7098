"""Tool `get_variable`: returns a value that the owner has stored for tools (`arvis variables`).

No prompt contains such a value unless a model has asked for it.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from arvis.domain.accounts import Variable
from arvis.domain.errors import SecretLost, ToolError
from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.store import Transaction
from arvis.ports.tool import Tool, ToolServices
from arvis.tools.function import FunctionTool

#: If a model asks for a missing key, the error names at most this many existing keys.
_MOST_NAMED = 50

DECLARATION = ToolDeclaration(risk=Risk.READ, sensitive=True, own_output=True)


def create(services: ToolServices) -> Tool:
    async def get_variable(
        key: Annotated[str, Field(min_length=1, max_length=100, description="Name of the variable")],
    ) -> str:
        """Get the value of a variable stored by the owner, such as an address or the key of a service."""
        variable, others, owner = await services.store.read(_find, key)
        if owner is not None:
            raise ToolError(
                f"The variable {key} is the secret of the credential {owner}. Arvis inserts it into requests; no agent can read it."
            )
        if variable is None:
            known = f"Variables: {', '.join(others)}." if others else "There are no variables that may be listed."
            raise ToolError(f"There is no variable {key}. {known}")
        try:
            return services.secrets.open(variable.value) if variable.secret else variable.value
        except SecretLost as lost:
            raise ToolError(
                f"The variable {key} cannot be decrypted. {lost.why} Tell the person who runs this bot."
            ) from lost

    return FunctionTool(get_variable, DECLARATION)


def _find(tx: Transaction, key: str) -> tuple[Variable | None, list[str], str | None]:
    """Return the variable. If it does not exist, return None and the keys of the variables that are not secret. The last
    value is the name of the credential whose secret the variable is, or None."""
    found = tx.variables.get(key)
    others = [] if found is not None else tx.variables.after("", 2 * _MOST_NAMED)
    owner = next((each.name for each in tx.credentials.all() if each.variable == key), None) if found else None
    return found, [variable.key for variable in others if not variable.secret][:_MOST_NAMED], owner
