"""Under the microscope: torch's own numbers, whose gradients went where, and where a wrong program parts."""

import random
import sys

import numpy as np
import pytest
import torch

from grader.course.reading import load_course
from grader.judging.reference import cached_reference
from grader.notebook.microscopy.compare import Side, mixture
from grader.notebook.microscopy.look import View, _solution, as_taught, views
from grader.notebook.microscopy.situations import (
    CLIPPED,
    NAMES,
    ONLY_GRADIENTS,
    OPTIMIZERS,
    NothingToSee,
    build_bench,
    mean_square,
    situation_names,
)
from tests.microscopy.programs import FORGETS, HEAD, RIGHT, looked, signature
from tests.sample_programs import sample, samples

COURSE = load_course()
SHOWN = (
    *("mend_step", "train_step", "train_step_extras", "accumulate", "fit"),
    *("add_gradient", "accumulate_weighted", "overfit_one_batch"),
    *("amp_step", "amp_accumulate", "sam_step", "sam_accumulate", "sam_accumulate_weighted"),
)


def view(views: list[View], name: str = "SGD") -> View:
    return next(one for one in views if one.name == name)


def kinds(side: Side) -> list[str]:
    return [moment.kind for moment in side.recording.moments]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_a_request_for_cuda_is_seen_on_the_cpu() -> None:
    asking, plain = looked(HEAD + "    xb = xb.cuda()\n" + RIGHT), looked(HEAD + RIGHT)
    for one, other in zip(asking, plain, strict=True):
        assert one.yours.recording.failure is None
        assert list(filter(None, kinds(one.yours))) == list(filter(None, kinds(other.yours)))


# ---- the numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_number_is_torchs(name: str) -> None:
    """The same arithmetic done here, without the microscope: not a bit differs."""
    seen = view(looked(HEAD + RIGHT), name).yours
    bench = build_bench(signature(HEAD + RIGHT), name)
    bench.wrap_loss(mean_square)
    parameters = list(bench.model.parameters())
    snapshots = iter(moment for moment in seen.recording.moments)
    for xb, yb in bench.batches[:2]:
        bench.optimizer.zero_grad()
        assert next(snapshots).after.grads == (None,) * len(NAMES)
        loss = mean_square(bench.model(xb), yb)
        next(snapshots)
        assert next(snapshots).after.loss == loss.item()
        loss.backward()
        assert next(snapshots).after.grads == tuple(torch.cat([p.grad.ravel() for p in parameters]).tolist())  # type: ignore[union-attr]
        bench.optimizer.step()
        after = next(snapshots).after
        assert after.values == tuple(torch.cat([p.detach().ravel() for p in parameters]).tolist())
        for key, slots in after.state.items():
            kept = [bench.optimizer.state[p][key].ravel() for p in parameters]
            assert slots == tuple(torch.cat(kept).tolist())
    assert next(snapshots, None) is None
    entries = {"SGD": set(), "모멘텀": {"momentum_buffer"}, "AdamW": {"exp_avg", "exp_avg_sq"}}
    assert set(after.state) == entries[name]


def test_the_shares_add_up_to_the_gradient() -> None:
    for one in looked(FORGETS):
        for side in (one.yours, one.right):
            for moment, contents in zip(side.recording.moments, side.flow.contents, strict=True):
                assert contents.grad is not None
                shares = [
                    amount * np.array(side.flow.gradients[key]) for key, amount in contents.grad.items()
                ]
                held = np.array([g or 0.0 for g in moment.after.grads])
                assert np.allclose(sum(shares, np.zeros(len(NAMES))), held, rtol=0, atol=1e-12)


def test_the_gradient_was_added_to_the_old_one() -> None:
    seen = view(looked(FORGETS))
    assert seen.comparison.wrong
    assert "지우지 않은 g₁에 더해졌어요" in seen.comparison.text
    column = seen.columns[seen.comparison.focus]
    assert (column.name, column.call) == ("backward", 1)
    assert mixture(seen.yours.contents(column.yours).grad or {}) == "g₁ + g₂"
    assert mixture(seen.right.contents(column.right).grad or {}) == "g₂"
    assert "이미 있던 `.grad`에" in seen.yours.caption(column.yours)
    assert seen.yours.recording.moments[column.yours].line == 4
    missing = [c for c in seen.columns if c.name == "zero_grad"]
    assert [c.acts for c in missing] == [(False, True)] * 2


def test_clearing_what_is_empty_is_no_difference() -> None:
    """The solution of `accumulate` clears at its start too, when `.grad` is still None; leaving that out is right."""
    source = (
        "def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):\n"
        "    for number, (xb, yb) in enumerate(micro_batches, start=1):\n"
        "        loss_fn(model(xb), yb).backward()\n"
        "        if number % accum_steps == 0:\n"
        "            opt.step()\n"
        "            opt.zero_grad()\n"
        "    return number // accum_steps\n"
    )
    seen = looked(source, "accumulate")[0]
    assert seen.comparison.wrong, "it does not divide"
    alone = [column for column in seen.columns if column.acts == (False, True)]
    assert alone[0].name == "zero_grad"
    assert alone[0].idle
    forgets = view(looked(FORGETS))
    assert [c.idle for c in forgets.columns if c.name == "zero_grad"] == [True, False]


def test_a_right_program_is_shown_first_where_both_act() -> None:
    """It clears at its end, the solution at its beginning."""
    late = RIGHT.replace("    opt.zero_grad()\n", "").replace("opt.step()", "opt.step(); opt.zero_grad()")
    seen = view(looked(HEAD + late))
    assert not seen.comparison.wrong
    assert seen.columns[0].acts == (False, True)
    assert seen.columns[seen.comparison.focus].acts == (True, True)


def test_it_shows_a_moment_at_which_the_sides_differ() -> None:
    """With `zero_grad` before `step`, it opened at `backward`, after which both sides are equal."""
    cleared = RIGHT.replace("    opt.zero_grad()\n", "").replace(
        "    opt.step()", "    opt.zero_grad()\n    opt.step()"
    )
    seen = view(looked(HEAD + cleared))
    column = seen.columns[seen.comparison.focus]
    mine, theirs = seen.yours.snapshot(column.yours), seen.right.snapshot(column.right)
    assert column.acts != (True, True) or mine.grads != theirs.grads


# ---- what is told of wrong programs ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("    opt.step()\n", ""), "한 번도 옮기지 않았어요"),
        (("    loss.backward()\n", ""), "내 코드: 0, 정답: g₁"),
        (("loss.backward()", "(loss / 2).backward()"), "내 코드: 0.5·g₁, 정답: g₁"),
        (
            ("    opt.step()\n", "    opt.step()\n    opt.step()\n"),
            "두 번째 업데이트에 들어간 그레이디언트가 달라요. 내 코드: g₁, 정답: g₂",
        ),
        (
            ("    opt.zero_grad()\n", "    opt.zero_grad()\n    model.eval()\n"),
            "모델이 평가 모드예요. 정답은 학습 모드예요",
        ),
        (
            ("    return", "    for group in opt.param_groups:\n        group['lr'] = 1.0\n    return"),
            "두 번째 업데이트",
        ),
        (("model(xb)", "modle(xb)"), "3번째 줄에서 예외가 났어요. NameError"),
        (("    opt.step()\n", "    while True:\n        pass\n"), "끝나지 않아 멈췄어요"),
        (("    opt.step()\n", "    while True:\n        opt.step()\n"), "끝나지 않아 멈췄어요"),
        (("    opt.step()\n", "    for _ in range(200):\n        opt.step()\n"), "앞부분만 보여"),
        (("    opt.step()\n", "    raise BaseException\n"), "비정상으로 끝났어요"),
    ],
    ids=(
        "no-step",
        "no-backward",
        "halved",
        "step-twice",
        "eval",
        "rate",
        "name",
        "endless",
        "steps-endlessly",
        "many",
        "crash",
    ),
)
def test_what_a_wrong_program_does_otherwise(change: tuple[str, str], told: str) -> None:
    seen = looked(HEAD + RIGHT.replace(*change))[0]
    assert seen.comparison.wrong
    assert told in seen.comparison.text
    assert seen.yours.recording.moments, "what was seen until then"


def test_accumulation_and_its_short_window() -> None:
    right = view(looked(sample("accepted", "accumulate", "look_ahead").text, "accumulate")).yours
    assert [mixture(right.contents(i).update or {}) for i in right.steps] == ["0.5·g₁ + 0.5·g₂", "g₃"]


def test_sam_looks_at_two_places_and_amp_at_two_scales() -> None:
    sam = view(_of_solution("sam_step")).right
    assert mixture(sam.contents(sam.steps[0]).update or {}) == "g₁(w+e)"
    climbed, back = kinds(sam).index("first_step"), kinds(sam).index("second_step")
    assert sam.snapshot(climbed).values != sam.recording.start.values
    assert sam.snapshot(back).values == sam.recording.start.values
    amp = view(_of_solution("amp_step")).right
    assert mixture(amp.contents(kinds(amp).index("backward")).grad or {}) == "8.0·g₁"
    assert mixture(amp.contents(amp.steps[0]).update or {}) == "g₁"
    clipped = view(_of_solution("amp_step"), CLIPPED).right
    norm = float(np.linalg.norm([g or 0.0 for g in clipped.snapshot(kinds(clipped).index("clip")).grads]))
    assert norm == pytest.approx(0.5, rel=1e-5)


def _of_solution(name: str) -> list[View]:
    solution = _solution(COURSE.exercise(name).lesson)
    return views(COURSE.exercise(name), solution.names[name], solution)


# ---- optimizers that are not explained yet ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("exercise", "names"),
    [
        ("train_step", ["SGD"]),
        ("accumulate", ["SGD", CLIPPED]),
        ("fit", ["SGD", "모멘텀"]),
        ("amp_step", ["SGD", "모멘텀", "AdamW", CLIPPED]),
    ],
)
def test_an_optimizer_is_shown_from_the_part_on_that_explains_it(exercise: str, names: list[str]) -> None:
    """Momentum and AdamW stood as tabs over the first function of the course."""
    found = as_taught(_of_solution(exercise), COURSE.exercise(exercise), COURSE)
    assert [one.name for one in found] == names


def test_one_that_is_not_explained_yet_is_shown_if_nothing_else_tells() -> None:
    only_adamw = HEAD + "    if opt.__class__.__name__ == 'AdamW':\n        return 0.0\n" + RIGHT
    exercise = COURSE.exercise("train_step")
    assert [one.name for one in as_taught(looked(only_adamw), exercise, COURSE)] == [
        "SGD",
        "AdamW (7편에서 배워요)",
    ]
    assert [one.name for one in as_taught(looked(FORGETS), exercise, COURSE)] == ["SGD"]


# ---- a function that only adds gradients ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (
            "clears-first",
            "두 번째 호출이 끝난 뒤의 `.grad`가 달라요. 내 코드: 0.25·g₂, 정답: 0.5·g₁ + 0.25·g₂",
        ),
        ("ignores-weight", "첫 번째 호출이 끝난 뒤의 `.grad`가 달라요. 내 코드: g₁, 정답: 0.5·g₁"),
        ("missing-backward", "첫 번째 호출이 끝난 뒤의 `.grad`가 달라요. 내 코드: 0, 정답: 0.5·g₁"),
        ("updates-parameters", "내 코드는 매개변수까지 옮겼어요. 정답은 `.grad`만 바꿔요."),
    ],
)
def test_gradients_are_compared_where_nothing_is_updated(mistake: str, told: str) -> None:
    source = f"import torch\n{cached_reference('add_gradient', 1).sources[mistake]}"
    (one,) = looked(source, "add_gradient")
    assert (one.name, one.comparison.wrong, one.comparison.text) == (ONLY_GRADIENTS, True, told)


# ---- right programs --------------------------------------------------------------------------------------


def test_which_exercises_there_is_something_to_see_of() -> None:
    found = []
    for name in COURSE.exercises:
        try:
            seen = _of_solution(name)
        except NothingToSee:
            continue
        found.append(name)
        assert not any(one.comparison.wrong for one in seen)
        assert all(one.right.steps for one in seen) or name == "add_gradient"
    assert tuple(found) == tuple(name for name in COURSE.exercises if name in SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_no_right_style_is_told_to_differ(name: str) -> None:
    """Closures, gradients by hand, clearing at the end, …"""
    right = [sample for sample in samples("accepted", name) if sample.suffix == ".py"]
    assert right
    for program in right:
        told = [one.comparison.text for one in looked(program.text, name) if one.comparison.wrong]
        assert not told, f"{program}: {told}"


def test_the_process_stays_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    noisy = RIGHT.replace(
        "    opt.zero_grad()\n",
        "    import random\n    print('noise'); random.random(); torch.rand(1)\n    opt.zero_grad()\n"
        "    torch.set_default_dtype(torch.float16)\n    torch.set_grad_enabled(True)\n",
    )
    before = (sys.gettrace(), random.getstate(), torch.get_default_dtype(), torch.is_grad_enabled())
    state = torch.get_rng_state()
    looked(f"import torch\n{HEAD}{noisy}")
    assert (sys.gettrace(), random.getstate(), torch.get_default_dtype(), torch.is_grad_enabled()) == before
    assert torch.equal(torch.get_rng_state(), state)
    assert capsys.readouterr().out == ""


def test_a_program_that_replaces_what_it_was_given() -> None:
    """Parameters without numbers, gradients of another size: shown as what is there, and nothing breaks."""
    for line in (
        "model.linear.weight.data = torch.zeros(7)",
        "model.linear.weight.grad = None",
        "model.linear.bias.data.fill_(float('nan'))",
        "opt.state.clear(); opt.param_groups[0]['lr'] = float('inf')",
    ):
        source = f"import torch\n{HEAD}{RIGHT.replace('    return', f'    {line}{chr(10)}    return')}"
        assert looked(source)[0].yours.recording.moments


def test_the_bench_is_the_same_every_time() -> None:
    first, second = (build_bench(signature(HEAD + RIGHT), "SGD") for _ in range(2))
    assert all(
        torch.equal(a, b) for a, b in zip(first.model.parameters(), second.model.parameters(), strict=True)
    )
    with pytest.raises(NothingToSee):
        situation_names(signature("def train_step(weights, rate): ..."))
