"""What a node counts about itself."""

import gc

from rookery.engine.ledger import LEASE_LOST, Fate
from rookery.model.job import COMPLETED
from rookery.node.measures import Measures, Traffic
from rookery.node.process import GarbageWatch, count_threads, read_memory


def test_a_route_is_named_by_its_pattern_and_found_again() -> None:
    traffic = Traffic()
    route = traffic.of("POST", "/api/v1/auth/keys/{key_hash}/roles/{role}")
    assert (route.method, route.route) == ("POST", "/api/v1/auth/keys/:id/roles/:id")
    assert traffic.of("POST", "/api/v1/auth/keys/{key_hash}/roles/{role}") is route
    assert traffic.of("GET", "/api/v1/auth/keys/{key_hash}/roles/{role}") is not route


def test_what_is_no_route_has_one_name_and_few_methods() -> None:
    traffic = Traffic()
    for method in ("GET", "BREW", "PROPFIND", "GET"):
        traffic.of_others(method)
    assert [(route.method, route.route) for route in traffic.routes()] == [("GET", "other"), ("other", "other")]


def test_waits_and_runs_are_counted_by_queue() -> None:
    measures = Measures()
    measures.jobs_moved([("a", 10), ("b", 2500), ("a", 10)], [("a", 1)])
    assert {queue: (values.count, values.sum) for queue, values in measures.waits.items()} == {
        "a": (2, 0.02),
        "b": (1, 2.5),
    }
    assert {queue: values.count for queue, values in measures.runs.items()} == {"a": 1}
    measures.forget_queue("a")
    assert (list(measures.waits), list(measures.runs)) == (["b"], [])


def test_what_came_of_a_queue_that_is_gone_is_forgotten() -> None:
    measures = Measures()
    work = measures.face_work
    for queue in ("a", "b"):
        work.created[queue] = work.claimed[queue] = work.told["ending", queue, True] = 1
        work.fared([Fate(queue, LEASE_LOST, 5), Fate(queue, COMPLETED, 5)])
    measures.forget_queue("a")

    counters = (work.created, work.claimed, work.lost_leases)
    assert [list(counter) for counter in counters] == [["b"], ["b"], ["b"]]
    assert (list(work.lives), list(work.told)) == ([("b", True)], [("ending", "b", True)])


def test_a_batch_is_counted_with_each_wait_for_it() -> None:
    measures = Measures()
    measures.batch_begins([1.0, 1.5], now=2.0)
    measures.batch_applied(2, 0.25, (2.0, 2.125))
    measures.batch_applied(1, 0.25, None)
    assert (measures.queue_time.count, measures.queue_time.sum) == (2, 1.5)
    assert (measures.apply_time.count, measures.apply_time.sum) == (2, 0.5)
    assert (measures.commit_time.count, measures.commit_time.sum) == (1, 0.125)
    assert (measures.batch_sizes.sum, measures.operations) == (3, 3)


def test_collections_of_garbage_are_timed_while_watched() -> None:
    watch = GarbageWatch()
    watch.start()
    gc.collect()
    watch.stop()
    seen = watch.collections
    gc.collect()
    assert seen >= 1
    assert watch.collections == seen
    assert 0 < watch.last_pause <= watch.total_pause


def test_the_process_knows_its_size() -> None:
    memory = read_memory()
    assert memory.resident >= memory.heap > 0
    assert memory.stack >= 0
    assert count_threads() >= 1
