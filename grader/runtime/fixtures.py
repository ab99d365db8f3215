"""Small models and data that every driver builds its scenarios from: float64, a few hundred parameters.

Everything random follows from the scenario's `Env`, on the CPU first, so that a seed means the same numbers
on every device.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

from grader.runtime.play import Env

FEATURES, HIDDEN, CLASSES = 5, 7, 3
LossFn = Callable[[Tensor, Tensor], Tensor]
Batch = tuple[Tensor, Tensor]


class Net(nn.Module):
    """A model that tells the recorder about its forward passes, however it is called.

    (A hook would be missed by `model.forward(x)`.)
    """

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.observer: Any = None

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits of shape (batch, classes) for inputs of shape (batch, features)."""
        if self.observer is not None:
            self.observer.forward(inputs)
        outputs: Tensor = self.layers(inputs)
        if self.observer is not None:
            self.observer.forwarded(outputs, self.training)
        return outputs


def mlp(env: Env, salt: str = "model") -> Net:
    """Two layers with tanh: no parameter has a true gradient of zero."""
    return initialised(Net([nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)]), env, salt)


def moody_mlp(env: Env, salt: str = "model") -> Net:
    """With BatchNorm and dropout: what it computes depends on each submodule's mode.

    The layer before BatchNorm has no bias: its true gradient would be zero.
    """
    layers = [
        nn.Linear(FEATURES, HIDDEN, bias=False),
        nn.BatchNorm1d(HIDDEN),
        nn.Tanh(),
        nn.Dropout(0.4),
        nn.Linear(HIDDEN, CLASSES),
    ]
    return initialised(Net(layers), env, salt)


def initialised(model: Net, env: Env, salt: str) -> Net:
    """Weights from the env's generator, in float64, on its device."""
    model.double()
    generator = env.generator(salt)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(noise * (0.6 if parameter.ndim > 1 else 0.2))
        for module in model.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.weight.add_(1.0)
    return model.to(env.device)


def batches(env: Env, sizes: Sequence[int], salt: str = "data") -> list[Batch]:
    """One `(xb, yb)` for each size; labels follow from the inputs, so that there is something to learn."""
    generator = env.generator(salt)
    teacher = torch.randn(FEATURES, CLASSES, generator=generator, dtype=torch.float64)
    result = []
    for size in sizes:
        xb = torch.randn(size, FEATURES, generator=generator, dtype=torch.float64)
        noise = torch.randn(size, CLASSES, generator=generator, dtype=torch.float64)
        yb = (xb @ teacher + noise).argmax(dim=1)
        result.append((xb.to(env.device), yb.to(env.device)))
    return result


def loss_function(env: Env) -> LossFn:
    """Smoothed cross-entropy: a function that puts its own loss in place of the given one shows."""
    smoothing = 0.05 + 0.1 * float(torch.rand(1, generator=env.generator("loss")))

    def loss_fn(output: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(output, target, label_smoothing=smoothing)

    return loss_fn


def two_groups(model: nn.Module, rates: tuple[float, float]) -> list[dict[str, Any]]:
    """Weights in one group, biases and norms in another, each with its own learning rate."""
    weights = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": weights, "lr": rates[0]}, {"params": others, "lr": rates[1]}]


def sgd(model: nn.Module, *, momentum: float = 0.0) -> Optimizer:
    """SGD with two parameter groups."""
    return torch.optim.SGD(two_groups(model, (0.3, 0.2)), lr=0.3, momentum=momentum)


def adamw(model: nn.Module) -> Optimizer:
    """AdamW with two parameter groups; tells two steps from one double step, and hides scales (never alone)."""
    return torch.optim.AdamW(two_groups(model, (0.02, 0.01)), lr=0.02, weight_decay=0.05)


def scale_rates(optimizer: Optimizer, factor: float) -> None:
    """Multiply every group's learning rate, as a schedule would."""
    for group in optimizer.param_groups:
        group["lr"] *= factor


def gradient_norm(model: nn.Module, loss_fn: LossFn, batch: Batch) -> float:
    """Joint L2 norm of one batch's gradient, without leaving a trace on the model or the random state."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    grads = torch.autograd.grad(loss_fn(model(batch[0]), batch[1]), parameters)
    return float(torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads])))


def buffers(model: nn.Module) -> Tensor:
    """All buffers (BatchNorm's running statistics) as one vector."""
    values = [b.detach().double().ravel() for b in model.buffers()]
    return torch.cat(values) if values else torch.zeros(0)


def set_modes(model: nn.Module, mode: str) -> None:
    """`train`, `eval`, or `frozen`: train mode but for BatchNorm."""
    model.train(mode != "eval")
    if mode == "frozen":
        for module in model.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.eval()


def freeze_last(model: nn.Module) -> None:
    """Train mode but for the last layer: tells a function that switches modes from one that leaves them."""
    model.train()
    list(model.modules())[-1].eval()


class Loader:
    """Batches that can be gone through again and again, without a length (nobody promises one).

    With `turn`, a round starts at that batch and comes round to it: in another order each time, as a loader that
    shuffles does. `after` runs at the end of every round.
    """

    def __init__(
        self,
        data: Sequence[Batch],
        *,
        turn: Callable[[], int] | None = None,
        after: Callable[[], object] | None = None,
    ) -> None:
        self.held = list(data)
        self._turn = turn
        self._after = after

    def __iter__(self) -> Iterator[Batch]:
        start = 0 if self._turn is None else self._turn() % len(self.held)
        yield from self.held[start:] + self.held[:start]
        if self._after is not None:
            self._after()


class SizedLoader(Loader):
    """With a length: dividing by it is a mistake with a name of its own."""

    def __len__(self) -> int:
        return len(self.held)


class Once(SizedLoader):
    """Goes through its batches once, as a generator does; with a length all the same."""

    def __init__(self, data: Sequence[Batch]) -> None:
        super().__init__(data)
        self._rest = iter(self.held)

    def __iter__(self) -> Iterator[Batch]:
        return self._rest
