"""Finding an app by its name, `module:app`, as a command is given it."""

import importlib
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Final

from rookery.client.app import App

_HERE: Final = str(Path(__file__).parent)
_IMPORTING: Final = ("<frozen importlib", str(Path(importlib.__file__).parent))


class NoSuchApp(Exception):
    """There is no app of that name; the message says what is there instead."""


def load_app(name: str) -> App:
    """The app that `module:app` names; `module` alone means its `app`. The current directory is searched first."""
    module_name, _, attribute = name.partition(":")
    path = Path(module_name)
    if path.suffix == ".py":
        raise NoSuchApp(f"{module_name!r} is a file: name the module, like {path.stem}:{attribute or 'app'}")
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise NoSuchApp(f"{name!r} is not a name like module:app")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise NoSuchApp(f"there is no module {error.name!r} in {here} or among the installed packages") from None
        raise NoSuchApp(f"{module_name} needs a module that is not there: {error}") from error
    except Exception as error:
        raise NoSuchApp(f"{module_name} cannot be loaded\n{_own_part(error)}") from error
    found: object = module
    for part in (attribute or "app").split("."):
        if not hasattr(found, part):
            raise NoSuchApp(_not_there(module_name, attribute or "app", module))
        found = getattr(found, part)
    if not isinstance(found, App):
        raise NoSuchApp(f"{module_name}:{attribute or 'app'} is not an App, it is {_article(type(found).__name__)}")
    return found


def _not_there(module_name: str, attribute: str, module: object) -> str:
    apps = [name for name, value in vars(module).items() if isinstance(value, App)]
    hint = f" (it has: {', '.join(f'{module_name}:{app}' for app in apps)})" if apps else " (it has no App at all)"
    return f"module {module_name} has no {attribute!r}{hint}"


def _own_part(error: Exception) -> str:
    """Where it went wrong in the code of others: without this package, and without what imports modules."""
    said = traceback.TracebackException.from_exception(error)
    foreign = [frame for frame in said.stack if not frame.filename.startswith((_HERE, *_IMPORTING))]
    said.stack = traceback.StackSummary.from_list(foreign)
    return "".join(said.format() if foreign else said.format_exception_only()).rstrip()


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
