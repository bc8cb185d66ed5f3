"""Dependencies point downward only: a layer knows those below it and nothing of those above."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rookery

ROOT = Path(rookery.__file__).parent
ORDER = ["model", "store", "engine", "log", "node", "http", "cli"]
MAY_IMPORT = {layer: {*ORDER[:height], layer} for height, layer in enumerate(ORDER)}
MAY_IMPORT["client"] = {"client", "model"}
MAY_IMPORT["queuectl"] = {"queuectl", "model", "store", "engine", "client"}
FREE = {"rookery.cli.tables", "rookery.cli.figures"}
"""Modules that only know how text looks in a terminal; every command line may have them."""
MAY_IMPORT["testing"] = {"testing", "client", *ORDER[:-1]}
MAY_IMPORT["cli"] |= {"client", "queuectl"}

LAYERS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and any(path.glob("*.py")))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The modules of ours that a file imports, wherever in it, with their lines."""
    package = ["rookery", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.partition(".")[0] == "rookery")


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_lies_below_it(layer: str) -> None:
    assert layer in MAY_IMPORT, f"{layer} has no place among the layers"
    upward = []
    for path in sorted((ROOT / layer).rglob("*.py")):
        for line, name in imports(path):
            target = name.split(".")[1] if "." in name else ""
            is_free = layer == "queuectl" and name.rpartition(".")[0] in FREE
            if target in LAYERS and target not in MAY_IMPORT[layer] and not is_free:
                upward.append(f"{path.relative_to(ROOT)}:{line} imports {name}")

    assert upward == []


def test_the_model_needs_nothing_but_the_standard_library() -> None:
    foreign = [
        f"{path.name} imports {name}"
        for path in sorted((ROOT / "model").rglob("*.py"))
        for name in ("apsw", "msgspec", "starlette", "uvicorn", "httpx", "click")
        if name in {imported.partition(".")[0] for imported in all_imports(path)}
    ]

    assert foreign == []


def all_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
