"""`check` and `hint` as a learner meets them in a cell."""

import json
import linecache
import random
import signal
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from grader import check, hint
from grader.course.reading import load_course
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source
from grader.submission.source_file import read_source

RIGHT = {name: exercise_source(e) for name, e in load_course().exercises.items() if e.lesson == "01"}


def cell(source: str, *earlier: str, **variables: object) -> dict[str, object]:
    """Run a notebook cell as IPython does: compiled under its own file name, known to linecache and `In`."""
    filename = f"/tmp/ipykernel_test/{abs(hash(source))}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    earlier = ("import torch\nimport torch.nn.functional as F\nfrom torch import nn\n", *earlier)
    namespace: dict[str, object] = {"__name__": "__main__", "In": ["", *earlier, source], **variables}
    for text in earlier:
        exec(text, namespace)
    exec(compile(source, filename, "exec"), namespace)
    return namespace


def checked(source: str, name: str = "train_step", **variables: object):  # type: ignore[no-untyped-def]
    return check(cell(source, **variables)[name])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name: str) -> None:
    """A learner who writes the solution is told so, in HTML and in plain text."""
    shown = checked(RIGHT[name], name)
    assert shown.passed
    assert shown.feedback.score == shown.feedback.max_score > 0
    bundle = shown._repr_mimebundle_()
    assert "통과" in bundle["text/plain"]
    assert "통과" in bundle["text/html"]


def test_names_the_mistake_and_the_learners_own_line() -> None:
    """The core promise: the mistake by name, the learner's line, both orders of events, the recipe."""
    source = RIGHT["train_step"].replace("    opt.zero_grad()\n", "")
    shown = checked(source)
    assert shown.feedback.mistake_ids == ["missing-zero-grad"]
    assert shown.feedback.source_line in source
    diagnosis = shown.feedback.diagnosis
    assert diagnosis.mistakes[0].source_line == shown.feedback.source_line
    assert [m.kind for m in diagnosis.yours] == ["forward", "backward", "step"]
    assert [m.kind for m in diagnosis.right if m.differs] == ["zero_grad"]
    assert diagnosis.recipe.got == pytest.approx((1.0, 1.0))
    assert diagnosis.recipe.expected == pytest.approx((0.0, 1.0), abs=1e-9)


def test_the_answer_is_not_printed_before_the_last_hint() -> None:
    """Feedback and early hints must leave the learner something to find."""
    exercise = load_course().exercise("train_step")
    source = RIGHT["train_step"].replace("    opt.zero_grad()\n", "")
    shown = checked(source)
    code = [line.strip() for line in RIGHT["train_step"].splitlines() if "#" not in line][2:]
    for text in (shown.text, shown.html, *exercise.hints[:-1]):
        assert sum(line in text for line in code) < len(code) - 1, text


def test_an_unlisted_mistake_gets_an_honest_answer_with_a_recipe() -> None:
    """Where no known mistake fits, the recipe still says what the update was made of."""
    source = RIGHT["train_step"].replace(
        "loss.backward()", "(0.5 * loss + 0.25 * loss_fn(model(xb), yb)).backward()"
    )
    shown = checked(source)
    assert not shown.passed
    assert shown.feedback.mistake_ids == []
    assert shown.feedback.diagnosis.recipe.got == pytest.approx((0.75,))
    assert shown.feedback.diagnosis.first_difference is not None


def test_hints_come_one_at_a_time_and_the_last_one_stays() -> None:
    total = len(load_course().exercise("train_step").hints)
    texts = [hint("train_step").text for _ in range(total)]
    assert len(set(texts)) == total
    assert "정답을 볼까요?" in texts[-1]
    assert "loss.backward()" not in texts[-1]
    assert hint("train_step").text == texts[-1], "asked twice is not confirmed"
    answer = hint("train_step", answer=True).text
    assert "loss.backward()" in answer
    assert hint("train_step").text == answer


def test_hints_seen_before_are_shown_again() -> None:
    """In a notebook they are folded below the newest one; a hint that was not asked for stays hidden."""
    hints = load_course().exercise("train_step").hints
    hint("train_step")
    second = hint("train_step")
    assert second.text.index("힌트 1/") < second.text.index("힌트 2/")
    assert f"힌트 2/{len(hints)}" in second.html.split("<details")[0]
    assert "힌트 1/" in second.html.split("<details")[1]
    assert "힌트 3" not in second.text + second.html


def test_warns_about_a_notebook_variable_that_will_not_travel() -> None:
    """`criterion` lives in the notebook only: graded elsewhere, the function would raise a NameError."""
    source = RIGHT["train_step"].replace("loss_fn(logits, yb)", "criterion(logits, yb)")
    shown = check(cell(source, "criterion = nn.CrossEntropyLoss()\n")["train_step"])  # type: ignore[arg-type]
    assert "`criterion`" in " ".join(shown.feedback.notes)


@pytest.mark.parametrize(
    ("definition", "travels"),
    [
        ("SCALE = 1.0", True),
        ("SCALE = {'a': [1.0]}", True),
        ("SCALE = torch.float64", True),
        ("SCALE = len([1])", False),
        ("SCALE = 'cuda' if torch.cuda.is_available() else 'cpu'", False),
    ],
)
def test_the_warning_follows_what_the_reader_of_submissions_keeps(
    definition: str, travels: bool, tmp_path: Path
) -> None:
    source = RIGHT["train_step"].replace("return ", "SCALE\n    return ")
    noted = check(cell(source, definition)["train_step"]).feedback.notes  # type: ignore[arg-type]
    assert (noted == ()) == travels
    path = tmp_path / "hw.ipynb"
    cells = ["import torch", definition, source]
    document = {"cells": [{"cell_type": "code", "source": text, "metadata": {}} for text in cells]}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert ("SCALE" in read_source(path, "hw.ipynb", ["train_step"]).defines) == travels


def test_what_is_computed_in_the_exercises_own_cell_travels() -> None:
    source = "criterion = nn.CrossEntropyLoss()\n" + RIGHT["train_step"].replace(
        "loss_fn(log", "criterion(log"
    )
    assert checked(source).feedback.notes == ()


def test_does_not_warn_about_constants_helpers_and_modules() -> None:
    source = "def helper(loss):\n    return float(loss) * SCALE\n" + RIGHT["train_step"].replace(
        "return loss.item()", "return helper(loss.detach())"
    )
    shown = check(cell(source, "SCALE = 1.0")["train_step"])  # type: ignore[arg-type]
    assert shown.passed
    assert shown.feedback.notes == ()


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n        pass",
        "while True:\n        try:\n            time.sleep(9)\n        except Exception:\n            pass",
    ],
    ids=["runs", "waits"],
)
def test_an_endless_loop_is_stopped(body: str) -> None:
    """The kernel survives, also when the loop swallows exceptions."""
    function = cell(f"import time\ndef train_step(model, opt, loss_fn, xb, yb):\n    {body}\n")["train_step"]
    started = time.perf_counter()
    shown = check(function, seconds=0.5)  # type: ignore[arg-type]
    assert time.perf_counter() - started < 20  # a bound on hanging, not a measurement
    assert shown.feedback.status == "timeout"
    assert "멈췄어요" in shown.text
    assert ("`time.sleep()`" in shown.feedback.message) == ("sleep" in body)


def test_an_endless_loop_is_stopped_outside_the_main_thread() -> None:
    """Where no alarm can be set (a worker thread, Windows) the interpreter itself raises."""
    function = cell("def train_step(model, opt, loss_fn, xb, yb):\n    while True:\n        pass\n")[
        "train_step"
    ]
    statuses: list[str] = []
    worker = threading.Thread(target=lambda: statuses.append(check(function, seconds=0.5).feedback.status))  # type: ignore[arg-type]
    worker.start()
    worker.join(60)
    assert statuses == ["timeout"]


@pytest.fixture
def _listening() -> Iterator[None]:
    """A shell lets what it starts in the background ignore SIGINT, and so do these tests; a kernel listens to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_listening")
def test_ctrl_c_comes_through() -> None:
    """It comes while the learner's loop runs; one during a lazy import of torch's may get lost there."""
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))  # type: ignore[arg-type]
    source = "def train_step(model, opt, loss_fn, xb, yb):\n    began()\n    while True:\n        pass\n"
    function = cell(source, began=timer.start)["train_step"]
    with pytest.raises(KeyboardInterrupt):
        check(function)  # type: ignore[arg-type]


def test_a_broken_kernel_passes_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ctrl-C in the middle of a lazy import breaks the solution's runs just as the learner's: equal, and wrong."""

    def half_imported(*_args: object, **_kwargs: object) -> None:
        raise AttributeError("partially initialized module 'torch._dynamo'")

    cached_reference.cache_clear()
    with monkeypatch.context() as broken:
        broken.setattr(torch.optim.SGD, "__init__", half_imported)
        broken.setattr(torch.optim.AdamW, "__init__", half_imported)
        shown = checked("def train_step(model, opt, loss_fn, xb, yb):\n    while True:\n        pass\n")
    assert not shown.passed
    assert shown.feedback is None
    assert "커널을 다시 시작" in shown.text
    assert checked(RIGHT["train_step"]).passed


def test_the_learners_own_things_are_untouched() -> None:
    """Model, modes, gradients, random states, default dtype and torch's functions are as before a check."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).eval()
    model(torch.ones(1, 2)).sum().backward()
    weights = [p.detach().clone() for p in model.parameters()]
    grads = [p.grad.clone() for p in model.parameters()]  # type: ignore[union-attr]
    torch.manual_seed(5)
    random.seed(5)
    state, python_state = torch.get_rng_state(), random.getstate()
    backward, clip = torch.autograd.backward, nn.utils.clip_grad_norm_
    source = RIGHT["train_step_extras"].replace(
        "opt.step()", "torch.set_default_dtype(torch.float64); torch.rand(3); opt.step()"
    )
    checked("from torch.nn.utils import clip_grad_norm_\n" + source, "train_step_extras")
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == python_state
    assert torch.get_default_dtype() == torch.float32
    assert all(torch.equal(a, b) for a, b in zip(weights, model.parameters(), strict=True))
    assert all(torch.equal(a, b.grad) for a, b in zip(grads, model.parameters(), strict=True))  # type: ignore[arg-type]
    assert not any(m.training for m in model.modules())
    assert (torch.autograd.backward, nn.utils.clip_grad_norm_) == (backward, clip)


@pytest.mark.parametrize("wrong", ["train_step", 3, None, nn.Linear(1, 1), types.SimpleNamespace()])
def test_a_wrong_argument_gets_a_korean_line_and_no_traceback(wrong: object) -> None:
    shown = check(wrong)  # type: ignore[arg-type]
    assert not shown.passed
    assert "train_step" in shown.text or "progress()" in shown.text


def test_a_starter_is_told_that_it_is_empty() -> None:
    shown = checked("def train_step(model, opt, loss_fn, xb, yb):\n    raise NotImplementedError\n")
    assert shown.feedback.score == 0
    assert "시작하지 않았어요" in shown.text


@pytest.mark.parametrize("body", ["pass", "...", '"""아직"""'])
def test_a_body_without_a_statement_is_empty_too(body: str) -> None:
    shown = checked(f"def train_step(model, opt, loss_fn, xb, yb):\n    {body}\n")
    assert "시작하지 않았어요" in shown.text
    assert "정답" not in shown.text  # the order of the right events is part of the answer


def test_a_forgotten_raise_is_not_called_empty() -> None:
    source = RIGHT["train_step"].replace("    return", "    raise NotImplementedError\n    return")
    shown = checked(source)
    assert "시작하지 않았어요" not in shown.text
    assert "줄이 남아 있어요" in shown.text


def test_the_card_counts_the_hints_that_are_left() -> None:
    source = "def train_step(model, opt, loss_fn, xb, yb):\n    return 0.0\n"
    assert "남은 힌트는 4개" in checked(source).html
    hint("train_step")
    assert "남은 힌트는 3개" in checked(source).html


def test_system_exit_and_strange_exceptions_cost_only_the_check() -> None:
    for raised in ("SystemExit(3)", "GeneratorExit", "type('Odd', (BaseException,), {})()"):
        shown = checked(f"def train_step(model, opt, loss_fn, xb, yb):\n    raise {raised}\n")
        assert shown.feedback.score == 0
        assert shown.feedback.status in ("error", "crashed")


@pytest.mark.parametrize("call", [check, lambda: check(3), hint, lambda: hint(3)])
def test_a_call_without_a_function_says_what_to_pass(call) -> None:  # type: ignore[no-untyped-def]
    assert "train_step)" in call().text.replace('"', "")


def test_a_body_that_does_nothing_is_not_called_by_the_names_of_other_mistakes() -> None:
    shown = checked("def evaluate(model, loss_fn, loader):\n    total = 0\n", "evaluate")
    assert shown.feedback.mistake_ids == []
    assert "하나도 실행하지 않았어요" in " ".join(shown.text.split())  # the terminal breaks lines anywhere


def test_a_forgotten_return_is_shown_as_none() -> None:
    source = RIGHT["train_step"].replace("    return loss.item()\n", "")
    assert source != RIGHT["train_step"]
    difference = checked(source).feedback.diagnosis.first_difference
    assert difference.got == "None"


def test_an_objects_address_is_not_part_of_what_was_seen() -> None:
    """Two gradings with one seed write the same results, also where a student hands back objects."""
    source = "def autograd_nodes(loss):\n    return [loss.grad_fn]\n"
    difference = checked(source, "autograd_nodes").feedback.diagnosis.first_difference
    assert "object at 0x…>" in difference.got


def test_a_recipe_from_another_scenario_says_from_which() -> None:
    """Without a loop over epochs the first thing wrong is the number of updates, the recipe is from elsewhere."""
    source = (
        "def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):\n    for xb, yb in loader:\n"
        "        opt.zero_grad()\n        loss_fn(model(xb), yb).backward()\n        opt.step()\n"
    )
    shown = checked(source, "fit")
    recipe, difference = shown.feedback.diagnosis.recipe, shown.feedback.diagnosis.first_difference
    assert recipe.scenario
    assert recipe.scenario != difference.scenario
    assert recipe.scenario.replace("`", "") in shown.text


def test_a_pass_says_how_far_the_lesson_is() -> None:
    """Warm-ups and bonus tasks are not counted."""
    total = len(load_course().lesson("01").counted)
    assert total < len(RIGHT)
    shown = [checked(RIGHT[name], name) for name in RIGHT]
    (first,) = (one for one, name in zip(shown, RIGHT, strict=True) if name == "train_step")
    assert "연습 함수" not in shown[0].text, "the first thing is a warm-up: nothing to count yet"
    assert f"{total}개 가운데 1개를 통과했어요" in first.text
    assert f"{total}개 가운데 1개를 통과했어요" in first.html
    assert f"{total}개를 모두 통과했어요" in shown[-1].text
    assert "(레슨 02 학습 루프 해부" in shown[-1].text


def test_what_a_student_puts_in_a_counters_place_is_no_error_of_the_recorder() -> None:
    source = RIGHT["train_step_extras"].replace(
        "    return ", "    if scheduler is not None:\n        scheduler.last_epoch = {1, 2}\n    return "
    )
    shown = checked(source, "train_step_extras")
    assert not shown.passed
    assert "JSON" not in shown.text
