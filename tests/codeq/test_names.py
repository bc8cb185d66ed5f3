"""Commands as queues and tenants as namespaces: nothing is lost and nobody meets whom they should not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.http.codeq.names import command_of, namespace_for, queue_of
from rookery.http.codeq.priorities import priority_of, rank_for
from rookery.model.names import is_namespace, namespace_of, queue_name_fault, shown_name

COMMANDS = st.one_of(
    st.text(min_size=1, max_size=300).filter(lambda text: text.strip()),
    st.text(alphabet=":%aA/\x00\n~25", min_size=1, max_size=12).filter(lambda text: text.strip()),
    st.text(alphabet="ab%", min_size=240, max_size=300),
)
TENANTS = st.one_of(
    st.text(min_size=1, max_size=100),
    st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True),
    st.sampled_from(["default", "cq-", "cq-a", "cqh-a", "Acme", "acme", "a" * 63, "a" * 64, "-a", " "]),
)


@pytest.mark.parametrize(
    ("command", "queue"),
    [
        ("GENERATE_MASTER", "generate_master"),
        ("emails.Send", "emails.send"),
        ("a b/ü:c", "a b/ü:c"),
        ("acme::x", "acme:%3Ax"),
        (":::", ":%3A%3A"),
        ("100%", "100%25"),
        ("a\nb", "a%0Ab"),
        ("x\x85y", "x%C2%85y"),
    ],
)
def test_a_command_is_its_queue_wherever_it_can_be(command: str, queue: str) -> None:
    assert queue_of("default", command) == queue
    assert queue_of("t", command) == f"t::{queue}"
    assert command_of("t", f"t::{queue}") == command.lower()


def test_a_long_command_is_cut_and_told_apart_by_a_digest() -> None:
    long, longer = "x" * 256, "x" * 257
    assert queue_of("default", "x" * 255) == "x" * 255
    assert queue_of("default", long) != queue_of("default", longer)
    assert len(queue_of("default", long)) == 255
    assert command_of("default", queue_of("default", long)) == queue_of("default", long)
    assert queue_of("default", queue_of("default", long)) != queue_of("default", long)


@given(COMMANDS)
def test_every_command_has_a_legal_queue_in_its_namespace(command: str) -> None:
    for namespace in ("default", "t"):
        stored = queue_of(namespace, command)
        assert namespace_of(stored) == namespace
        assert queue_name_fault(shown_name(namespace, stored)) is None
        assert command_of(namespace, stored) is not None
        assert command_of("other", stored) is None


@given(COMMANDS)
def test_a_command_comes_back_in_lower_case_unless_it_is_long(command: str) -> None:
    if len(queue_of("default", command).encode()) < 200:
        assert command_of("default", queue_of("default", command)) == command.lower()


@given(COMMANDS, COMMANDS)
def test_two_commands_share_a_queue_only_if_they_differ_in_case_only(one: str, other: str) -> None:
    assert (queue_of("default", one) == queue_of("default", other)) == (one.lower() == other.lower())


@pytest.mark.parametrize("queue", ["Emails", "a%41", "100%", "t::x", "a%3ab", "%20", "a%"])
def test_a_queue_that_no_command_leads_to_is_no_commands(queue: str) -> None:
    assert command_of("default", queue) is None


@given(TENANTS)
def test_every_tenant_has_a_namespace_that_is_never_the_one_that_sees_all(tenant: str) -> None:
    assert is_namespace(namespace_for(tenant))
    assert namespace_for(tenant) != "default"


@given(TENANTS, TENANTS)
def test_two_tenants_never_share_a_namespace(one: str, other: str) -> None:
    assert (namespace_for(one) == namespace_for(other)) == (one == other)


def test_a_tenant_keeps_its_name_if_that_can_be_a_namespaces() -> None:
    assert namespace_for("acme") == "acme"
    assert namespace_for("a" * 63) == "a" * 63
    assert namespace_for("Acme") != "acme"


def test_priorities_are_ranks_upside_down() -> None:
    assert [rank_for(priority) for priority in (-5, 0, 1, 2, 9, 42)] == [2, 2, 1, 0, -7, -7]
    assert [priority_of(rank) for rank in (3, 2, 1, 0, -7, -8)] == [0, 0, 1, 2, 9, 9]
