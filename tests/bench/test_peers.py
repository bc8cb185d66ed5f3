"""The comparison with other systems, without the other systems: counts, marks, tables, chart, document."""

import os
import shutil
import struct
import subprocess
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.peers import chart, report
from bench.peers.figures import BURST, MOST, Counts, Measured, Rates, Row, counts_for
from bench.peers.installing import HERE, PROGRAMS, NotInstalled, install_server, without_services
from bench.peers.machine import Machine, file_system_in, processor_in
from bench.peers.measuring import Failure, Installed, rate_in
from bench.peers.systems import ROOKERY, SYSTEMS

BY_KEY = {system.key: system for system in SYSTEMS}
MACHINE = Machine("A Processor", 2, 24.0, "Linux 6.1", "ext4", 0.25, 0.1)
RUN = report.Run(MACHINE, date(2026, 1, 2), "python -m bench.peers", 3, 3.0, None, 9.4, ["Redis server v=7"])


def row(key: str, *rates: tuple[float, float], problem: str = "") -> Row:
    return Row(BY_KEY[key], {"package": "1.2"}, [Rates(*rate) for rate in rates], Counts(300, 400), problem=problem)


def marks(times: list[int], counts: bytes | None = None) -> bytes:
    return (counts or bytes([1] * len(times))) + struct.pack(f"<{len(times)}q", *times)


def test_the_rate_is_taken_from_the_first_job_until_nothing_is_left() -> None:
    assert rate_in(marks([4_000_000_000, 2_000_000_000, 3_000_000_000]), 6_000_000_000) == (pytest.approx(0.5), 0)


def test_a_job_left_out_is_a_failure() -> None:
    with pytest.raises(Failure, match="1 of 3 jobs were not done"):
        rate_in(marks([1, 2, 3], b"\1\0\1"), 4)


def test_jobs_done_more_than_once_are_counted_and_told() -> None:
    _, again = rate_in(marks([1, 2, 3], b"\1\2\3"), 4)
    saq = row("saq")
    saq.add(Measured(Rates(5.0, 5.0), again))
    saq.add(Measured(Rates(5.0, 5.0), 0))

    text = report.section(RUN, [row("rookery", (9.0, 9.0)), saq], "chart.svg")
    assert "- SAQ (fsync every second): of 800 jobs 2 were done more than once" in text
    assert "Rookery (fsync always): of" not in text


def test_a_measurement_gets_as_many_jobs_as_take_the_time() -> None:
    assert counts_for(Rates(1234.5, 1111.1), 2.0) == Counts(2460, 2220)


def test_no_measurement_is_very_short_or_very_long() -> None:
    assert counts_for(Rates(3.0, 1e9), 5.0) == Counts(BURST, 4 * BURST)
    assert counts_for(Rates(1e9, 3.0), 5.0) == Counts(MOST, BURST)


def test_jobs_to_process_are_at_most_four_times_those_whose_enqueue_is_timed() -> None:
    assert counts_for(Rates(1000.0, 9000.0), 1.0) == Counts(1000, 4000)


def test_a_row_tells_the_median_and_the_spread() -> None:
    taken = row("rq", (1.0, 30.0), (3.0, 10.0), (2.0, 20.0))

    assert (taken.median, taken.lowest, taken.highest) == (Rates(2.0, 20.0), Rates(1.0, 10.0), Rates(3.0, 30.0))


def test_the_table_relates_every_figure_to_rookery() -> None:
    table = report.figures([row("rookery", (1000.0, 4000.0)), row("celery", (500.0, 400.0))])

    celery = next(line for line in table.splitlines() if "Celery" in line)
    assert "| fsync every second | 500 (500 to 500) | 0.50 | 400 (400 to 400) | 0.10 |" in celery


@pytest.mark.parametrize(("rate", "ratio"), [(158_600.0, "159"), (1260.0, "1.3"), (340.0, "0.34"), (3.4, "0.003")])
def test_a_ratio_has_as_many_digits_as_say_something(rate: float, ratio: str) -> None:
    table = report.figures([row("rookery", (1000.0, 1000.0)), row("celery", (rate, 1000.0))])

    assert f"| {ratio} | 1,000 (1,000 to 1,000) | 1.0 |" in table


def test_a_system_that_failed_is_listed_with_its_reason_and_no_figure() -> None:
    rows = [row("rookery", (9.0, 9.0)), row("huey", (5.0, 5.0), problem="failed: a | b")]

    assert "| Huey | Redis | fsync every second | failed | | | |" in report.figures(rows)
    assert "\n- Huey (fsync every second) failed: a | b\n" in report.section(RUN, rows, "chart.svg")


def test_without_rookery_there_are_no_ratios() -> None:
    table = report.figures([row("rookery", problem="not run: x"), row("celery", (500.0, 400.0))])

    assert "| 500 (500 to 500) |  | 400 (400 to 400) |  |" in table


def test_every_line_of_a_table_has_as_many_cells_as_its_head() -> None:
    rows = [row("rookery", (9.0, 9.0)), row("saq", (5.0, 5.0)), row("huey", problem="not run: redis is missing")]
    text = report.section(RUN, rows, "chart.svg")

    for table in (part for part in text.split("\n\n") if part.startswith("|")):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_the_section_says_who_is_faster_than_rookery() -> None:
    rows = [row("rookery", (1000.0, 4000.0)), row("beanstalkd", (9000.0, 300.0)), row("saq", (2000.0, 100.0))]
    text = report.section(RUN, rows, "chart.svg")

    assert "enqueuing one by one: beanstalkd (fsync every 50 ms) 9.0 times, SAQ (fsync every second) 2.0" in text
    assert "Faster than Rookery at processing: none." in text


def test_the_section_tells_machine_versions_and_commands() -> None:
    text = report.section(RUN, [row("rookery", (9.0, 9.0)), row("rq", (5.0, 5.0))], "chart.svg")

    for part in ("A Processor", "ext4", "0.25 ms", "package 1.2", "python run.py on_rq enqueue 0 300", "(chart.svg)"):
        assert part in text
    assert "rq worker --url SERVER --quiet  # 400 jobs" in text
    assert max(len(line) for line in text.splitlines() if not line.startswith(("|", "!"))) <= 120


def test_only_the_part_between_the_markers_is_replaced() -> None:
    document = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"

    once = report.put_into(document, "new\n")
    assert once == f"before\n{report.BEGIN}\n\nnew\n\n{report.END}\nafter\n"
    assert report.put_into(once, "new\n") == once


@pytest.mark.parametrize("document", ["", report.BEGIN, report.END])
def test_a_document_without_both_markers_is_left_alone(document: str) -> None:
    with pytest.raises(ValueError, match="no part between"):
        report.put_into(document, "new")


def test_the_document_in_the_project_has_the_markers() -> None:
    document = (HERE.parent.parent / "docs" / "benchmarks.md").read_text()

    assert report.put_into(document, "new").count("new\n") >= 1


def test_the_chart_has_a_bar_for_each_figure_in_proportion() -> None:
    rows = [row("rookery", (1000.0, 10.0)), row("celery", (500.0, 40.0)), row("huey", problem="failed: x")]
    drawn = ElementTree.fromstring(chart.draw(rows))

    bars = [bar for bar in drawn.iter("{http://www.w3.org/2000/svg}rect") if bar.get("height") == "18"]
    widths = [(bar.get("class"), float(bar.get("width") or 0)) for bar in bars]
    full = widths[0][1]
    assert widths == [("ours", full), ("memory", full / 2), ("memory", full), ("ours", full / 4)]
    texts = ["".join(text.itertext()) for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"1,000", "500", "10", "40"} <= set(texts)
    assert not any("Huey" in text for text in texts)


def test_all_of_the_chart_lies_inside_its_frame() -> None:
    drawn = ElementTree.fromstring(chart.draw([row(system.key, (12_345.6, 12_345.6)) for system in SYSTEMS]))

    _, _, width, height = map(float, (drawn.get("viewBox") or "").split())
    for bar in drawn.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(bar.get("x", 0)) + float(bar.get("width", 0)) <= width
        assert float(bar.get("y", 0)) + float(bar.get("height", 0)) <= height
    for text in drawn.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 < float(text.get("y", 0)) < height


def test_labels_of_the_chart_have_room() -> None:
    drawn = ElementTree.fromstring(chart.draw([row(system.key, (1.0, 1.0)) for system in SYSTEMS]))

    labels = [text for text in drawn.iter("{http://www.w3.org/2000/svg}text") if text.get("text-anchor") == "end"]
    assert len(labels) == 2 * len(SYSTEMS)
    assert [text for text in labels if 6.9 * len("".join(text.itertext())) > float(text.get("x", 0))] == []


def test_a_chart_of_nothing_is_still_a_chart() -> None:
    ElementTree.fromstring(chart.draw([]))


def test_every_system_has_its_files_and_a_name_of_its_own() -> None:
    assert len(BY_KEY) == len(SYSTEMS)
    assert len({(system.name, system.server.syncs) for system in SYSTEMS}) == len(SYSTEMS)
    for system in SYSTEMS:
        name = system.program[-1]
        assert (PROGRAMS / (name if name.endswith(".mjs") else f"{name}.py")).exists()
        if system.environment not in ("rookery", "node"):
            assert (HERE / "requirements" / f"{system.environment}.txt").exists()


def test_a_workers_command_is_filled_in() -> None:
    installed = Installed(BY_KEY["rq"], Path("/e/bin"), "/e/bin/python", PROGRAMS, {})
    assert installed.worker_command("redis://x")[:4] == ["/e/bin/rq", "worker", "--url", "redis://x"]
    installed = Installed(BY_KEY["bullmq"], Path("/n"), "/n/node24", Path("/n"), {})
    assert installed.worker_command("redis://x") == ["/n/node24", "on_bullmq.mjs", "work"]


@pytest.mark.parametrize(
    ("programs", "user", "text"),
    [
        ((), 0, "redis-server is missing, and there is no apt-get to install it"),
        (("apt-get",), 1000, r"redis-server is missing: apt-get install redis-server \(this run is not root's\)"),
    ],
)
def test_a_server_that_cannot_be_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, programs: tuple[str, ...], user: int, text: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name if name in programs else None)
    monkeypatch.setattr(os, "getuid", lambda: user)

    with pytest.raises(NotInstalled, match=text):
        install_server(BY_KEY["celery"].server)


def test_while_packages_are_installed_no_service_may_start(tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    with without_services(policy):
        assert subprocess.run([policy]).returncode == 101
    assert not policy.exists()


def test_a_policy_that_is_there_already_is_left_alone(tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    policy.write_text("mine")
    with without_services(policy):
        assert policy.read_text() == "mine"
    assert policy.read_text() == "mine"


def test_the_machine_is_read_from_what_the_kernel_tells() -> None:
    assert processor_in("processor\t: 0\nmodel name\t: Some  CPU @ 2GHz\nmodel name\t: other\n") == "Some CPU @ 2GHz"
    assert processor_in("processor\t: 0\n") == ""
    mounts = "/dev/a / ext4 rw 0 0\ntmpfs /var/tmp tmpfs rw 0 0\n/dev/b /var/tmpx xfs rw 0 0\n"
    assert file_system_in(mounts, Path("/var/tmp/x")) == "tmpfs"
    assert file_system_in(mounts, Path("/var/tmpy")) == "ext4"


def test_rookery_is_measured_with_its_answers_on_disk() -> None:
    assert ROOKERY.server.is_on_disk
