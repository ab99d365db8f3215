"""A model whose modules are layers for each reason there is, and passes through it."""

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import CLASSES, FEATURES, HIDDEN, fixture_loss
from grader.observe.play import Env


class Scaled(nn.Module):
    """A linear layer whose outputs are scaled: a module with a parameter of its own and one of its child."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(features))
        self.linear = nn.Linear(features, features)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the scaled outputs."""
        outputs: Tensor = self.gain * self.linear(inputs)
        return outputs


class LayeredNet(nn.Module):
    """A model whose modules are layers for each reason there is, with two containers that are none.

    It has units that are zero for all inputs.
    """

    def __init__(self, env: Env, *, in_place: bool = False, spare: bool = False) -> None:
        """Draw the weights.

        Args:
            env: the scenario's env.
            in_place: ReLU overwrites the outputs of the layer before it.
            spare: add a layer that is never used.
        """
        super().__init__()
        first = nn.Linear(FEATURES, HIDDEN)
        self.body = nn.Sequential(first, nn.ReLU(in_place), Scaled(HIDDEN), nn.Tanh(), nn.ReLU())
        self.head = nn.Linear(HIDDEN, CLASSES)
        if spare:
            self.spare = nn.Linear(2, 2)
        self.double()
        draw, generator = env.draw("dead"), env.generator("model")
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
            first.bias[: draw.whole(1, 3)] = -20.0
        self.to(env.device)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return outputs of shape (..., classes) for inputs of shape (..., features)."""
        outputs: Tensor = self.head(self.body(inputs))
        return outputs


LAYERS = ("body.0", "body.1", "body.2", "body.2.linear", "body.3", "body.4", "head")
"""Names of the layers of `LayeredNet`, without the spare one."""
OWNERS = ("body.0", "body.2", "body.2.linear", "head")
"""Those with parameters of their own."""
PLAIN = ("body.0", "body.2.linear", "head")
"""Those with parameters of their own and no children, which every program takes for layers."""


def inputs_for(env: Env, salt: str, *shape: int) -> Tensor:
    """Return random inputs of this shape, with the features as last dimension."""
    generator = env.generator(f"inputs {salt}")
    return torch.randn((*shape, FEATURES), generator=generator, dtype=torch.float64).to(env.device)


def learn(model: nn.Module, inputs: Tensor) -> None:
    """Make one forward and one backward pass."""
    fixture_loss(model(inputs)).backward()
