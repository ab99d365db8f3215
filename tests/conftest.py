"""What every test stands on: one thread, no trace in the user's own folders, skips that say their reason."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.browser import CHROMIUM
from tests.places import ROOT
from tests.sample_programs import Sample

# Before torch is imported anywhere: two threads on a busy two-core machine were 14 times slower.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("MPLBACKEND", "agg")

# `HANSTEP_FAKE_CUDA=1 pytest -m cuda`: the tests that need a GPU run on a pretended one, in a run of its own.
if os.environ.get("HANSTEP_FAKE_CUDA") == "1":
    from tests import fake_device

    if not fake_device.missing():
        fake_device.install(share_random=True)

# `pytest --hypothesis-profile=ci`, as .ci/run does. No deadlines: the machine may be busy.
settings.register_profile("dev", max_examples=20, deadline=None)
settings.register_profile("ci", max_examples=100, deadline=None)
settings.load_profile("dev")

LONGEST = (
    "test_sample_class.py",
    "notebook",
    "test_contributing.py",
    "test_cli.py",
    "train_gpt",
    "train_accelerate",
    "train",
    "train_qa",
)
"""What takes longest (a file, an exercise, a notebook) comes first: begun last, it would run on alone."""


_NO_SEED = 1_000  # after those of one seed, whose results some of the others add up


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a long text by its argument and length; pytest would repeat up to 200,000 characters in the id."""
    return f"{argname} of {len(val):,}" if isinstance(val, str | bytes) and len(val) > 200 else None


@pytest.fixture(autouse=True)
def _gpus_stay_in_sight() -> Iterator[None]:
    """A command that is run on the CPU hides the GPUs from its process; here that would be every later test's."""
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    yield
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    if before is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = before


@pytest.fixture(scope="session", autouse=True)
def _runs_are_kept() -> None:
    """Keep all runs of the known mistakes: the tests of one exercise, which follow each other, need the same ones.

    A class needs few of them again, so the grader keeps 300; here some exercises have 2,000 (30 MB).
    """
    from grader.judging import reference

    reference._MAX_KEPT_RUNS, reference._MAX_KEPT_PROGRAMS = 4000, 1000


@pytest.fixture(autouse=True)
def _own_progress(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test never ticks off anything in the progress of the person who runs it."""
    monkeypatch.setenv("HANSTEP_HOME", str(tmp_path_factory.mktemp("progress")))


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The repository's root."""
    return ROOT


# ---- which process runs what, and in which order -----------------------------------------------------


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one exercise go to one process, seed by seed: there its traces are kept. So do those of one notebook.

    Others stay file by file.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=_place)


def _group(item: pytest.Item) -> str:
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    exercise, lesson, sample = (parameters.get(name) for name in ("exercise", "lesson", "sample"))
    if exercise is not None:
        return str(getattr(exercise, "name", exercise))
    if lesson is not None:
        return f"notebook {getattr(lesson, 'name', lesson)}"
    if item.path.name == "test_notebooks.py" and "part" in parameters:  # each is run for seconds, on its own
        return f"notebook {parameters['part'].place}"
    return sample.exercise if isinstance(sample, Sample) else item.path.name


def _place(item: pytest.Item) -> tuple[int, str, int]:
    (group,) = item.get_closest_marker("xdist_group").args  # type: ignore[union-attr]
    name = group.split()[0]
    seed = item.callspec.params.get("seed", _NO_SEED) if hasattr(item, "callspec") else _NO_SEED
    return LONGEST.index(name) if name in LONGEST else len(LONGEST), group, seed


# ---- what this machine cannot do -----------------------------------------------------------------------


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot do. With HANSTEP_REQUIRE=sandbox,browser a lack is a failure instead."""
    for marker, lack in (("cuda", _no_cuda), ("sandbox", _no_sandbox), ("browser", _no_browser)):
        if item.get_closest_marker(marker) is None:
            continue
        reason = lack()
        if reason and marker in os.environ.get("HANSTEP_REQUIRE", "").split(","):
            pytest.fail(reason)
        if reason:
            pytest.skip(reason)


def _no_cuda() -> str:
    import torch

    from tests import fake_device

    if torch.cuda.is_available():
        return ""
    pretend = os.environ.get("HANSTEP_FAKE_CUDA") == "1"
    return (pretend and fake_device.missing()) or "no GPU here"


def _no_sandbox() -> str:
    from grader.sandbox.bubblewrap import explain_probe, probe

    return "" if probe().available else explain_probe(probe())


def _no_browser() -> str:
    return "" if CHROMIUM else "no Chromium here"
