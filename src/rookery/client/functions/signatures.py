"""What a function takes, as the shape of a payload: arguments become JSON, and JSON arguments of the right types."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Final, get_type_hints

import msgspec

from rookery.client.functions.dependencies import Plan, depends_in
from rookery.client.values import json_of

FROM_THE_SERVER: Final = frozenset(
    {
        "previous_job_id",
        "previous_result",
        "previous_error",
        "exit_reason",
        "failed_job_id",
        "failed_step",
        "error",
        "batch",
    }
)
"""What chains and batches put into a payload; a function that does not name them need not take them."""

_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class InvalidPayload(Exception):
    """A payload does not fit the signature of the function that is to take it."""


class BadSignature(TypeError):
    """A function cannot be a job: its parameters cannot be said in JSON."""


def _load(kind: type, value: Any) -> Any:
    validate = getattr(kind, "model_validate", None)
    if validate is None:
        raise NotImplementedError(f"{kind.__name__} cannot be read from JSON")
    try:
        return validate(value)
    except ValueError as error:
        raise ValueError(_pydantic_text(error)) from None


def _pydantic_text(error: ValueError) -> str:
    """What pydantic finds wrong, in a line that names the fields."""
    errors: Callable[[], list[dict[str, Any]]] | None = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    return "; ".join(f"`{'.'.join(map(str, item.get('loc', ())))}`: {item.get('msg', '')}" for item in errors())


class Signature:
    """The payload of a function: a record with a field for each of its parameters that is not a dependency."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        hints = _type_hints(function, name)
        parameters = inspect.signature(function).parameters.values()
        self.injected = {p.name: d for p in parameters if (d := depends_in(hints.get(p.name, Any), p.default))}
        self._more = next((p for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD), None)
        named = []
        for parameter in parameters:
            if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
                raise BadSignature(f"{name}: {parameter} has no name a payload could use; use named parameters")
            if parameter.kind in _NAMED and parameter.name not in self.injected:
                named.append(parameter)
        self.fields = {p.name: hints.get(p.name, Any) for p in named}
        self.required = [p.name for p in named if p.default is p.empty]
        self._order = inspect.Signature([*named, self._more] if self._more else named)
        self.plan = Plan(self.injected, name)
        self._record = _record(name, named, self.fields)
        try:
            self._decoder = msgspec.json.Decoder(self._record, dec_hook=_load)
        except TypeError as error:
            raise BadSignature(f"{name}: {error}") from None
        self._is_positional = not self._more and all(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in named)
        self.is_plain = self._is_positional and not self.injected
        """Whether a call takes the payload's fields in order and nothing else."""

    def payload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments as a payload, by name; TypeError if the function would not take them."""
        for name in kwargs:
            if name in self.injected:
                raise TypeError(f"{self.name}: {name} is injected when the job runs, it cannot be enqueued")
        try:
            payload = self._order.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        if self._more:
            payload.update(payload.pop(self._more.name, {}))
        text = json_of(payload, f"{self.name}: the payload")
        try:
            self.read(text)
        except InvalidPayload as error:
            raise TypeError(str(error)) from None
        plain: dict[str, Any] = msgspec.json.decode(text)
        return plain

    def read(self, text: bytes | msgspec.Raw) -> Any:
        """A payload as a record whose fields have the types of the parameters. Raises InvalidPayload."""
        try:
            return self._decoder.decode(text)
        except msgspec.ValidationError as error:
            return self._read_again(text, error)
        except msgspec.DecodeError as error:
            raise InvalidPayload(f"{self.name}: the payload is not JSON: {error}") from None

    def _read_again(self, text: bytes | msgspec.Raw, first: msgspec.ValidationError) -> Any:
        """A payload with more in it than the function names: the rest of it, as the text it came in."""
        more = self._more_in(text)
        left_out = more.keys() - self.injected.keys() if self._more else more.keys() & FROM_THE_SERVER
        if not left_out:
            raise InvalidPayload(f"{self.name}: {_named_field(first)}") from None
        known = {name: value for name, value in _texts(text).items() if name not in left_out}
        try:
            return self._decoder.decode(msgspec.json.encode(known))
        except msgspec.ValidationError as error:
            raise InvalidPayload(f"{self.name}: {_named_field(error)}") from None

    def _more_in(self, text: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
        return {name: value for name, value in _texts(text).items() if name not in self.fields}

    def positional(self, text: bytes | msgspec.Raw) -> tuple[Any, ...]:
        """The arguments of a plain function."""
        values: tuple[Any, ...] = msgspec.structs.astuple(self.read(text))
        return values

    def keywords(self, text: bytes | msgspec.Raw) -> dict[str, Any]:
        """The arguments by name, without those that are injected."""
        record = self.read(text)
        arguments = {name: getattr(record, name) for name in self.fields}
        if self._more:
            arguments |= {name: self._plain(name, value) for name, value in self._more_in(text).items()}
        return arguments

    def _plain(self, name: str, text: msgspec.Raw) -> Any:
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            raise InvalidPayload(f"{self.name}: {error} - at `{name}`") from None


def _texts(text: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The fields of a payload as JSON; none if it is not an object."""
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return {}


def _named_field(error: msgspec.ValidationError) -> str:
    """What is wrong, with the field as the caller wrote it: `$.user.age` is `user.age`."""
    return str(error).replace("`$.", "`").replace("`$`", "the payload")


def _type_hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise BadSignature(f"{name}: {error} (the types of a job's parameters must be importable)") from None


def _same(value: Any) -> Any:
    return value


def _record(name: str, parameters: list[inspect.Parameter], types: dict[str, Any]) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in parameters:
        kind, default = types[parameter.name], parameter.default
        if default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind, msgspec.field(default_factory=partial(_same, default))))
    try:
        # kw_only lifts the rule that a field without a default may not follow one that has one.
        return msgspec.defstruct(f"PayloadOf_{name}", fields, kw_only=True, forbid_unknown_fields=True)
    except TypeError as error:
        raise BadSignature(f"{name}: {error}") from None
