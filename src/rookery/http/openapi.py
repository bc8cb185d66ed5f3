"""The description of the API, made from the same records that parse the requests."""

import re
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from rookery import __version__
from rookery.http.call import Answer, Call, Route
from rookery.http.errors import not_found

_REF: Final = "#/components/schemas/{name}"
_PATH_PARAMETER: Final = re.compile(r"{(\w+)}")
_REQUIRED: Final = re.compile(r"Required(\.|:|$)")
_CACHED: Final = ((b"cache-control", b"public, max-age=300"),)


class ErrorAnswer(msgspec.Struct):
    """What went wrong."""

    error: str
    code: str


def describe(routes: list[Route]) -> dict[str, Any]:
    """The OpenAPI document for these routes."""
    types = [ErrorAnswer]
    for route in routes:
        types += [
            route.request,
            *route.frames,
            *(answer for answer in route.answers.values() if not isinstance(answer, str)),
        ]
    types = [type for type in types if type is not None]
    schemas, components = msgspec.json.schema_components(types, schema_hook=_any_json, ref_template=_REF)
    schema_of = {str(type): schema for type, schema in zip(types, schemas, strict=True)}
    changes = {route.request.__name__ for route in routes if route.method == "PUT"}
    for name, schema in components.items():
        if name not in changes:
            _mark_required(schema)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rookery",
            "version": __version__,
            "description": "A job server: enqueue jobs, work on them, manage them.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{}, {"key": []}, {"bearer": []}],
    }


def _operation(route: Route, schema_of: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}_{re.sub(r'[^a-z0-9]+', '_', route.path.removeprefix('/api/v1/'))}",
        "tags": [route.tag],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in _PATH_PARAMETER.findall(route.path)
        ]
        + [
            {
                "name": parameter.name,
                "in": parameter.place,
                "required": False,
                "description": parameter.description,
                "schema": {"type": parameter.type},
            }
            for parameter in route.parameters
        ],
        "responses": {str(status): _response(answer, schema_of) for status, answer in route.answers.items()},
    }
    operation["responses"]["default"] = {
        "description": "What went wrong",
        "content": {"application/json": {"schema": schema_of[str(ErrorAnswer)]}},
    }
    if route.description:
        operation["description"] = route.description
    if route.frames:
        operation["x-frames"] = [schema_of[str(frame)] for frame in route.frames]
    if route.request is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": schema_of[str(route.request)]}}}
    return operation


def _response(answer: Any, schema_of: dict[str, Any]) -> dict[str, Any]:
    if answer is None:
        return {"description": "Nothing"}
    if isinstance(answer, str):
        return {"description": "A stream", "content": {answer: {"schema": {"type": "string"}}}}
    return {"description": "Done", "content": {"application/json": {"schema": schema_of[str(answer)]}}}


def _mark_required(schema: dict[str, Any]) -> None:
    """Fields are optional to the parser, so that what is missing gets a clear error; here they say what they are."""
    required = [
        name
        for name, property in schema.get("properties", {}).items()
        if _REQUIRED.match(property.get("description", ""))
    ]
    if required:
        schema["required"] = sorted({*schema.get("required", ()), *required})


def _any_json(type: type) -> dict[str, Any]:
    """Values that are passed through as they are may be any JSON."""
    if type is msgspec.Raw:
        return {}
    raise NotImplementedError


def docs_routes(routes: list[Route]) -> list[Route]:
    """The document itself, and a page that shows it."""

    @cache
    def document() -> bytes:
        """Made when somebody asks for it: few do, and every start would wait for it."""
        return msgspec.json.encode(describe(routes))

    page = (files("rookery.http") / "docs.html").read_bytes()

    async def openapi(call: Call) -> Answer:
        """The OpenAPI document."""
        if not call.settings.docs_enabled:
            raise not_found("not found")
        return Answer(200, document(), headers=_CACHED)

    async def docs(call: Call) -> Answer:
        """The documentation as a page."""
        if not call.settings.docs_enabled:
            raise not_found("not found")
        return Answer(200, page, content_type=b"text/html; charset=utf-8")

    return [
        Route(method="GET", path="/openapi.json", handler=openapi, summary="", answers={}, is_public=True),
        Route(method="GET", path="/docs", handler=docs, summary="", answers={}, is_public=True),
    ]
