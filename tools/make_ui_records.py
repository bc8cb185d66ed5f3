"""Writes the records of the API as TypeScript, so that the web UI knows them as the server does."""

import sys
from pathlib import Path
from typing import Any, Final

from rookery.http.gate import API_ROUTES
from rookery.http.openapi import describe

TARGET: Final = Path(__file__).parent.parent / "ui/src/lib/records.ts"
_HEAD: Final = """\
/** The records of the API. Made by tools/make_ui_records.py from the server's own description: do not edit. */

import type { JsonText } from "./json";
"""
_PLAIN: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def main() -> None:
    """Write the file, or with --check only say whether it is as it should be."""
    if "--check" not in sys.argv:
        TARGET.write_text(render())
    elif TARGET.read_text() != render():
        sys.exit(f"{TARGET.name} is not what the server says: run `make ui`")


def render() -> str:
    """All records, by name."""
    schemas = describe(API_ROUTES)["components"]["schemas"]
    return "\n".join([_HEAD, *(_record(name, schemas[name]) for name in sorted(schemas))])


def _record(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    lines = [f"/** {schema['description']} */"] if "description" in schema else []
    lines.append(f"export interface {name} {{")
    for field, kind in schema.get("properties", {}).items():
        said = kind.get("description")
        lines += [f"  /** {said} */"] if said else []
        lines.append(f"  {field}{'' if field in required else '?'}: {_type(kind)};")
    return "\n".join([*lines, "}\n"])


def _type(kind: dict[str, Any]) -> str:
    if "$ref" in kind:
        return str(kind["$ref"].rpartition("/")[2])
    if "anyOf" in kind:
        return " | ".join(dict.fromkeys(_type(part) for part in kind["anyOf"]))
    if "enum" in kind:
        return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in kind["enum"])
    if "const" in kind:
        return f'"{kind["const"]}"'
    if kind.get("type") == "array":
        inner = _type(kind.get("items", {}))
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind.get("type") == "object":
        return f"Record<string, {_type(kind.get('additionalProperties', {}))}>"
    return _PLAIN.get(kind.get("type", ""), "JsonText")


if __name__ == "__main__":
    main()
