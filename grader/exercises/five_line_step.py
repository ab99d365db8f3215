"""Drivers of lesson 01: what `train_step`, `accumulate` and their siblings are put through.

A fixture contains what tells the known mistakes apart: uneven sizes, a tail, two calls, two parameter groups,
a moving rate, a clip that is active only sometimes, dropout with a model handed over in eval mode.
"""

import copy
from collections.abc import Iterator
from typing import Any

import torch

from grader.exercises import _five_line_step_by_hand
from grader.exercises._five_line_step_by_hand import next_gradients
from grader.observe.fixtures.classifiers import (
    CLASSES,
    Batch,
    Loader,
    Net,
    Once,
    SizedLoader,
    adamw,
    batches,
    buffers,
    freeze_last,
    gradient_norm,
    loss_function,
    mlp,
    moody_mlp,
    scale_rates,
    set_modes,
    sgd,
)
from grader.observe.play import Driver, Env, Problem, Scenario, Stage
from grader.observe.recorder import as_number, type_name

CLIP_ATOL = 1e-5
"""torch divides by norm + 1e-6; a clip written by hand without it is right too (measured: 1.4e-7 apart)."""

FLOAT32_ATOL = 1e-6
"""Losses and accuracies may pass through float32 on their way out (`(pred == yb).float().mean()`, a running
sum that starts as `torch.tensor(0.0)`): right too, and rounded to about 1e-7."""

BELOW_LARGEST = 0.08
"""Share of a gradient's norm below its largest component (66 parameters: at least 1/√66 = 0.12): a limit at
which clipping by value acts too, whatever the seed."""

STEP_SIZES = (4, 3, 5, 2, 4)
LARGE = 1
"""The batch whose size follows from the seed instead, so that a function that looks at its first rows only shows.
Not one of those at which a clip is active: with its size its gradient shrinks."""


# ---- train_step ----------------------------------------------------------------------------------


def _step_problem(env: Env) -> Problem:
    sizes = list(STEP_SIZES)
    sizes[LARGE] = 9 + env.number("large") % 32
    return Problem(mlp(env), batches(env, sizes), loss_function(env))


def _train_steps(stage: Stage, make_optimizer: Any, *, record_returns: bool = False) -> None:
    problem, recorder = _step_problem(stage.env), stage.recorder
    opt = make_optimizer(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    for xb, yb in problem.batches:
        value = recorder.call(stage.student("train_step"), problem.model, opt, problem.loss_fn, xb, yb)
        if record_returns:
            recorder.returned(value)
        scale_rates(opt, 0.8)


def _train_step_sgd(stage: Stage) -> None:
    _train_steps(stage, sgd)


def _train_step_adamw(stage: Stage) -> None:
    _train_steps(stage, adamw)


def _train_step_returns(stage: Stage) -> None:
    """With one float32 model after them: only its dtypes are compared, rounding is nobody's mistake."""
    _train_steps(stage, sgd, record_returns=True)
    problem = _step_problem(stage.env)
    model, (xb, yb) = mlp(stage.env).float(), problem.batches[0]
    stage.recorder.call(stage.student("train_step"), model, sgd(model), problem.loss_fn, xb.float(), yb)
    stage.recorder.fact("매개변수의 dtype", [*sorted({str(p.dtype) for p in model.parameters()})])


def _train_step_modes(stage: Stage) -> None:
    """A fresh model in train mode, one in eval mode, and one with a frozen BatchNorm: one call each."""
    env, recorder = stage.env, stage.recorder
    loss_fn = loss_function(env)
    (batch,) = batches(env, (6,))
    for mode in ("train", "eval", "frozen"):
        model = moody_mlp(env, mode)
        set_modes(model, mode)
        opt = sgd(model)
        recorder.watch(model, opt)
        torch.manual_seed(env.number("dropout"))
        recorder.call(stage.student("train_step"), model, opt, loss_fn, *batch)
        recorder.modes()
        recorder.array(f"buffers/{mode}", buffers(model))


# ---- train_step_extras ---------------------------------------------------------------------------


def _extras(stage: Stage, *, momentum: float, clips: bool, schedules: bool) -> None:
    problem, recorder = _step_problem(stage.env), stage.recorder
    model, loss_fn = problem.model, problem.loss_fn
    norm = gradient_norm(model, loss_fn, problem.batches[0])
    opt = sgd(model, momentum=momentum)
    gamma = 0.5 + 0.4 * float(torch.rand(1, generator=stage.env.generator("gamma")))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma) if schedules else None
    recorder.watch(model, opt, scheduler, batches=[xb for xb, _ in problem.batches])
    # Active, inactive, active, not asked for, active: a clip that always or never acts hides mistakes.
    limits = (BELOW_LARGEST * norm, 50.0 * norm, 0.3 * norm, None, 0.4 * norm)
    rates = []
    for (xb, yb), limit in zip(problem.batches, limits, strict=True):
        recorder.call(
            stage.student("train_step_extras"),
            *(model, opt, loss_fn, xb, yb),
            max_norm=limit if clips else None,
            scheduler=scheduler,
        )
        rates.append([group["lr"] for group in opt.param_groups])
        if scheduler is not None:
            recorder.append_fact("scheduler.step()의 횟수", scheduler.last_epoch)
    recorder.array("rates", torch.tensor(rates))


def _extras_clip(stage: Stage) -> None:
    _extras(stage, momentum=0.0, clips=True, schedules=False)


def _extras_schedule(stage: Stage) -> None:
    _extras(stage, momentum=0.0, clips=False, schedules=True)


def _extras_both(stage: Stage) -> None:
    _extras(stage, momentum=0.9, clips=True, schedules=True)


def _extras_plain(stage: Stage) -> None:
    """Without either extra it is a plain step: the loss before the update comes back, the modes stay."""
    problem, recorder = _step_problem(stage.env), stage.recorder
    opt = adamw(problem.model)
    freeze_last(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    for xb, yb in problem.batches:
        recorder.returned(
            recorder.call(stage.student("train_step_extras"), problem.model, opt, problem.loss_fn, xb, yb)
        )
        scale_rates(opt, 0.8)
    recorder.modes()
    recorder.fact("모든 순전파가 받은 모드에서", all(recorder.forward_modes))


def _extras_returns(stage: Stage) -> None:
    """The loss comes back with either extra too: of one call each, so that no wrong update shows in it."""
    for name in ("max_norm", "scheduler"):
        problem = _step_problem(stage.env)
        opt = sgd(problem.model)
        extra = {"max_norm": 0.1, "scheduler": torch.optim.lr_scheduler.ExponentialLR(opt, 0.5)}
        student, batch = stage.student("train_step_extras"), problem.batches[0]
        value = stage.recorder.call(
            student, problem.model, opt, problem.loss_fn, *batch, **{name: extra[name]}
        )
        stage.recorder.returned(value)


# ---- accumulate ----------------------------------------------------------------------------------

MICRO = 3
"""Samples in every micro-batch: equal, so that concatenating a window is as right as looping over it."""


def _accumulate_problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, [MICRO] * 18), loss_function(env))


def _accumulate(
    stage: Stage,
    make_optimizer: Any,
    *,
    clips: bool = False,
    record_returns: bool = False,
    record_leftover: bool = False,
) -> None:
    """Two calls: 11 micro-batches by 4 (tail of 3), then 7 by 3 from a generator (tail of 1)."""
    problem, recorder = _accumulate_problem(stage.env), stage.recorder
    model, loss_fn, data = problem.model, problem.loss_fn, problem.batches
    first_window = (torch.cat([xb for xb, _ in data[:4]]), torch.cat([yb for _, yb in data[:4]]))
    norm = gradient_norm(model, loss_fn, first_window)
    opt = make_optimizer(model)
    if record_leftover:
        freeze_last(model)
    recorder.watch(model, opt, batches=[xb for xb, _ in data])
    # Active in the first call (four times the limit still is), out of reach in the second: a clip that
    # always acts hides a wrong scale.
    parts = ((data[:11], 4, 0.15 * norm), (data[11:], 3, 50.0 * norm))
    for number, (part, accum_steps, limit) in enumerate(parts):
        micro_batches = part if number == 0 else (batch for batch in part)
        extra = {"max_norm": limit} if clips else {}
        value = recorder.call(
            stage.student("accumulate"), model, opt, loss_fn, micro_batches, accum_steps, **extra
        )
        if record_returns:
            recorder.returned(value)
        if record_leftover:
            recorder.append_fact("그레이디언트가 남음", recorder.gradients_left())
            # What is left counts as 1: it may have been divided by anything.
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.grad = parameter.grad.ne(0).to(parameter.dtype)
            recorder.array(f"gradients/{number}", next_gradients(model, loss_fn, data[number]))
            recorder.modes()
            recorder.fact("모든 순전파가 받은 모드에서", all(recorder.forward_modes))
        scale_rates(opt, 0.8)


def _accumulate_sgd(stage: Stage) -> None:
    _accumulate(stage, sgd)


def _accumulate_adamw(stage: Stage) -> None:
    _accumulate(stage, adamw)


def _accumulate_clip(stage: Stage) -> None:
    _accumulate(stage, lambda model: sgd(model, momentum=0.9), clips=True)


def _accumulate_returns(stage: Stage) -> None:
    _accumulate(stage, sgd, record_returns=True)


def _accumulate_leftover(stage: Stage) -> None:
    _accumulate(stage, sgd, record_leftover=True)


def _accumulate_edges(stage: Stage) -> None:
    """One micro-batch a window, fewer micro-batches than a window, none at all, and impossible windows."""
    problem, recorder = _accumulate_problem(stage.env), stage.recorder
    student, model, loss_fn = stage.student("accumulate"), problem.model, problem.loss_fn
    opt = sgd(model)
    recorder.watch(model, opt)
    for part, accum_steps in ((problem.batches[:3], 1), (problem.batches[3:5], 9), ([], 2)):
        recorder.returned(recorder.call(student, model, opt, loss_fn, iter(part), accum_steps))
    for accum_steps in (0, -2):
        recorder.expect(
            ValueError,
            f"accum_steps={accum_steps}",
            student,
            model,
            opt,
            loss_fn,
            problem.batches,
            accum_steps,
        )


# ---- fit -----------------------------------------------------------------------------------------

FIT_SIZES = (4, 4, 4, 1)


def _fit_problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, FIT_SIZES), loss_function(env))


def _fit(stage: Stage, make_optimizer: Any, *, zero_grad: bool = True, record_returns: bool = False) -> None:
    problem, recorder = _fit_problem(stage.env), stage.recorder
    opt = make_optimizer(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    extra = {} if zero_grad else {"zero_grad": False}
    loader = SizedLoader(problem.batches)
    epochs = 3 + stage.env.number("epochs") % 2
    history = recorder.call(
        stage.student("fit"), problem.model, opt, problem.loss_fn, loader, epochs, **extra
    )
    if record_returns:
        _record_sequence(recorder, history)
        student, other = stage.student("fit"), mlp(stage.env, "without length")
        given = (other, make_optimizer(other), problem.loss_fn, Loader(problem.batches[2:]), 1)
        # A fact and no failure: the mistake behind it (a mean over `len(loader)`) is to be told, not the TypeError.
        recorder.expect(TypeError, "길이가 없는 loader", student, *given)


def _record_sequence(recorder: Any, values: Any) -> None:
    """A returned list or tuple of numbers, with the type of each."""
    items = list(values) if isinstance(values, list | tuple) else []
    recorder.fact("반환 타입", [type_name(values), *(type_name(item) for item in items)])
    recorder.array("returned", torch.tensor([as_number(item) for item in items], dtype=torch.float64))


def _fit_sgd(stage: Stage) -> None:
    _fit(stage, sgd)


def _fit_adamw(stage: Stage) -> None:
    """The batches come in another order each epoch: counted in updates, as a loader gone through once more just
    to count its samples must not turn it."""
    problem, recorder = _fit_problem(stage.env), stage.recorder
    opt = adamw(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    taken: list[None] = []
    opt.register_step_post_hook(lambda *_: taken.append(None))
    loader = SizedLoader(problem.batches, turn=lambda: len(taken) // len(FIT_SIZES))
    epochs = 3 + stage.env.number("epochs") % 2
    recorder.call(stage.student("fit"), problem.model, opt, problem.loss_fn, loader, epochs)


def _fit_never_clears(stage: Stage) -> None:
    _fit(stage, sgd, zero_grad=False)


def _fit_losses(stage: Stage) -> None:
    _fit(stage, sgd, record_returns=True)


def _fit_modes(stage: Stage) -> None:
    """The model comes in eval mode, and something evaluates it after each epoch."""
    env, recorder = stage.env, stage.recorder
    model = moody_mlp(env)
    model.eval()
    opt = sgd(model)
    recorder.watch(model, opt)
    loader = SizedLoader(batches(env, (4, 4, 3)), after=model.eval)
    torch.manual_seed(env.number("dropout"))
    recorder.call(stage.student("fit"), model, opt, loss_function(env), loader, 2)
    recorder.array("buffers", buffers(model))
    left_alone = mlp(env, "left alone")
    recorder.watch(left_alone)
    data = SizedLoader(batches(env, (4,)))
    recorder.call(stage.student("fit"), left_alone, sgd(left_alone), loss_function(env), data, 1)
    recorder.modes("학습 모드로 받은 모델의 끝난 뒤의 모드")


# ---- evaluate ------------------------------------------------------------------------------------


def _partly_right(env: Env, model: Net, sizes: tuple[int, ...]) -> list[Batch]:
    """Batches in which the model is right about the first sample and wrong about the second.

    An accuracy of 0 would let a percentage pass for a share.
    """
    examined = copy.deepcopy(model).eval()
    data = batches(env, sizes)
    with torch.no_grad():
        for xb, yb in data:
            predicted = examined(xb).argmax(dim=1)
            yb[0] = predicted[0]
            yb[1] = (predicted[1] + 1) % CLASSES
    return data


def _evaluated(stage: Stage, model: Net, mode: str, *, once: bool = False) -> None:
    """Loss and accuracy over uneven batches (`once`: they come a single time), with the weights as they were."""
    env, recorder = stage.env, stage.recorder
    set_modes(model, mode)
    recorder.watch(model)
    data = _partly_right(env, model, (5, 5, 2))
    loader = Once(data) if once else data
    torch.manual_seed(env.number("dropout"))
    value = recorder.call(stage.student("evaluate"), model, loss_function(env), loader)
    numbers = list(value) if isinstance(value, tuple | list) else [value]
    recorder.array("returned", torch.tensor([as_number(n) for n in numbers], dtype=torch.float64))
    recorder.array("buffers", buffers(model))


def _record_modes(stage: Stage, model: Net, name: str, title: str = "모드") -> None:
    """The modes as facts, and what the model computes in them: numbers nobody can know beforehand."""
    stage.recorder.modes(title)
    (batch,) = batches(stage.env, (4,), f"next/{name}")
    torch.manual_seed(stage.env.number("next"))
    with torch.no_grad():
        stage.recorder.array(f"outputs/{name}", model(batch[0]))


def _record_gradients(stage: Stage, model: Net) -> None:
    """What an evaluation leaves behind of what training needs; then as it should be, for the next call."""
    recorder = stage.recorder
    recorder.append_fact("그레이디언트 계산이 켜져 있음", torch.is_grad_enabled())
    recorder.append_fact("requires_grad", all(p.requires_grad for p in model.parameters()))
    recorder.append_fact("그레이디언트가 남음", recorder.gradients_left())
    torch.set_grad_enabled(True)


def _evaluate_values(stage: Stage) -> None:
    _evaluated(stage, mlp(stage.env), "eval", once=True)


def _evaluate_types(stage: Stage) -> None:
    """The same once more, asking for the types."""
    recorder = stage.recorder
    model = mlp(stage.env)
    model.eval()
    recorder.watch(model)
    loader = _partly_right(stage.env, model, (4, 2))
    value = recorder.call(stage.student("evaluate"), model, loss_function(stage.env), loader)
    _record_sequence(recorder, value)


def _evaluate_eval_mode(stage: Stage) -> None:
    _evaluated(stage, moody_mlp(stage.env), "train")


def _evaluate_no_graph(stage: Stage) -> None:
    _evaluated(stage, mlp(stage.env), "eval")
    stage.recorder.fact("계산 그래프를 만든 순전파", stage.recorder.graphs_built)


def _evaluate_restores(stage: Stage) -> None:
    """Handed over in train mode, then in eval mode; both times it comes back so."""
    for mode in ("train", "eval"):
        model = moody_mlp(stage.env, mode)
        _evaluated(stage, model, mode)
        _record_modes(stage, model, mode)
        _record_gradients(stage, model)


def _evaluate_restores_submodules(stage: Stage) -> None:
    """A model in train mode with a frozen BatchNorm comes back exactly so."""
    model = moody_mlp(stage.env)
    _evaluated(stage, model, "frozen")
    _record_modes(stage, model, "frozen")


class BrokenLoader(Exception):
    """Of no kind that a list of exceptions would hold: a loader may raise any."""


def _evaluate_loader_fails(stage: Stage) -> None:
    """A loader that works, then two that raise half-way: the exception comes through and the mode is back."""
    env, recorder = stage.env, stage.recorder
    model, loss_fn = moody_mlp(env), loss_function(env)
    model.train()
    recorder.watch(model)
    loader_that_works = _partly_right(env, model, (4, 2))
    value = recorder.call(stage.student("evaluate"), model, loss_fn, loader_that_works)
    numbers = list(value) if isinstance(value, tuple | list) else [value]
    recorder.array("returned", torch.tensor([as_number(n) for n in numbers], dtype=torch.float64))
    torch.set_grad_enabled(True)

    def loader(broken: type[Exception]) -> Iterator[Batch]:
        yield from batches(env, (4, 3))
        raise broken("데이터 파일을 읽다가 끊겼습니다")

    for broken in (OSError, BrokenLoader):
        model.train()
        recorder.expect(
            broken, f"loader의 {broken.__name__}", stage.student("evaluate"), model, loss_fn, loader(broken)
        )
        recorder.array(f"buffers/{broken.__name__}", buffers(model))
        _record_modes(stage, model, broken.__name__, "예외 뒤의 모드")
        _record_gradients(stage, model)


EXERCISES = {
    driver.name: driver
    for driver in (
        Driver(
            "train_step",
            (
                Scenario("sgd", "SGD", _train_step_sgd, problem=_step_problem),
                Scenario("adamw", "AdamW", _train_step_adamw),
                Scenario("modes", "학습 모드·평가 모드·얼린 배치 정규화", _train_step_modes),
                Scenario("returns", "반환값", _train_step_returns, FLOAT32_ATOL),
            ),
        ),
        Driver(
            "train_step_extras",
            (
                Scenario("clip", "SGD와 클리핑", _extras_clip, CLIP_ATOL, _step_problem),
                Scenario("schedule", "SGD와 스케줄러", _extras_schedule, problem=_step_problem),
                Scenario("both", "모멘텀에 클리핑과 스케줄러를 함께", _extras_both, CLIP_ATOL),
                Scenario("plain", "AdamW만 (max_norm과 scheduler 없이)", _extras_plain, FLOAT32_ATOL),
                Scenario(
                    "returns", "max_norm이나 scheduler가 있을 때의 반환값", _extras_returns, FLOAT32_ATOL
                ),
            ),
        ),
        Driver(
            "accumulate",
            (
                Scenario("sgd", "SGD", _accumulate_sgd, problem=_accumulate_problem),
                Scenario("clip", "모멘텀과 클리핑", _accumulate_clip, CLIP_ATOL),
                Scenario("adamw", "AdamW", _accumulate_adamw),
                Scenario("leftover", "뒷정리", _accumulate_leftover),
                Scenario("returns", "반환값", _accumulate_returns),
                Scenario(
                    "edges", "한 개짜리 구간, 짧은 구간, 빈 입력, 잘못된 accum_steps", _accumulate_edges
                ),
            ),
        ),
        Driver(
            "fit",
            (
                Scenario("sgd", "SGD", _fit_sgd, problem=_fit_problem),
                Scenario("adamw", "AdamW", _fit_adamw),
                Scenario("modes", "에폭마다 학습 모드", _fit_modes),
                Scenario("losses", "에폭 손실", _fit_losses, FLOAT32_ATOL),
                Scenario("never-clears", "zero_grad=False", _fit_never_clears, problem=_fit_problem),
            ),
        ),
        Driver(
            "evaluate",
            (
                Scenario("values", "손실과 정확도", _evaluate_values, FLOAT32_ATOL),
                Scenario(
                    "eval-mode", "드롭아웃과 배치 정규화가 있는 모델", _evaluate_eval_mode, FLOAT32_ATOL
                ),
                Scenario("no-graph", "계산 그래프", _evaluate_no_graph, FLOAT32_ATOL),
                Scenario("restores", "모드 되돌리기", _evaluate_restores, FLOAT32_ATOL),
                Scenario(
                    "submodules", "얼린 배치 정규화의 모드", _evaluate_restores_submodules, FLOAT32_ATOL
                ),
                Scenario("loader-fails", "loader가 오류를 낼 때", _evaluate_loader_fails, FLOAT32_ATOL),
                Scenario("types", "반환 타입", _evaluate_types, FLOAT32_ATOL),
            ),
        ),
        *_five_line_step_by_hand.DRIVERS,
    )
}
