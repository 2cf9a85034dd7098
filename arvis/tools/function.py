"""A tool made of one typed function. The model gets the name, the docstring and the parameters of the function. The
schema that the model sees also serves to check the arguments of a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from arvis.domain.errors import ToolError
from arvis.domain.regex import regex
from arvis.domain.tools import ToolDeclaration, ToolSpec
from arvis.ports.tool import Caller

#: The name of an optional parameter of the function. Arvis itself passes its value; the model passes all other
#: arguments.
_CALLER = "caller"
_BLANKS = regex(r"\s+")


class FunctionTool:
    """A `Tool` made of `async def name(first: str, second: int = 3, *, caller: Caller) -> str`; `caller` may be
    missing. `Annotated[str, Field(description=..., max_length=...)]` describes and limits a parameter. `declared` are
    the fields of the declaration of a tool whose file has no constant `DECLARATION`."""

    def __init__(
        self, function: Callable[..., Awaitable[str]], declaration: ToolDeclaration | None = None, **declared: Any
    ) -> None:
        self._function = function
        self.declaration = declaration or ToolDeclaration(**declared)
        self._model = _model_of(function)
        self._wants_caller = _CALLER in inspect.signature(function).parameters
        self.risk = self.declaration.risk
        self.repeatable = self.declaration.repeatable
        self.sensitive = self.declaration.sensitive
        description = _BLANKS.sub(" ", inspect.getdoc(function) or "")
        self.spec = ToolSpec(function.__name__, description, _schema_of(self._model))

    def check(self, arguments: Mapping[str, Any]) -> None:
        self._read(arguments)

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str:
        read = self._read(arguments)
        given = {name: getattr(read, name) for name in type(read).model_fields}
        return await self._function(**given, **({_CALLER: caller} if self._wants_caller else {}))

    def _read(self, arguments: Mapping[str, Any]) -> BaseModel:
        try:
            return self._model.model_validate(arguments)
        except ValidationError as wrong:
            text = "; ".join(
                f"{'.'.join(map(str, error['loc'])) or 'arguments'}: {error['msg']}"
                for error in wrong.errors(include_url=False)
            )
            raise ToolError(f"The arguments are not valid. {text}.") from None


def _model_of(function: Callable[..., Awaitable[str]]) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if name != _CALLER
    }
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of the parameters. The titles that pydantic derives from the names of the parameters are
    removed, because they would cost tokens."""
    schema = model.model_json_schema()
    schema.pop("title", None)
    for parameter in schema.get("properties", {}).values():
        parameter.pop("title", None)
    return schema
