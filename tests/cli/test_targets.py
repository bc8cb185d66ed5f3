"""Which jobs a pipe names."""

import json

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.cli.targets import read_ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ('[{"id": "job_1"}, {"job_id": "job_2"}, "job_3"]', ["job_1", "job_2", "job_3"]),
        ('{"jobs": [{"id": "job_1"}, "own.id"], "total": 2}', ["job_1", "own.id"]),
        ('{"id": "job_1", "queue": "q"}\n{"job_id": "job_2"}\n', ["job_1", "job_2"]),
        ('{"id": "job_1"}', ["job_1"]),
        ('{\n  "id": "job_1",\n  "payload": {"id": "no"}\n}\n{\n  "id": "job_2"\n}\n', ["job_1", "job_2"]),
        ('"job_1"\n"job_2"\n', ["job_1", "job_2"]),
        ("job_1\njob_2\n", ["job_1", "job_2"]),
        ("ID      QUEUE\njob_1  q  pending\n  job_2  q\nother  job_3\n\n", ["job_1", "job_2"]),
        (
            "ID  QUEUE  STATE  REASON\nown.id  q  held\n1 of 1 jobs (2ms)\n-x  q  held\njob_1\n",
            ["own.id", "-x", "job_1"],
        ),
        ("own.id\njob_1\n", ["job_1"]),
        ("job_1\r\njob_2\r\n", ["job_1", "job_2"]),
        ("\ufeffjob_1", ["job_1"]),
        ('\ufeff["job_1"]', ["job_1"]),
        ('[{"queue": "q"}, {"id": null, "job_id": "job_1"}, {"id": 5}, 5, null, "", [], true]', ["job_1"]),
        ('{"jobs": null, "id": "job_1"}', ["job_1"]),
        (f'[{{"id": "job_1", "payload": {"9" * 5000}}}]', ["job_1"]),
        ('[{"id": "job_1", "payload": [1.5, NaN]}]', ["job_1"]),
        ("[]", []),
        ("{}", []),
        ("", []),
        (" \n ", []),
        ("No held jobs\n", []),
    ],
)
def test_ids_are_recognised_by_content(text: str, ids: list[str]) -> None:
    assert read_ids(text.encode()) == ids


def test_it_is_said_how_many_lines_name_no_job(capsys: pytest.CaptureFixture[str]) -> None:
    read_ids(b"ID  QUEUE  STATE\njob_1  q  dead\n\n1 of 1 jobs\nx y\n")
    assert capsys.readouterr().err == "2 lines of stdin skipped: no job id in front\n"
    read_ids(b"ID  QUEUE  STATE\njob_1  q  dead\n\n")
    read_ids(b"No held jobs\n")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("text", ['[{"id": "job_1"}', '{"id": "job_1"', '["job_1"] x', "[INFO] job_1", "[" * 100_000])
def test_broken_json_names_nobody(text: str) -> None:
    with pytest.raises(click.ClickException, match="stdin is not valid JSON"):
        read_ids(text.encode())


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(click.ClickException, match="UTF-8"):
        read_ids(b"job_1\n\xff")


IDS = st.lists(st.integers(0, 10**6).map("job_{:X}".format), max_size=20)


@settings(deadline=None)
@given(IDS, st.sampled_from([None, 2]))
def test_every_form_of_the_same_jobs_names_the_same(ids: list[str], indent: int | None) -> None:
    jobs = [{"queue": "q", "payload": {"id": "x", "job_id": "y"}, "id": id} for id in ids]
    forms = [
        json.dumps(jobs, indent=indent),
        json.dumps({"jobs": jobs, "total": len(ids)}, indent=indent),
        json.dumps(ids, indent=indent),
        "".join(json.dumps(job, indent=indent) + "\n" for job in jobs),
        "".join(json.dumps(id) + "\n" for id in ids),
        "".join(f"{id}\n" for id in ids),
        "ID  QUEUE\n" + "".join(f"{id}  q  [x]\n" for id in ids),
    ]
    assert [read_ids(form.encode()) for form in forms] == [ids] * len(forms)
