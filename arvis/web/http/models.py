"""Requests and responses as classes, from which `/openapi.json` and the types of the dashboard are made.

A `Body` is the content of a request, which pydantic checks. A `View` is the content of a response. It is plain data,
because values that the daemon creates need no check. Fields are snake_case in Python and camelCase in JSON. In the
document, the docstring of a class describes the class, and `About` describes a field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)
from pydantic.annotated_handlers import GetJsonSchemaHandler
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unprocessable
from arvis.web.http.requests import LONGEST_NAME, unusable
from arvis.web.http.schema import Schema, one_of, page_schema

T = TypeVar("T")

_PROBLEM, _UNKNOWN = "problem", "unknown_field"
#: The error texts for wrong values, by the type of pydantic's error.
_PROBLEMS: Mapping[str, str] = {
    "missing": "is missing",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
}
_MAX_WHOLE = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Says:
    """The error text for a value that does not have the annotated type, such as `must be 1 to 5 letters`."""

    problem: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.custom_error_schema(handler(source), _PROBLEM, custom_error_message=self.problem)


@dataclass(frozen=True, slots=True)
class Printable:
    """A name or an id: a text of 1 to `most` printable characters."""

    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(strict=True, min_length=1, max_length=self.most)
        checked = core_schema.no_info_after_validator_function(_printable, text)
        problem = f"must be 1 to {self.most} printable characters"
        return core_schema.custom_error_schema(checked, _PROBLEM, custom_error_message=problem)


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError
    return text


def About(text: str | None = None, **rules: Any) -> Any:  # noqa: N802 - it is written in annotations, like a type
    """Describe a field in the document. `rules` are keywords of JSON Schema for rules that only the handler checks. The
    handler has its own errors for them."""
    about: dict[str, Any] = {"description": text, "json_schema_extra": rules}
    return Field(**{name: part for name, part in about.items() if part})


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class _Clearing:
    """The mark of a field in which null is a value. In all other fields, null equals an absent field."""


CLEARING = _Clearing()
#: The default of a field that a view can omit.
ABSENT: Any = None
#: The annotation of a field that is a member of an enumeration. A body contains the value of the member.
MEMBER = Field(strict=False)

Time = Annotated[int, About("Milliseconds since the epoch (UTC).")]
Label = Annotated[str, Printable(200)]
Whole = Annotated[int, Field(ge=0, le=_MAX_WHOLE), Says("must be a whole number from 0")]
#: The first ms of the years 1600 and 9999, which are the limits of accepted times. Other times cannot be shown as days
#: in every time zone.
_FIRST_MOMENT, _LAST_MOMENT = -11_676_096_000_000, 253_370_764_800_000
Moment = Annotated[
    int,
    Field(ge=_FIRST_MOMENT, le=_LAST_MOMENT),
    Says("must be a time in ms since the epoch, in the years 1600 to 9998"),
]
Texts = Annotated[list[str], Says("must be a list of strings")]
AnyObject = dict[str, Any]


@dataclass_transform(kw_only_default=True, eq_default=False)
class Body:
    """The fields that a client has sent, and the defaults of all other fields. Pydantic checks a body. The checks of a
    class are built at their first use, because building all checks would delay the start of the daemon."""

    _built: ClassVar[type[BaseModel]]

    def __init__(self, **fields: Any) -> None:
        self.__dict__ = fields

    @classmethod
    def read(cls, values: Mapping[str, Any], *, lenient: bool = False) -> Self:
        """Return the body with these values. Raise `Unprocessable` for the first wrong field. The error contains no
        value, because a value can be a secret. With `lenient`, unknown fields are ignored."""
        try:
            return cls._sent(cls._checks().model_validate(values, context=lenient))
        except ValidationError as error:
            refused = _refusal(error)
        raise refused

    @classmethod
    def _checks(cls) -> type[BaseModel]:
        if "_built" not in vars(cls):
            cls._built = _build_checks(cls)
        return cls._built

    @classmethod
    def _sent(cls, checked: BaseModel) -> Self:
        return cls(**{name: value for name, value in checked if name in checked.model_fields_set})

    def sent(self) -> dict[str, Any]:
        """Return the fields that the client has sent, by their names in Python. A null is included only if the field is
        `CLEARING`."""
        return dict(self.__dict__)

    def __repr__(self) -> str:
        """Return only the names of the fields, because a value can be a secret."""
        return f"{type(self).__name__}({', '.join(self.__dict__)})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls._sent, handler.generate_schema(cls._checks()))


class _Checks(BaseModel):
    """The checks of a body. Unknown fields are refused, because a misspelt field would otherwise be ignored
    silently."""

    model_config = ConfigDict(alias_generator=camel, extra="forbid", hide_input_in_errors=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _present(cls, values: Any, info: ValidationInfo) -> Any:
        """Refuse unknown fields; if `info.context` is true, remove them instead. Also remove each field that is null,
        because null equals an absent field. Keep the null of a field that is `CLEARING`."""
        if not isinstance(values, dict):
            return values
        fields = {camel(name): CLEARING in field.metadata for name, field in cls.model_fields.items()}
        for name in values:
            if name not in fields and not info.context:
                raise PydanticCustomError(_UNKNOWN, _UNKNOWN, {"name": name, "known": ", ".join(sorted(fields))})
        return {name: value for name, value in values.items() if name in fields and (value is not None or fields[name])}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the optional fields without null, because `for_bodies` adds null to all of them. Only the fields
        that are `CLEARING` keep null."""
        described = handler.resolve_ref_schema(handler(schema))
        del described["title"]
        described.setdefault("required", [])
        for name, field in cls.model_fields.items():
            if not field.is_required() and CLEARING not in field.metadata:
                _without_null(described["properties"][camel(name)])
        return described


def _build_checks(body: type[Body]) -> type[BaseModel]:
    hints = get_type_hints(body, include_extras=True)
    fields: dict[str, Any] = {}
    for kind in reversed(body.__mro__[: body.__mro__.index(Body)]):
        # The class that annotates a field last decides whether the field has a default.
        fields |= {name: (hints[name], vars(kind).get(name, ...)) for name in vars(kind).get("__annotations__", ())}
    return create_model(body.__name__, __base__=_Checks, __doc__=vars(body)["__doc__"], **fields)


def _without_null(described: Schema) -> None:
    kinds = [kind for kind in described.pop("anyOf", ()) if kind != {"type": "null"}]
    for name, part in (kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}).items():
        described.setdefault(name, part)


def _refusal(error: ValidationError) -> Unprocessable:
    """Return the error for the client. It names the first unknown field; if all fields are known, it names the first
    wrong field."""
    found = error.errors(include_url=False, include_input=False)
    first = next((each for each in found if each["type"] == _UNKNOWN), found[0])
    kind, context = first["type"], first.get("ctx", {})
    parts = [part for part in first["loc"] if isinstance(part, str)]
    if kind == _UNKNOWN:
        name = ".".join([*parts, context["name"]])[:LONGEST_NAME]
        fix = f"The known fields are {context['known']}."
        return Unprocessable(f"There is no field `{name}` here.", fix=fix, code=_UNKNOWN)
    if kind == "enum":
        problem = "must be one of " + context["expected"].replace(" or ", ", ").replace("'", "")
    else:
        problem = first["msg"] if kind == _PROBLEM else _PROBLEMS.get(kind, "is not valid")
    return unusable(".".join(parts)[:LONGEST_NAME], problem)


_Reader = Callable[[object, Mapping[str, Any]], dict[str, Any]]


def _reader(names: Mapping[str, str], given: Sequence[str]) -> _Reader:
    """Return a function that builds the JSON of a view from the `given` fields and, for all other fields, from the
    attributes of an object. The function is compiled, because lists have hundreds of views and a loop over the names
    would take twice as long."""
    parts = (f"{json!r}: " + (f"given[{name!r}]" if name in given else f"shown.{name}") for name, json in names.items())
    read: _Reader = eval(f"lambda shown, given: {{{', '.join(parts)}}}")  # noqa: S307 - only names of fields
    return read


@dataclass_transform(kw_only_default=True, eq_default=False)
class View:
    """The fields of a response. A field with the default `ABSENT` is omitted unless its value is given."""

    #: The names of the fields in JSON, by their names in Python.
    _names: ClassVar[Mapping[str, str]] = {}
    #: The compiled functions that `showing` calls, by the names of the given fields.
    _readers: ClassVar[dict[tuple[str, ...], _Reader]] = {}
    _optional: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = vars(cls).get("__annotations__", {})
        optional = own.keys() & vars(cls).keys()
        for name in optional:
            delattr(cls, name)
        cls._optional |= optional
        cls._names = {**cls._names, **{name: camel(name) for name in own}}
        cls._readers = {}

    def __init__(self, **fields: Any) -> None:
        names = self._names
        self._json: dict[str, Any] = {names[name]: value for name, value in fields.items()}

    @classmethod
    def showing(cls, shown: object, /, **others: Any) -> Self:
        """Return a view. The values of its fields are `others` and, for all other fields, the attributes of `shown`
        with the same names."""
        given = tuple(others)
        if (read := cls._readers.get(given)) is None:
            read = cls._readers[given] = _reader(cls._names, given)
        view = cls.__new__(cls)
        view._json = read(shown, others)  # noqa: SLF001 - a field of this class
        return view

    def to_json(self) -> dict[str, Any]:
        """Return the view as a JSON object. Its values can contain other views."""
        return self._json

    def __getattr__(self, name: str) -> Any:
        if name not in self._names:
            raise AttributeError(name)
        return self._json[self._names[name]]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        hints = get_type_hints(cls, include_extras=True)
        fields = {
            name: core_schema.typed_dict_field(
                handler.generate_schema(hints[field]), required=field not in cls._optional
            )
            for field, name in cls._names.items()
        }
        return core_schema.typed_dict_schema(fields, cls=cls)


class Page(View, Generic[T]):
    """A page of a list, and the cursor of the next page."""

    items: list[T]
    next_cursor: str | None


class OkView(View):
    ok: bool


DONE = OkView(ok=True)


class _Describe(GenerateJsonSchema):
    """The generator of JSON Schemas for the OpenAPI document. The component of a view has the name of the view's class,
    without `View`."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's name
        return False

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        described = super().typed_dict_schema(schema)
        return {**described, "title": described["title"].removesuffix("View")}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        described = super().dict_schema(schema)
        return {name: part for name, part in described.items() if part is not True}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if described.get("default", "") is None:
            del described["default"]
        return described


def schema_of(kind: Schema | type[Body | View]) -> Schema:
    """Return the JSON Schema of a class, including the schemas of the classes that its fields use."""
    if isinstance(kind, dict):
        return kind
    if get_origin(kind) is Page:
        return page_schema(schema_of(get_args(kind)[0]))
    described = TypeAdapter(_build_checks(kind) if issubclass(kind, Body) else kind).json_schema(
        schema_generator=_Describe
    )
    inlined: Schema = _inlined(described, described.pop("$defs", {}))
    return inlined


def _inlined(part: Any, shared: Mapping[str, Any]) -> Any:
    """Replace each reference by its schema in `shared`. The schema of an enumeration lists only the members."""
    if isinstance(part, list):
        return [_inlined(each, shared) for each in part]
    if not isinstance(part, dict):
        return part
    own = {name: _inlined(each, shared) for name, each in part.items() if name != "$ref"}
    if not isinstance(part.get("$ref"), str):
        return own
    found = shared[part["$ref"].rpartition("/")[2]]
    return {**(one_of(found["enum"]) if "enum" in found else _inlined(found, shared)), **own}
