"""The pytest plugin, as people who write jobs use it: in test files of their own."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

IS_INSTALLED = any(point.value == "rookery.testing.plugin" for point in entry_points(group="pytest11"))

SHOP = """
    import asyncio
    from rookery.client.functions.app import App

    app = App("http://127.0.0.1:9")
    sent = []

    @app.job(queue="emails.send", max_retries=2)
    async def send_email(to: str, template: str = "welcome") -> dict:
        await asyncio.sleep(0)
        if "@" not in to:
            raise ValueError(f"{to} is no address")
        sent.append(to)
        return {"sent": to}

    @app.job
    def resize(width: int) -> int:
        return 2 * width

    def sign_up(name):
        return send_email.options(delay="2h").enqueue_sync(f"{name}@example.com")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with an app, in which tests are run with the plugin."""
    pytester.makepyfile(shop=SHOP)
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    return pytester


def run(project: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    project.makepyfile(test_shop=tests)
    plugin = () if IS_INSTALLED else ("-p", "rookery.testing.plugin")
    return project.runpytest(*plugin, "-p", "no:cacheprovider", *options)


def test_the_engine_is_a_fixture(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        from shop import send_email, sent, sign_up

        def test_the_mail_goes_out_two_hours_later(rookery):
            job = sign_up("ann")
            rookery.assert_enqueued(send_email, to="ann@example.com", delay="2h")
            assert rookery.drain().ran == 0
            rookery.advance("2h")
            assert rookery.drain().completed == 1
            assert rookery.job(job).result == {"sent": "ann@example.com"}
            assert sent == ["ann@example.com"]

        def test_every_test_has_an_engine_of_its_own(rookery):
            rookery.refute_enqueued(send_email)

        def test_the_client_is_there(rookery):
            job = rookery.client.enqueue("anything", {"a": 1})
            assert rookery.client.fetch("anything").job_id == job.job_id
        """,
    )
    result.assert_outcomes(passed=3)


def test_async_tests_have_the_same(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        import pytest
        from shop import resize, send_email

        pytestmark = pytest.mark.anyio

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        async def test_engine(rookery):
            job = await send_email.enqueue("a@example.com")
            await resize.options(delay="1h").enqueue(3)
            assert (await rookery.drain()).completed == 1
            assert (await rookery.async_client.result(job)) == {"sent": "a@example.com"}
            assert (await rookery.run_for("1h")).completed == 1

        async def test_fake(rookery_fake):
            await send_email.enqueue("a@example.com")
            rookery_fake.assert_enqueued(send_email, times=1)
            assert (await rookery_fake.drain()).completed == 1

        async def test_inline(rookery_inline):
            job = await resize.enqueue(3)
            assert rookery_inline.job(job).result == 6
            with pytest.raises(ValueError, match="nobody is no address"):
                await send_email.enqueue("nobody")
        """,
    )
    result.assert_outcomes(passed=3)


def test_fake_and_inline_are_fixtures_too(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        import pytest
        from shop import resize, send_email, sent, sign_up

        def test_fake(rookery_fake):
            sign_up("ann")
            rookery_fake.assert_enqueued(send_email, to=lambda to: to.startswith("ann"), times=1)
            assert sent == []
            assert rookery_fake.drain().completed == 1

        def test_inline(rookery_inline):
            assert rookery_inline.job(resize.enqueue_sync(4)).result == 8
            with pytest.raises(ValueError):
                send_email.enqueue_sync("nobody")
        """,
    )
    result.assert_outcomes(passed=2)


def test_a_marker_chooses_the_mode_and_the_time(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        import pytest
        from datetime import datetime, UTC
        from shop import resize, send_email, sent, sign_up

        @pytest.mark.rookery("inline")
        def test_without_a_fixture():
            sign_up("ann")
            assert sent == ["ann@example.com"]

        @pytest.mark.rookery(now="2026-03-29T00:00:00Z")
        def test_time(rookery):
            assert rookery.now == datetime(2026, 3, 29, tzinfo=UTC)

        @pytest.mark.rookery(mode="engine", now="2026-03-29")
        def test_a_day(request):
            rookery = request.getfixturevalue("rookery")
            assert rookery.now == datetime(2026, 3, 29, tzinfo=UTC)

        @pytest.mark.rookery("fake")
        class TestGroup:
            def test_in_a_class(self):
                resize.enqueue_sync(1)

            def test_a_fixture_goes_before_the_marker(self, rookery_inline):
                assert rookery_inline.job(resize.enqueue_sync(1)).state == "completed"
        """,
        "--strict-markers",
    )
    result.assert_outcomes(passed=5)


@pytest.mark.parametrize("said", ['nwo="2026-01-01"', '"fake", "2026-01-01", 3'])
def test_a_marker_says_nothing_else(project: pytest.Pytester, said: str) -> None:
    result = run(project, f"import pytest\n@pytest.mark.rookery({said})\ndef test(rookery): ...")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*test: rookery(mode, now): *argument*")


def test_a_mistake_in_an_expectation_points_to_the_test(project: pytest.Pytester) -> None:
    result = run(project, "import shop\ndef test(rookery):\n    rookery.assert_enqueued(shop.resize, widht=3)")

    result.stdout.fnmatch_lines("E*TypeError: resize has no parameter 'widht' (did you mean 'width'?)")
    result.stdout.no_fnmatch_line("*rookery/testing/*.py:*")


def test_a_setting_chooses_the_mode_of_all_tests(project: pytest.Pytester) -> None:
    tests = """
        import pytest, shop

        def test_nothing_needs_a_server():
            shop.sign_up("ann")
            assert shop.sent == []

        @pytest.mark.rookery("inline")
        def test_but_a_marker_goes_before_it():
            shop.sign_up("ann")
            assert shop.sent == ["ann@example.com"]
    """
    run(project, tests, "-o", "rookery_mode=fake").assert_outcomes(passed=2)


def test_test_cases_doctests_and_single_parameters_have_modes_too(project: pytest.Pytester) -> None:
    tests = """
        import unittest
        import pytest, shop

        class TestShop(unittest.TestCase):
            def test_it(self):
                shop.resize.enqueue_sync(1)

        @pytest.mark.parametrize("is_run", [False, pytest.param(True, marks=pytest.mark.rookery("inline")), False])
        def test_parameters(is_run):
            before = len(shop.sent)
            shop.sign_up("ann")
            assert len(shop.sent) - before == is_run

        def double(n):
            '''
            >>> job = shop.resize.enqueue_sync(3)
            '''
    """
    run(project, tests, "-o", "rookery_mode=fake", "--doctest-modules").assert_outcomes(passed=5)


def test_a_mode_that_there_is_not_is_an_error(project: pytest.Pytester) -> None:
    result = run(project, "def test(): ...", "-o", "rookery_mode=real")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*rookery_mode must be one of engine, fake, inline, not 'real'"])

    result = run(project, "import pytest\n@pytest.mark.rookery('real')\ndef test(): ...")
    assert result.ret != 0
    result.stderr.fnmatch_lines(["*the mode must be one of engine, fake, inline, not 'real'*"])


def test_a_failure_shows_what_there_was_without_our_own_frames(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        from shop import send_email, sign_up

        def test(rookery):
            sign_up("ann")
            rookery.assert_enqueued(send_email, to="bob@example.com")
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*AssertionError: no job was enqueued like",
            '*send_email(to="bob@example.com")',
            '*send_email(to="ann@example.com"), scheduled for *',
            '*to is "ann@example.com", not "bob@example.com"',
        ]
    )
    result.stdout.no_fnmatch_line("*kit.py*")


def test_a_failure_shows_the_jobs_that_went_wrong(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        from shop import send_email, sent

        def test(rookery):
            send_email.enqueue_sync("nobody")
            rookery.drain()
            assert sent == ["nobody"]
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*Rookery jobs that failed*",
            "send_email [[]job_*], attempt 1: ValueError: nobody is no address",
            '*raise ValueError(f"{to} is no address")',
        ]
    )


def test_it_is_gone_after_the_test(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        import pytest, rookery, shop

        def test_with(rookery):
            shop.resize.enqueue_sync(1)

        def test_without():
            client = rookery.Client("http://127.0.0.1:9", retries=0)
            with pytest.raises(rookery.ServerUnreachable), client:
                client.enqueue("resize")
        """,
    )
    result.assert_outcomes(passed=2)


def test_a_suite_that_does_not_use_it_loads_nothing_of_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_alone="""
        import sys

        def test():
            assert {"apsw", "msgspec", "starlette", "rookery.testing.modes"} & sys.modules.keys() == set()
        """
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "rookery.testing.plugin",
        "-p",
        "no:cacheprovider",
        "test_alone.py",
    ]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    result = subprocess.run(command, cwd=project.path, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout
