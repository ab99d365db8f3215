"""A model with every kind of module that counts as a layer, for the driver of `Dashboard`.

A *layer* is a module that has parameters of its own or has no children.
"""

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import CLASSES, FEATURES, HIDDEN, fixture_loss
from grader.observe.play import Env


class Scaled(nn.Module):
    """A linear layer whose outputs are scaled: a layer because of its own parameter, although it has a child."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(features))
        self.linear = nn.Linear(features, features)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the scaled outputs."""
        outputs: Tensor = self.gain * self.linear(inputs)
        return outputs


class LayeredNet(nn.Module):
    """A model with layers of every kind (`LAYERS`), and two modules that are no layers: itself and `body`.

    One to three of its first layer's units are so negative that the ReLU after it gives zero for all inputs.
    """

    def __init__(self, env: Env, *, in_place: bool = False, with_spare: bool = False) -> None:
        """Draw the weights.

        Args:
            env: the scenario's env.
            in_place: let the first ReLU overwrite the outputs of the layer before it.
            with_spare: add a layer `spare` that is never used.
        """
        super().__init__()
        first = nn.Linear(FEATURES, HIDDEN)
        self.body = nn.Sequential(first, nn.ReLU(in_place), Scaled(HIDDEN), nn.Tanh(), nn.ReLU())
        self.head = nn.Linear(HIDDEN, CLASSES)
        if with_spare:
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
"""Names of the layers of `LayeredNet`, without `spare`."""
OWNERS = ("body.0", "body.2", "body.2.linear", "head")
"""Names of the layers with parameters of their own."""
PLAIN = ("body.0", "body.2.linear", "head")
"""Names of the layers with parameters of their own and without children. Scenarios use them in which a program is to
lose nothing that takes only such modules for layers."""


def draw_inputs(env: Env, salt: str, *shape: int) -> Tensor:
    """Return random inputs of the shape (*shape, features)."""
    generator = env.generator(f"inputs {salt}")
    return torch.randn((*shape, FEATURES), generator=generator, dtype=torch.float64).to(env.device)


def make_training_pass(model: nn.Module, inputs: Tensor) -> None:
    """Make a forward and a backward pass, but no update."""
    fixture_loss(model(inputs)).backward()
