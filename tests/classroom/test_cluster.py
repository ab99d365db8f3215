"""A class graded on a Ray cluster comes out as it does here, also when a machine of it dies."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.classroom.cluster import ClusterError
from grader.course.feedback import SubmissionResult
from grader.course.reading import load_course
from grader.grading.grading_run import GradingRun
from grader.judging.solution import solution_source
from grader.submission.submission import Submission, read_submission
from tests.classroom.graded import graded
from tests.classroom.timeless import timeless

ray = pytest.importorskip("ray", reason="needs the extra `ray`")
pytestmark = [pytest.mark.full, pytest.mark.by_command, pytest.mark.sandbox, pytest.mark.timeout(300)]

COURSE = load_course()
RIGHT = solution_source("01")
STEP = """
def train_step(model, opt, loss_fn, xb, yb):
    {clear}
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    two = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    two.add_node(num_cpus=1)
    yield two
    two.shutdown()


@pytest.fixture
def submissions(tmp_path: Path) -> list[Submission]:
    files = {
        "right": RIGHT,
        "wrong": STEP.format(clear="pass"),
        "clears": STEP.format(clear="opt.zero_grad()"),
        "dies": "import os\ndef train_step(*args):\n    os._exit(1)\n",
        "broken": "def train_step(:\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return [read_submission(tmp_path / f"{name}.py", tuple(COURSE.exercises)) for name in files]


def grading(address: str | None, jobs: int = 2) -> GradingRun:
    return GradingRun(COURSE, (COURSE.lesson("01"),), seed=7, sandbox="bwrap", jobs=jobs, ray=address)


def test_the_same_results_as_here(cluster: Any, submissions: list[Submission]) -> None:
    told: list[str] = []
    there = graded(grading(cluster.address), submissions, lambda result: told.append(result.student))
    here = graded(grading(None), submissions)
    assert timeless(there) == timeless(here)
    assert sorted(told) == sorted(s.student for s in submissions)
    assert there[0].passed
    assert there[1].feedbacks[0].mistake_ids == ["missing-zero-grad"]


def test_a_machine_that_dies_costs_nobody_a_result(cluster: Any, submissions: list[Submission]) -> None:
    extra = cluster.add_node(num_cpus=1)
    many = [replace(s, student=f"{s.student}-{n}") for n in range(4) for s in submissions]

    def unplug(result: SubmissionResult) -> None:
        if extra in cluster.list_all_nodes():
            cluster.remove_node(extra, allow_graceful=False)

    there = graded(grading(cluster.address, jobs=3), many, unplug)
    here = graded(grading(None), submissions)
    assert timeless(there) == timeless(
        [replace(r, student=f"{r.student}-{n}") for n in range(4) for r in here]
    )


def test_no_cluster_is_told_in_korean(submissions: list[Submission]) -> None:
    with pytest.raises(ClusterError, match=r"연결하지 못했어요: 127\.0\.0\.1:9 .*ray start --head"):
        graded(grading("127.0.0.1:9"), submissions)
