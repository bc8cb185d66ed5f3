"""Conditions on payloads in a small part of the jq language: a parser that says where it stopped, and their SQL.

An expression is a path (`.customer.name`) and then a comparison with a literal, `| contains("x")`,
`| startswith("x")`, or `| length` with a comparison. Nothing of it is ever executed: values and paths are bound.
"""

import operator
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

Literal = str | int | float | bool | None


class BadExpression(ValueError):
    """Text that is no expression; says what was expected, and at which character."""


class Expression(NamedTuple):
    """What must hold for the value at `path`: `operator` is a comparison, `contains` or `startswith`."""

    path: tuple[str, ...]
    of_length: bool
    operator: str
    literal: Literal


_COMPARISONS: Final = {"==": "=", "!=": "<>", ">=": ">=", "<=": "<=", ">": ">", "<": "<"}
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_PATH: Final = re.compile(r"(?:\.\w+)+")
_WORD: Final = re.compile(r"\w+")
_COMPARISON: Final = re.compile("|".join(_COMPARISONS))
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![\w.])")
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_INT64: Final = range(-(1 << 63), 1 << 63)
_LONGEST_INT: Final = 20
_LONGEST_PATTERN: Final = 4096
_LITERAL: Final = "a string in double quotes, a number, true, false or null"
_COMPARISON_SIGNS: Final = "==, !=, >, >=, < or <="


def parse(text: str) -> Expression:
    """Read an expression. Raises BadExpression."""
    return _Reader(text).expression()


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def expression(self) -> Expression:
        path = self._take(_PATH)
        if path is None:
            raise self._expected("a path like .a.b")
        keys = tuple(path[1:].split("."))
        if self._take_mark("|"):
            read = self._piped(keys)
        else:
            read = Expression(keys, False, self._comparison(f"| or one of {_COMPARISON_SIGNS}"), self._literal())
            if read.literal is None and read.operator not in ("==", "!="):
                raise self._wrong("null can only be compared with == and !=")
        self._skip_space()
        if self.at < len(self.text):
            raise self._expected("the end")
        return read

    def _piped(self, keys: tuple[str, ...]) -> Expression:
        match self._take(_WORD, keep=True):
            case "contains" | "startswith" as function:
                self.at += len(function)
                self._expect_mark("(")
                argument = self._string()
                if argument is None:
                    raise self._expected("a string in double quotes")
                self._expect_mark(")")
                return Expression(keys, False, function, argument)
            case "length":
                self.at += len("length")
                comparison = self._comparison(f"one of {_COMPARISON_SIGNS}")
                number = self._number()
                if number is None:
                    raise self._expected("a number")
                return Expression(keys, True, comparison, number)
        raise self._expected("contains, startswith or length")

    def _comparison(self, expected: str) -> str:
        sign = self._take(_COMPARISON)
        if sign is None:
            raise self._expected(expected)
        return sign

    def _literal(self) -> Literal:
        string = self._string()
        if string is not None:
            return string
        number = self._number()
        if number is not None:
            return number
        word = self._take(_WORD, keep=True)
        if word not in _CONSTANTS:
            raise self._expected(_LITERAL)
        self.at += len(word)
        return _CONSTANTS[word]

    def _string(self) -> str | None:
        start, token = self.at, self._take(_STRING)
        if token is None:
            return None
        try:
            return msgspec.json.decode(token, type=str)
        except msgspec.DecodeError as error:
            self.at = start
            self._skip_space()
            raise self._wrong(f"the string is not valid JSON ({error})") from None

    def _number(self) -> int | float | None:
        token = self._take(_NUMBER)
        if token is None:
            return None
        whole = int(token) if len(token) <= _LONGEST_INT and token.lstrip("-").isdigit() else None
        return whole if whole is not None and whole in _INT64 else float(token)

    def _take(self, pattern: re.Pattern[str], keep: bool = False) -> str | None:
        """The next token, if it is of this kind; it is left where it is if it is to be kept."""
        self._skip_space()
        match = pattern.match(self.text, self.at)
        if match is None:
            return None
        if not keep:
            self.at = match.end()
        return match[0]

    def _take_mark(self, mark: str) -> bool:
        return self._take(re.compile(re.escape(mark))) is not None

    def _expect_mark(self, mark: str) -> None:
        if not self._take_mark(mark):
            raise self._expected(mark)

    def _skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _expected(self, what: str) -> BadExpression:
        found = repr(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
        return self._wrong(f"expected {what}, found {found}")

    def _wrong(self, what: str) -> BadExpression:
        return BadExpression(f"at character {self.at + 1}: {what}")


def compile(expression: Expression, payload: str) -> tuple[str, tuple[Any, ...]]:
    """The SQL that holds for payloads that the expression matches, and its parameters."""
    path = "$" + "".join(f'."{key}"' for key in expression.path)
    text, values = _compile(expression, payload, path)
    if not _needs_its_text(expression):
        return text, values
    # Looking for the text is faster than parsing a payload or going through an array. An escape may hide it.
    mentioned = f"{payload} LIKE ? ESCAPE '!' AND instr({payload} ->> ?, ?)"
    literal = str(expression.literal)
    return (
        f"CASE WHEN {mentioned} OR {payload} GLOB '*\\*' THEN {text} END",
        (like_pattern(literal), path, literal, *values),
    )


def like_pattern(text: str) -> str:
    """What finds the text by `LIKE … ESCAPE '!'`."""
    return "%" + re.sub("[%_!]", r"!\g<0>", text) + "%"


def _needs_its_text(expression: Expression) -> bool:
    """Whether only payloads with the literal in them can match. Numbers have several spellings."""
    literal = expression.literal
    if expression.operator not in ("==", "contains", "startswith") or not isinstance(literal, str):
        return False
    has_one_spelling = literal.lstrip("-").isdigit() or _NUMBER.fullmatch(literal) is None
    return has_one_spelling and len(literal) <= _LONGEST_PATTERN and "\0" not in literal


def _compile(expression: Expression, payload: str, path: str) -> tuple[str, tuple[Any, ...]]:
    value, type = f"({payload} ->> ?)", f"json_type({payload}, ?)"
    if expression.of_length:
        return _compile_length(expression, payload, path)
    if expression.operator == "contains":
        return _compile_contains(expression, payload, path)
    if expression.operator == "startswith":
        return f"CASE WHEN instr({value}, ?) = 1 THEN {type} = 'text' END", (path, expression.literal, path)
    sign = _COMPARISONS[expression.operator]
    if expression.literal is None:
        return f"{value} IS {'NOT ' if sign == '<>' else ''}NULL", (path,)
    if isinstance(expression.literal, bool):
        return _compile_boolean(expression, type, path)
    types = "'text'" if isinstance(expression.literal, str) else "'integer', 'real'"
    # With AND, SQLite would ask for the type first, of every payload.
    text = f"CASE WHEN {value} {sign} ? THEN {type} IN ({types}) END"
    values: tuple[Any, ...] = (path, expression.literal, path)
    return (f"{value} IS NULL OR {text}", (path, *values)) if sign == "<>" else (text, values)


_BOOLEAN_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def _compile_boolean(expression: Expression, type: str, path: str) -> tuple[str, tuple[Any, ...]]:
    """Only two values can be meant, so it is enough to list those that match; none is the same as null."""
    matches = _BOOLEAN_COMPARISONS[expression.operator]
    types = [word for word, value in (("true", True), ("false", False)) if matches(value, expression.literal)]
    if expression.operator == "!=":
        types.append("null")
    marks = ", ".join("?" * len(types))
    return f"coalesce({type}, 'null') IN ({marks})", (path, *types)


def _compile_contains(expression: Expression, payload: str, path: str) -> tuple[str, tuple[Any, ...]]:
    """An element of an array counts as text: 5 is found by "5", true by "true"."""
    text = f"""
        CASE json_type({payload}, ?)
        WHEN 'text' THEN instr({payload} ->> ?, ?) > 0
        WHEN 'array' THEN EXISTS (
          SELECT 1 FROM json_each(jsonb_extract({payload}, ?)) AS element WHERE {_is_element(expression.literal)})
        END"""
    return text, (path, path, expression.literal, path, expression.literal)


def _is_element(literal: Literal) -> str:
    """Asks for no more than this literal needs: every column of an element costs time. SQLite's true is 1."""
    if literal in ("true", "false", "null"):
        return "? IN (element.type, element.atom)"
    if literal in ("0", "1"):
        return "element.atom || '' = ? AND element.type NOT IN ('true', 'false')"
    return "element.atom || '' = ?"


def _compile_length(expression: Expression, payload: str, path: str) -> tuple[str, tuple[Any, ...]]:
    text = f"""
        CASE coalesce(json_type({payload}, ?), 'null')
        WHEN 'array' THEN json_array_length({payload}, ?)
        WHEN 'text' THEN length({payload} ->> ?)
        WHEN 'object' THEN (SELECT count(*) FROM json_each(jsonb_extract({payload}, ?)))
        WHEN 'null' THEN 0
        END {_COMPARISONS[expression.operator]} ?"""
    return text, (path, path, path, path, expression.literal)
