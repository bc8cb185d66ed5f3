"""Conditions on payloads: what they mean, and what is no condition."""

import json
from typing import Any

import apsw
import pytest

from rookery.store.payload_jq import BadExpression, compile, parse

MISSING: Any = object()


@pytest.fixture(scope="module")
def db() -> Any:
    db = apsw.Connection(":memory:")
    yield db
    db.close()


def matches(db: apsw.Connection, expression: str, value: Any, path: str = "v") -> bool:
    """Whether the expression matches a payload with that value in it."""
    payload = json.dumps({"other": 1} if value is MISSING else {path: value})
    sql, parameters = compile(parse(expression), "job.payload")
    return bool(db.execute(f"SELECT {sql} FROM (SELECT ? AS payload) AS job", (*parameters, payload)).get)


@pytest.mark.parametrize(
    ("expression", "matching", "others"),
    [
        (".v == 5", [5, 5.0], [6, "5", True, None, MISSING, [5], {"v": 5}]),
        (".v != 5", [6, 5.5, None, MISSING], [5, 5.0, "5", "x", True, [5]]),
        (".v > 5", [6, 5.1, 10**30], [5, 4, "9", True, None, MISSING, [9]]),
        (".v >= 5", [5, 6], [4, "5", None, MISSING]),
        (".v < 5", [4, -1.5, -(10**30)], [5, "4", False, None, MISSING]),
        (".v <= 5", [5, 4], [6, "4", None, MISSING]),
        (".v == 0", [0, 0.0, -0.0], [False, None, "", MISSING]),
        (".v == 1", [1], [True, "1"]),
        (".v == -1.5e2", [-150, -150.0], [150]),
        (".v == 9223372036854775807", [9223372036854775807], [9223372036854775806]),
        (".v == -9223372036854775808", [-9223372036854775808], [-9223372036854775807]),
        (".v == 9223372036854775808", [9223372036854775808, 2**63], [9223372036854775807]),
        (".v > 1e400", [], [10**300, "x"]),
        ('.v == "x"', ["x"], ["X", "xy", None, MISSING, 5, ["x"]]),
        ('.v != "x"', ["y", "", None, MISSING], ["x", 5, True, ["x"], {"x": 1}]),
        ('.v == "5"', ["5"], [5]),
        ('.v == "[1]"', ["[1]"], [[1]]),
        ('.v > "b"', ["c", "bb", "é"], ["b", "a", 5, None, MISSING, ["c"], {"c": 1}]),
        ('.v <= "b"', ["b", "a", "", "B"], ["c", 5, None, MISSING, []]),
        ('.v == "a\\"b\\\\c\\u00e9\\n"', ['a"b\\cé\n'], ["a"]),
        ('.v == "😀"', ["😀"], ["x"]),
        (".v == true", [True], [False, 1, "true", None, MISSING]),
        (".v != true", [False, None, MISSING], [True, 1, 0, "true"]),
        (".v > false", [True], [False, 1, None, MISSING]),
        (".v >= false", [True, False], [0, 1, None, MISSING]),
        (".v < false", [], [True, False, None, MISSING]),
        (".v <= false", [False], [True, 0]),
        (".v == null", [None, MISSING], [0, "", False, [], {}]),
        (".v != null", [0, "", False, [], {}], [None, MISSING]),
        (
            '.v | contains("x")',
            ["x", "axb", ["x"], ["a", "x"]],
            ["X", "a", ["xx"], [["x"]], None, MISSING, {"x": 1}, 5],
        ),
        ('.v | contains("5")', [[5], ["5"], "a5"], [[55], 5, [5.5], [True]]),
        ('.v | contains("1")', [[1], ["1"]], [[True], [10]]),
        ('.v | contains("0")', [[0], ["0"]], [[False], [None]]),
        ('.v | contains("2.5")', [[2.5]], [[2]]),
        ('.v | contains("100.0")', [[1e2], "a100.0"], [[100]]),
        ('.v | contains("-7")', [[-7], ["-7"]], [[7]]),
        ('.v | contains("é/%_!")', ["xé/%_!x", ["é/%_!"]], ["é/", ["e/%_!"]]),
        ('.v | contains("true")', [[True], ["true"], "untrue"], [[1], [False], True]),
        ('.v | contains("null")', [[None], ["null"]], [[0], None]),
        ('.v | contains("")', ["", "a", [""]], [[], ["a"], 5, None]),
        ('.v | contains("%")', ["5%", ["%"]], ["5", ["5"]]),
        ('.v | startswith("ab")', ["ab", "abc"], ["a", "cab", "AB", ["ab"], 5, None, MISSING]),
        ('.v | startswith("")', ["", "a"], [5, [], None, MISSING]),
        ('.v | startswith("5")', ["5", "55"], [5, 55]),
        (".v | length == 2", [[1, 2], "ab", "éé", "😀😀", {"a": 1, "b": 2}], [[1], "a", 2, True, None, MISSING]),
        (".v | length == 0", [[], "", {}, None, MISSING], [0, False, [0]]),
        (".v | length > 1.5", [[1, 2]], [[1], 5, None]),
        (".v | length != 0", [[1], "a"], [[], None, MISSING, 5, True]),
        (".v | length >= -1", [[], None, MISSING, "x"], [5, True]),
    ],
)
def test_an_expression_matches_what_it_says(
    db: apsw.Connection, expression: str, matching: list[Any], others: list[Any]
) -> None:
    assert [value for value in matching if not matches(db, expression, value)] == []
    assert [value for value in others if matches(db, expression, value)] == []


def test_a_path_goes_through_objects(db: apsw.Connection) -> None:
    assert matches(db, ".v.a.b == 1", {"a": {"b": 1}})
    assert matches(db, ".v.0 == 1", {"0": 1})
    assert not matches(db, ".v.0 == 1", [1])
    assert matches(db, ".v.a.b == null", {"a": 5})
    assert matches(db, ".v.a.b == null", [])


def test_a_key_may_be_written_with_escapes(db: apsw.Connection) -> None:
    assert matches(db, ".größe == 1", 1, path="größe")


def test_a_payload_need_not_be_an_object(db: apsw.Connection) -> None:
    sql, parameters = compile(parse(".v == null"), "job.payload")
    for payload in ("5", '"v"', "null", "[]", "true"):
        assert db.execute(f"SELECT {sql} FROM (SELECT ? AS payload) AS job", (*parameters, payload)).get


@pytest.mark.parametrize("expression", ['.v|contains("x")', ' .v | contains ( "x" ) ', '\t.v\n|contains("x")'])
def test_white_space_does_not_matter(db: apsw.Connection, expression: str) -> None:
    assert matches(db, expression, "x")


def test_white_space_around_a_comparison_does_not_matter(db: apsw.Connection) -> None:
    assert matches(db, ".v>=5", 5)
    assert matches(db, ".v|length>1", "ab")


@pytest.mark.parametrize(
    ("expression", "position", "expected"),
    [
        ("", 1, "expected a path like .a.b, found the end"),
        ("   ", 4, "expected a path"),
        ("v == 1", 1, "expected a path"),
        (".", 1, "expected a path"),
        (". == 1", 1, "expected a path"),
        ("..v == 1", 1, "expected a path"),
        (".v", 3, "expected | or one of"),
        (".v. == 1", 3, "expected | or one of"),
        (".v-w == 1", 3, "expected | or one of"),
        (".v[0] == 1", 3, "expected | or one of"),
        (".v = 1", 4, "expected | or one of"),
        (".v === 1", 6, "expected a string in double quotes, a number"),
        (".v ==", 6, "expected a string in double quotes, a number"),
        (".v == x", 7, "expected a string in double quotes, a number"),
        (".v == 'x'", 7, "expected a string in double quotes, a number"),
        ('.v == "x', 7, "expected a string in double quotes, a number"),
        ('.v == "\\q"', 7, "not valid JSON"),
        ('.v == "\\ud800"', 7, "not valid JSON"),
        ('.v == "a\nb"', 7, "not valid JSON"),
        (".v == 01", 7, "expected a string"),
        (".v == 1.", 7, "expected a string"),
        (".v == .5", 7, "expected a string"),
        (".v == +5", 7, "expected a string"),
        (".v == 5x", 7, "expected a string"),
        (".v == True", 7, "expected a string"),
        (".v == nullable", 7, "expected a string"),
        (".v == NaN", 7, "expected a string"),
        (".v == [1]", 7, "expected a string"),
        (".v > null", 10, "null can only be compared with == and !="),
        (".v == 1 and .w == 2", 9, "expected the end, found 'and .w == 2'"),
        (".v == 1;", 8, "expected the end"),
        (".v == 1 | length > 2", 9, "expected the end"),
        (".v |", 5, "expected contains, startswith or length, found the end"),
        (".v | endswith(1)", 6, "expected contains, startswith or length"),
        (".v | lengthy > 1", 6, "expected contains, startswith or length"),
        (".v | contains", 14, "expected (, found the end"),
        (".v | contains(5)", 15, "expected a string in double quotes"),
        ('.v | contains("x"', 18, "expected ), found the end"),
        ('.v | contains("x") == true', 20, "expected the end"),
        (".v | length", 12, "expected one of =="),
        ('.v | length == "x"', 16, "expected a number"),
        (".v | length == null", 16, "expected a number"),
        ("'; DROP TABLE job; --", 1, "expected a path"),
        ('.v\\"] == 1', 3, "expected | or one of"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_place(expression: str, position: int, expected: str) -> None:
    with pytest.raises(BadExpression) as refused:
        parse(expression)
    assert str(refused.value).startswith(f"at character {position}: ")
    assert expected in str(refused.value)


def test_a_very_long_number_is_taken(db: apsw.Connection) -> None:
    assert not matches(db, ".v == " + "9" * 10_000, 5)
    assert matches(db, ".v < " + "9" * 10_000, 5)


def test_a_number_may_be_spelled_in_many_ways(db: apsw.Connection) -> None:
    for expression, payload in (
        ('.v | contains("100.0")', '{"v":[1e2]}'),
        (".v == 100", '{"v":1E2}'),
        (".v == 0", '{"v":-0}'),
        ('.v | contains("0")', '{"v":[-0]}'),
        ('.v | contains("a/b")', '{"v":["a\\/b"]}'),
        ('.v == "abc"', '{"v":"\\u0061bc"}'),
    ):
        sql, parameters = compile(parse(expression), "job.payload")
        assert db.execute(f"SELECT {sql} FROM (SELECT ? AS payload) AS job", (*parameters, payload)).get, expression


def test_nothing_of_an_expression_becomes_sql() -> None:
    sql, parameters = compile(parse('.abc.def == "ghi"'), "job.payload")
    assert not any(word in sql for word in ("abc", "def", "ghi"))
    assert set(parameters) == {"%ghi%", '$."abc"."def"', "ghi"}
