"""Dependency injection: what a function asks for by `Depends(...)` is made when its job runs, once per job."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints, overload

T = TypeVar("T")


class Dependency:
    """Marks a parameter as one that `provider` gives."""

    def __init__(self, provider: Callable[..., Any]) -> None:
        self.provider = provider

    def __repr__(self) -> str:
        return f"Depends({getattr(self.provider, '__qualname__', self.provider)})"


@overload
def Depends(provider: Callable[..., AsyncIterator[T]]) -> T: ...


@overload
def Depends(provider: Callable[..., Iterator[T]]) -> T: ...


@overload
def Depends(provider: Callable[..., Awaitable[T]]) -> T: ...


@overload
def Depends(provider: Callable[..., T]) -> T: ...


def Depends(provider: Callable[..., Any]) -> Any:  # noqa: N802
    """A parameter's default, or a part of its `Annotated` type: `provider` gives its value when the job runs."""
    return Dependency(provider)


injected: Final[Any] = Dependency(lambda: None)
"""The default of a parameter whose `Annotated` type says what it depends on, so that type checkers ask for none."""


def depends_in(hint: Any, default: Any) -> Dependency | None:
    """What a parameter depends on, if it does."""
    if get_origin(hint) is Annotated:
        for note in get_args(hint)[1:]:
            if isinstance(note, Dependency):
                return note
    return default if isinstance(default, Dependency) else None


class _Step:
    """One provider, with the steps that give its own parameters."""

    def __init__(self, provider: Callable[..., Any], needs: "dict[str, _Step]") -> None:
        self.needs = needs
        self.is_async = inspect.iscoroutinefunction(provider) or inspect.isasyncgenfunction(provider)
        self.on_loop = self.is_async
        self.call: Callable[..., Any] = provider
        self.has_cleanup = True
        if inspect.isasyncgenfunction(provider):
            self.call = asynccontextmanager(provider)
        elif inspect.isgeneratorfunction(provider):
            self.call = contextmanager(provider)
        else:
            self.has_cleanup = False

    def arguments(self, made: "dict[_Step, Any]") -> dict[str, Any]:
        return {name: made[step] for name, step in self.needs.items()}


# A clean-up hears of the handler's error but cannot make it undone: its answer to it is not passed on.
def _enter(stack: ExitStack | AsyncExitStack, manager: AbstractContextManager[Any]) -> Any:
    value = manager.__enter__()

    def clean_up(*error: Any) -> None:
        manager.__exit__(*error)

    stack.push(clean_up)
    return value


async def _enter_async(stack: AsyncExitStack, manager: AbstractAsyncContextManager[Any]) -> Any:
    value = await manager.__aenter__()

    async def clean_up(*error: Any) -> None:
        await manager.__aexit__(*error)

    stack.push_async_exit(clean_up)
    return value


class Plan:
    """In which order to make what a function depends on, each provider once."""

    def __init__(self, injected: dict[str, Dependency], name: str) -> None:
        self._steps: dict[Callable[..., Any], _Step] = {}
        self._wanted = {parameter: self._add(needed.provider, (), name) for parameter, needed in injected.items()}
        for step in reversed(list(self._steps.values())):
            if step.on_loop:
                for needed in step.needs.values():
                    needed.on_loop = True

    def __bool__(self) -> bool:
        return bool(self._wanted)

    @property
    def needs_loop(self) -> bool:
        """Whether anything of it can only be made on an event loop."""
        return any(step.is_async for step in self._steps.values())

    def _add(self, provider: Callable[..., Any], path: tuple[Callable[..., Any], ...], name: str) -> _Step:
        if provider in path:
            circle = " > ".join(getattr(one, "__qualname__", str(one)) for one in (*path, provider))
            raise TypeError(f"{name}: dependencies go round in a circle: {circle}")
        if provider is injected.provider:
            raise TypeError(f"{name}: `injected` needs a type like Annotated[Database, Depends(get_database)]")
        if provider in self._steps:
            return self._steps[provider]
        needs = {}
        target = provider.__init__ if inspect.isclass(provider) else provider
        hints = get_type_hints(target, include_extras=True) if hasattr(target, "__annotations__") else {}
        for parameter in inspect.signature(provider).parameters.values():
            needed = depends_in(hints.get(parameter.name), parameter.default)
            if needed is not None:
                needs[parameter.name] = self._add(needed.provider, (*path, provider), name)
            elif parameter.default is parameter.empty and parameter.kind not in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            ):
                shown = getattr(provider, "__qualname__", provider)
                raise TypeError(f"{name}: {shown} has a parameter {parameter.name!r} that nothing provides")
        step = self._steps[provider] = _Step(provider, needs)
        return step

    async def make(self, stack: AsyncExitStack, replaced: dict[Any, Any], *, all_here: bool) -> dict[Any, Any]:
        """Make what must be made on the loop, or everything; clean-ups go onto the stack."""
        made: dict[Any, Any] = {}
        for provider, step in self._steps.items():
            if provider in replaced:
                made[step] = replaced[provider]
            elif step.on_loop or all_here:
                value = step.call(**step.arguments(made))
                if step.has_cleanup:
                    value = _enter_async(stack, value) if step.is_async else _enter(stack, value)
                made[step] = await value if step.is_async else value
        return made

    def make_rest(self, stack: ExitStack, made: dict[Any, Any]) -> None:
        """Make the rest where a plain function runs: in its thread."""
        for step in self._steps.values():
            if step not in made:
                value = step.call(**step.arguments(made))
                made[step] = _enter(stack, value) if step.has_cleanup else value

    def arguments(self, made: dict[Any, Any]) -> dict[str, Any]:
        """What the function's own parameters get."""
        return {parameter: made[step] for parameter, step in self._wanted.items()}
