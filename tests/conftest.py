"""What every test stands on: one thread, no trace in the user's own folders, skips that say their reason."""

import os
import shutil
from pathlib import Path

import pytest

# Before torch is imported anywhere: two threads on a busy two-core machine were 14 times slower.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("MPLBACKEND", "agg")

LONGEST = ("test_sample_class.py", "test_mistakes.py", "test_lessons.py", "test_styles.py")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(autouse=True)
def _own_progress(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test never ticks off anything in the progress of the person who runs it."""
    monkeypatch.setenv("HANSTEP_HOME", str(tmp_path_factory.mktemp("progress")))


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: one begun last would run on alone, with the other process idle."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


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

    return "" if torch.cuda.is_available() else "no GPU here"


def _no_sandbox() -> str:
    from grader.sandbox.bubblewrap import explain, probe

    return "" if probe().available else explain(probe())


def _no_browser() -> str:
    return "" if any(shutil.which(name) for name in CHROMIUM) else "no Chromium here"
