"""A function under another name is proposed for an exercise, never graded as it."""

import pytest

from grader.course.reading import load_course
from grader.submission.close_names import close_names
from grader.submission.submission import read_submission
from tests.work import calls_of

COURSE = load_course()
STEP = "def trainStep(model, optimizer, criterion, x, y):\n    return trainStep\n"


def proposed(tmp_path, text: str) -> dict[str, str]:
    (tmp_path / "hw.py").write_text(text)
    submission = read_submission(tmp_path / "hw.py", tuple(COURSE.exercises))
    absent = [e for e in COURSE.exercises.values() if submission.source_for(e.name) is None]
    return {pair.own: pair.exercise for pair in close_names(submission.files, absent, COURSE.exercises)}


@pytest.mark.parametrize(
    ("head", "exercise"),
    [
        ("def trainStep(model, optimizer, criterion, x, y)", "train_step"),
        ("def training_step(model, opt, loss_fn, x, y)", "train_step"),
        ("def my_accumulate(model, opt, loss_fn, batches, steps)", "accumulate"),
        ("def gradient_accumulation(model, optimizer, criterion, batches, accumulation_steps)", "accumulate"),
        ("def validate(model, criterion, loader, device)", "evaluate"),
        ("def clip_grad_norm(params, max_norm)", "clip_global_norm"),
        ("def warmupCosine(optimizer, warmup, total)", "warmup_cosine"),
        ("class TrainingConfig", "TrainConfig"),
    ],
)
def test_a_close_name_is_proposed(tmp_path, head, exercise):
    (own,) = proposed(tmp_path, f"{head}:\n    pass\n").items()
    assert own[1] == exercise


@pytest.mark.parametrize(
    "text",
    [
        "def main():\n    pass\n",
        "class Net:\n    pass\n",
        "def plot(losses):\n    pass\n",
        "def get_batch(x, y):\n    pass\n",
        "def _train_step(model):\n    pass\n",
        "class accumulte:\n    pass\n",
        "def train_step(model):\n    return trainStep(model)\n\ndef trainStep(model):\n    pass\n",
        "def accumulate(model):\n    return accumulates(model)\n\ndef accumulates(model):\n    pass\n",
    ],
    ids=["main", "net", "plot", "batch", "private", "class", "used", "used too"],
)
def test_helpers_are_not_proposed(tmp_path, text):
    """A class for a function, or what an exercise calls, is none."""
    assert proposed(tmp_path, text) == {}


def test_each_exercise_is_proposed_once(tmp_path):
    found = proposed(tmp_path, STEP + STEP.replace("trainStep", "training_step"))
    assert found["trainStep"] == "train_step"
    assert list(found.values()).count("train_step") == 1


def test_many_names_cost_little(tmp_path):
    text = "".join(f"def train_stepp{n}{'x' * 50}(a, b): pass\n" for n in range(3_000))
    (tmp_path / "hw.py").write_text(text)
    submission = read_submission(tmp_path / "hw.py", tuple(COURSE.exercises))
    close_names(submission.files[:0], COURSE.exercises.values(), COURSE.exercises)
    calls = calls_of(lambda: close_names(submission.files, COURSE.exercises.values(), COURSE.exercises))
    assert calls < 5_000_000  # 2.3 million; 3,000 names against 36 exercises
