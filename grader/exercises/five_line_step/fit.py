"""Driver of `fit`, which trains for some epochs and returns each epoch's training loss, a mean over samples.

Promises of the exercise, and the scenarios that check them:
    one update for each batch, with cleared gradients: `sgd`, `adamw`
    train mode at the start of each epoch: `modes`, `modes-never-clears`; a model that came in train mode is left in
    train mode: `modes-after`
    a list of each epoch's loss, weighted by samples: `losses`, `losses-never-clears`, `adamw`, `types`
    a loader without a length is enough: `length`; nothing is printed: `quiet`; float32 stays float32: `float32`
    `zero_grad=False` never clears: `never-clears`
    graphs of earlier batches are not kept: `memory`, `memory-never-clears`

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    Batch,
    Loader,
    MakeOptimizer,
    Modes,
    Net,
    SizedLoader,
    adamw,
    batches,
    initialize,
    loss_function,
    mlp,
    norm_dropout_mlp,
    set_modes,
    sgd,
    zero_rate_sgd,
)
from grader.exercises.fixtures.memory import record_loop_memory
from grader.exercises.fixtures.returned import FLOAT32_ATOL, record_sequence, record_types
from grader.exercises.fixtures.usual import Case, add_usual, classifier_case
from grader.exercises.fixtures.witnesses import ForwardWitness
from grader.observe.forward_notes import mode_words
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import as_number, items_of
from grader.observe.wording import fact_of_modes_left, yes_or_no

driver = Driver("fit")

_SIZES = (4, 4, 4, 1)
"""Samples in each batch. The last is small, so that an epoch loss that is a mean over batches shows."""


def _problem(env: Env) -> Problem:
    """Return model, batches and loss as in a case, for the recipe of its updates."""
    return Problem(mlp(env), batches(env, _SIZES), loss_function(env))


def _epoch_count(env: Env) -> int:
    """Return the number of epochs: three or four, by the seed."""
    return 3 + env.number("epochs") % 2


def _case(stage: Stage, sizes: Sequence[int] = _SIZES, make_optimizer: MakeOptimizer = sgd) -> Case:
    """Return a case with an `mlp` and a batch of each size; the caller makes one loader of the batches."""
    return classifier_case(stage, "fit", sizes, make_optimizer)


def _one_layer_net(env: Env) -> Net:
    """Return a model for calls with `zero_grad=False`.

    Its backward pass needs no weights, so that an update before the backward pass raises no exception.
    """
    return initialize(Net([nn.Linear(FEATURES, CLASSES)]), env, "one layer")


def _one_layer_case(stage: Stage, sizes: Sequence[int]) -> Case:
    """Return a case with an `_one_layer_net` and a batch of each size."""
    model = _one_layer_net(stage.env)
    return Case(stage, "fit", model, sgd(model), loss_function(stage.env), batches(stage.env, sizes))


@driver.scenario("sgd", "SGD", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Train for several epochs with SGD; how many follows from the seed.

    A program that does not clear, clears only once an epoch, or trains for only one epoch, makes other updates.
    """
    case = _case(stage).watch()
    case.call(SizedLoader(case.data), _epoch_count(stage.env))


add_usual(
    driver,
    lambda stage: _case(stage, _SIZES[:2]),
    lambda case, data: case.call(SizedLoader(data), 1),
    checks={"float32": "sgd"},
)


@driver.scenario("adamw", "AdamW와 에폭마다 다른 순서", atol=FLOAT32_ATOL)
def _adamw(stage: Stage) -> None:
    """Train a model that is given in eval mode, with AdamW and a loader whose order differs from epoch to epoch.

    A program that reads its loader into a list once repeats the first epoch's order in each epoch. One that treats a
    model in eval mode otherwise makes other updates, because this model's numbers are the same in both modes. The order
    follows from the number of updates so far, so a program may read the loader once more, only to count its samples.
    """
    case = _case(stage, make_optimizer=adamw).watch()
    case.model.eval()
    updates: list[None] = []  # one entry for each update so far
    case.opt.register_step_post_hook(lambda *_: updates.append(None))
    loader = SizedLoader(case.data, choose_first=lambda: len(updates) // len(_SIZES))
    record_sequence(stage.recorder, case.call(loader, _epoch_count(stage.env)))


def _leave_train_mode_after_epochs(model: Net, opt: torch.optim.Optimizer, updates_an_epoch: int) -> None:
    """Put the model into eval mode after the last update of each epoch from now on, as an evaluation would."""
    updates: list[None] = []  # one entry for each update so far

    def note_update(*_: object) -> None:
        updates.append(None)
        if len(updates) % updates_an_epoch == 0:
            model.eval()

    opt.register_step_post_hook(note_update)


@driver.scenario("modes", "에폭마다 학습 모드")
def _modes(stage: Stage) -> None:
    """Train three models for two epochs each, and record the modes at the forward passes.

    The models come in eval mode, or partly so, and are put into eval mode again after the last update of each epoch. A
    program that calls `model.train()` never, or once before its epochs, trains in eval mode. Reading the loader does
    not change the mode, so a program may count the samples between `model.train()` and its first batch.
    """
    env, recorder = stage.env, stage.recorder
    witness_numbers: list[float] = []
    for mode in (Modes.ALL_EVAL, Modes.NORM_EVAL, Modes.TOP_EVAL):
        model = set_modes(norm_dropout_mlp(env, mode), mode)
        witness = ForwardWitness(env, model)
        recorder.watch(model, states=False)
        opt, data = sgd(model), batches(env, (4, 3))
        _leave_train_mode_after_epochs(model, opt, len(data))
        recorder.call(stage.student("fit"), model, opt, loss_function(env), SizedLoader(data), 2)
        witness_numbers += witness.modes()
    recorder.claim("순전파할 때의 모드", [*recorder.forward_notes.modes], witness_numbers)


@driver.scenario("modes-never-clears", "`zero_grad=False`일 때의 학습 모드", check="modes")
def _modes_without_clearing(stage: Stage) -> None:
    """Train a model in eval mode with `zero_grad=False`, and record the modes at its forward passes.

    A program that calls `model.train()` only where it clears gradients trains in eval mode here.
    """
    case = _one_layer_case(stage, (4,))
    witness = ForwardWitness(stage.env, case.model.eval())
    case.watch_model()
    case.call(SizedLoader(case.data), 2, zero_grad=False)
    stage.recorder.claim("순전파할 때의 모드", [*stage.recorder.forward_notes.modes], witness.modes())


@driver.scenario("modes-after", "끝난 뒤의 모드", check="modes")
def _modes_after(stage: Stage) -> None:
    """Hand over a model in train mode, and record the modes after the call.

    A program that ends with `model.eval()` leaves eval mode. One that restores the modes it found is right, too.
    """
    case = _case(stage, (4,)).watch_model()
    witness = ForwardWitness(stage.env, case.model)
    case.call(SizedLoader(case.data), 1)
    left = witness.modes_left(case.model, case.data[0][0])
    stage.recorder.claim(fact_of_modes_left("학습 모드"), mode_words(case.model), left)


class _EpochLoader(Loader):
    """A loader with different batches each epoch, of the same sizes.

    The epoch follows from the number of forward passes so far, so that reading the loader once more, only to count its
    samples, changes nothing.
    """

    def __init__(self, epochs: Sequence[Sequence[Batch]], count_forward_passes: Callable[[], int]) -> None:
        """Create a loader.

        Args:
            epochs: the batches of each epoch.
            count_forward_passes: returns the number of forward passes so far.
        """
        super().__init__(epochs[0])
        self._epochs = epochs
        self._count_forward_passes = count_forward_passes

    def __iter__(self) -> Iterator[Batch]:
        epoch = self._count_forward_passes() // len(self.batches)
        yield from self._epochs[min(epoch, len(self._epochs) - 1)]

    def __len__(self) -> int:
        return len(self.batches)


def _fit_without_moving(stage: Stage, model: Net, **options: Any) -> Any:
    """Call the learner's function with learning rates of 0, and return the losses that it returned.

    The model never moves, so a wrong update changes no loss. Each epoch has different batches, and so another loss.
    """
    env, recorder = stage.env, stage.recorder
    opt = zero_rate_sgd(model)
    recorder.watch(model, opt, states=False)
    epochs = [batches(env, _SIZES, f"epoch {number}") for number in range(3)]
    epoch_count = 2 + env.number() % 2  # so that the number of losses follows from the seed
    loader = _EpochLoader(epochs, lambda: len(recorder.training_at_forward))
    student = stage.student("fit")
    return recorder.call(student, model, opt, loss_function(env), loader, epoch_count, **options)


@driver.scenario("losses", "에폭 손실", atol=FLOAT32_ATOL)
def _losses(stage: Stage) -> None:
    """Record the returned losses, with learning rates of 0.

    A program that averages over batches, sums up or returns only the last batch's loss gives other numbers.
    """
    history = _fit_without_moving(stage, mlp(stage.env))
    items = items_of(history)[:50]  # a wrong program may return an endless list
    stage.recorder.array("에폭 손실", torch.tensor([as_number(item) for item in items], dtype=torch.float64))


@driver.scenario(
    "losses-never-clears", "`zero_grad=False`일 때의 에폭 손실", check="losses", atol=FLOAT32_ATOL
)
def _losses_without_clearing(stage: Stage) -> None:
    """Record the returned losses and their types with `zero_grad=False`, with learning rates of 0.

    A program with separate branches for both cases may weigh by samples, or take the number out, in one branch only.
    """
    history = _fit_without_moving(stage, _one_layer_net(stage.env), zero_grad=False)
    record_sequence(stage.recorder, history)


@driver.scenario("types", "반환 타입", check="losses")
def _types(stage: Stage) -> None:
    """Record the types of the returned value and of its items.

    A program that returns tensors, or something else than a list, shows.
    """
    record_types(stage.recorder, _fit_without_moving(stage, mlp(stage.env)))


@driver.scenario("length", "길이가 없는 loader", check="losses")
def _length(stage: Stage) -> None:
    """Give a loader without a length, and record whether the call raises a TypeError.

    A program that calls `len(loader)` raises one.
    """
    case = _case(stage, (4, 1))
    # Recorded as a fact, not as a failure: feedback then names the mistake behind it (a mean over `len(loader)`), not
    # the TypeError.
    case.record_raised(TypeError, "길이가 없는 loader", Loader(case.data), 1)


add_usual(
    driver,
    lambda stage: _case(stage, (4, 1)),
    lambda case, data: case.call(SizedLoader(data), 2),
    checks={"quiet": "losses"},
)


@driver.scenario("never-clears", "zero_grad=False", problem=_problem)
def _never_clears(stage: Stage) -> None:
    """Make two calls that must not clear gradients, and record the updates and whether gradients are left.

    The gradients that the last update leaves go into the next call's first update. A program that ignores
    `zero_grad=False`, or clears at the start or end of a call, makes other updates. A training that diverges must go on
    as well: a program that ends it at a loss of NaN trains on fewer batches.
    """
    case = _case(stage).watch()
    case.call(SizedLoader(case.data), 2, zero_grad=False)
    case.call(SizedLoader(case.data[:2]), 1, zero_grad=False)
    stage.recorder.fact("끝난 뒤에 그레이디언트가 남음", yes_or_no(stage.recorder.gradients_left()))
    diverging = _case(stage)
    losses: list[None] = []  # one entry for each loss

    def nan_loss(output: Tensor, _: Tensor) -> Tensor:
        losses.append(None)
        return output.sum() * torch.nan

    diverging.loss_fn = nan_loss
    diverging.call(SizedLoader(diverging.data), _epoch_count(stage.env), zero_grad=False)
    stage.recorder.fact("손실이 NaN일 때 학습한 배치의 수", len(losses))


def _record_memory(case: Case, **options: Any) -> None:
    """Record whether graphs of earlier batches pile up, and whether any graph outlives a call with these options."""
    case.watch_model()
    meter = case.stage.recorder.measure_memory(case.model)
    case.call(SizedLoader(case.data), 2, **options)
    record_loop_memory(case.stage, meter)


_MEMORY_SIZES = (2,) * 7
"""Samples in each batch of the scenarios about memory."""


@driver.scenario("memory", "살아 있는 계산 그래프", watches_memory=True)
def _memory(stage: Stage) -> None:
    """Train with gradients that are cleared.

    A program that adds up losses without `.item()` keeps their graphs, which pile up batch by batch.
    """
    _record_memory(_case(stage, _MEMORY_SIZES))


@driver.scenario(
    "memory-never-clears",
    "`zero_grad=False`일 때 살아 있는 계산 그래프",
    check="memory",
    watches_memory=True,
)
def _memory_without_clearing(stage: Stage) -> None:
    """Do the same as in `memory`, with `zero_grad=False`.

    A program with separate branches for both cases may keep graphs in one branch only.
    """
    _record_memory(_one_layer_case(stage, _MEMORY_SIZES), zero_grad=False)
