"""The clock goes forward, whatever happens to the machine's own."""

from rookery.node.clock import Clock


class FakeTime:
    """The machine's two clocks, in a test's hands."""

    def __init__(self) -> None:
        self.wall = 1_000_000
        self.monotonic = 500

    def pass_by(self, milliseconds: int) -> None:
        self.wall += milliseconds
        self.monotonic += milliseconds

    def clock(self, not_before: int = 0) -> Clock:
        return Clock(not_before, lambda: self.wall, lambda: self.monotonic)


def test_it_shows_the_wall_clocks_time() -> None:
    time = FakeTime()
    clock = time.clock()
    time.pass_by(250)
    assert clock.now() == 1_000_250


def test_it_runs_on_when_the_wall_clock_is_set_back() -> None:
    time = FakeTime()
    clock = time.clock()
    time.wall -= 3_600_000
    assert clock.now() == 1_000_000
    time.pass_by(10)
    assert clock.now() == 1_000_010


def test_it_follows_the_wall_clock_forward() -> None:
    time = FakeTime()
    clock = time.clock()
    time.wall += 60_000
    assert clock.now() == 1_060_000


def test_after_a_restart_it_begins_no_earlier_than_the_store_has_seen() -> None:
    time = FakeTime()
    clock = time.clock(not_before=2_000_000)
    time.pass_by(5)
    assert clock.now() == 2_000_005
