"""Finding an app by its name, `module:app`, as a command is given it."""

import importlib
import sys
import traceback
from pathlib import Path
from typing import Final

import rookery
from rookery.client.functions.app import App
from rookery.client.functions.running import error_text

_HIDDEN: Final = (str(Path(rookery.__file__).parent), str(Path(importlib.__file__).parent), "<frozen importlib")


class NoSuchApp(Exception):
    """There is no app of that name; the message says what is there instead, `backtrace` where its code went wrong."""

    def __init__(self, message: str, backtrace: str = "") -> None:
        super().__init__(message)
        self.backtrace = backtrace


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
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise NoSuchApp(f"there is no module {error.name!r} in {here} or among the installed packages") from None
        raise NoSuchApp(f"{module_name} needs a module that is not there: {error}{_place(error)}") from None
    except Exception as error:
        raise NoSuchApp(f"cannot load {module_name}: {error_text(error)}", _backtrace(error)) from None
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


def _place(error: Exception) -> str:
    """The line of the user's code that raised it."""
    frames = _own_frames(traceback.TracebackException.from_exception(error))
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def _backtrace(error: Exception) -> str:
    """Where it came from, with nothing but the user's code."""
    said = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = said
    while part is not None:
        part.stack = _own_frames(part)
        part = part.__cause__ or part.__context__
    return "".join(said.format())


def _own_frames(said: traceback.TracebackException) -> traceback.StackSummary:
    return traceback.StackSummary.from_list([frame for frame in said.stack if not frame.filename.startswith(_HIDDEN)])


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
