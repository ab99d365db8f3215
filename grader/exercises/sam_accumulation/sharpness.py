"""Driver of `sharpness`: models in several modes, for the value it returns and for what it must leave as it was."""

import torch
from torch import Tensor

from grader.exercises.sam_accumulation._flat_weights import flat_weights
from grader.exercises.sam_accumulation._tolerances import FLOAT32_ATOL
from grader.observe.fixtures.classifiers import (
    Batch,
    LossFn,
    Net,
    batches,
    loss_function,
    mlp,
    norm_dropout_mlp,
)
from grader.observe.play import Driver, Stage
from grader.observe.trace import Fact
from grader.observe.values import as_number, type_name

driver = Driver("sharpness")


class _Measured:
    """A model whose sharpness is measured, and its weights from before, to compare with afterwards.

    Its parameters are not recorded as states: a solution may restore w by subtracting e again, which is right but off
    in the last bit, and would count as one more state.
    """

    def __init__(self, stage: Stage, model: Net, loss_fn: LossFn | None = None) -> None:
        self.stage, self.model, self.recorder = stage, model, stage.recorder
        self.loss_fn: LossFn = loss_fn or loss_function(stage.env)
        self.values: list[float] = []
        self.types: list[Fact] = []
        self._before = flat_weights(model)
        model.observer = stage.recorder
        torch.manual_seed(stage.env.number("dropout"))

    def measure(self, batch: Batch, rho: float) -> None:
        """Ask once."""
        value = self.recorder.call(self.stage.student("sharpness"), self.model, self.loss_fn, *batch, rho=rho)
        self.values.append(as_number(value))
        self.types.append(type_name(value))

    def measure_three(self) -> None:
        """Ask three times, on batches of their own and with a radius each."""
        for batch, rho in zip(batches(self.stage.env, (6, 4, 5)), (0.4, 0.05, 0.2), strict=True):
            self.measure(batch, rho)

    def record_values(self) -> None:
        self.recorder.array("returned", self.values)

    def record_weights(self) -> None:
        self.recorder.array(
            "가중치가 옮겨진 거리", (flat_weights(self.model) - self._before).norm().reshape(1)
        )


def _nonzero(gradient: Tensor | None) -> bool:
    return gradient is not None and bool(gradient.ne(0).any())


@driver.scenario("value", "평가 모드의 모델", atol=FLOAT32_ATOL)
def _value(stage: Stage) -> None:
    """Three times on a plain loss; then on one that peaks a little uphill: far past it, sharpness is negative."""
    model, smooth = mlp(stage.env).eval(), loss_function(stage.env)
    (batch,) = batches(stage.env, (5,), "hill")
    with torch.no_grad():
        top = smooth(model(batch[0]), batch[1]) + 0.02

    def hill(output: Tensor, target: Tensor) -> Tensor:
        return -((smooth(output, target) - top) ** 2)

    measured = _Measured(stage, model, smooth)
    measured.measure_three()
    measured.loss_fn = hill
    for rho in (0.3, 0.5, 0.8):
        measured.measure(batch, rho)
    measured.record_values()


@driver.scenario("train-mode", "드롭아웃과 배치 정규화가 있는 모델", atol=FLOAT32_ATOL)
def _train_mode(stage: Stage) -> None:
    """Dropout and BatchNorm in train mode: both losses from the same random state."""
    model = norm_dropout_mlp(stage.env).train()
    measured = _Measured(stage, model)
    measured.measure_three()
    measured.record_values()
    stage.recorder.fact("모드", [m.training for m in model.modules()])


@driver.scenario("modes", "평가 모드, 얼린 배치 정규화", check="train-mode", atol=FLOAT32_ATOL)
def _modes(stage: Stage) -> None:
    """Eval mode, then train mode with a frozen BatchNorm: `model.training` alone does not tell every layer's mode."""
    model = norm_dropout_mlp(stage.env)
    measured = _Measured(stage, model)
    for number, batch in enumerate(batches(stage.env, (6, 4))):
        model.train(number == 1)
        model.layers[1].eval()
        measured.measure(batch, 0.3)
        stage.recorder.fact(f"{number + 1}번째 호출 뒤의 모드", [m.training for m in model.modules()])
    measured.record_values()


@driver.scenario("weights", "가중치를 그대로 두기")
def _weights(stage: Stage) -> None:
    measured = _Measured(stage, mlp(stage.env))
    measured.measure_three()
    measured.record_weights()


@driver.scenario("statistics", "배치 정규화의 이동 통계량")
def _statistics(stage: Stage) -> None:
    model = norm_dropout_mlp(stage.env).train()
    _Measured(stage, model).measure_three()
    # Without the counter of batches: passes that leave the running mean and variance alone count batches too.
    statistics = [b.detach().double().ravel() for b in model.buffers() if b.is_floating_point()]
    stage.recorder.array("buffers", torch.cat(statistics))


@driver.scenario("random-state", "난수 상태", check="statistics")
def _random_state(stage: Stage) -> None:
    _Measured(stage, norm_dropout_mlp(stage.env).train()).measure_three()
    stage.recorder.array("다음 난수", torch.rand(4, dtype=torch.float64))


@driver.scenario("gradients", "그레이디언트를 그대로 두기", check="weights")
def _gradients(stage: Stage) -> None:
    """Called on a model without gradients, then on one with gradients; both times they must stay as they were."""
    model, recorder = mlp(stage.env), stage.recorder
    measured = _Measured(stage, model)
    (batch,) = batches(stage.env, (6,))
    measured.measure(batch, 0.1)
    recorder.fact("없던 그레이디언트가 생김", any(_nonzero(p.grad) for p in model.parameters()))
    generator = stage.env.generator("gradients")
    held = []
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        held.append(noise.to(parameter.device))
        parameter.grad = held[-1].clone()
    measured.measure(batch, 0.1)
    kept = [
        p.grad is not None and bool(torch.equal(p.grad, g))
        for p, g in zip(model.parameters(), held, strict=True)
    ]
    recorder.fact("있던 그레이디언트가 그대로임", all(kept))


@driver.scenario("types", "반환 타입")
def _types(stage: Stage) -> None:
    measured = _Measured(stage, mlp(stage.env))
    measured.measure_three()
    stage.recorder.fact("반환 타입", measured.types)
