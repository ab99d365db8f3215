"""Recipes of updates in lesson 01: which batches' gradients went into an update, and how much of each."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.experiments.five_line_step.data import Batch, flat_gradients, loss_fn, make_batches, make_model
from grader.experiments.vectors import flat


class RecipeSGD(torch.optim.SGD):
    """An SGD that notes for each update how much of which batch's gradient it used."""

    def __init__(self, model: nn.Module, batches: list[Batch], lr: float = 0.05) -> None:
        super().__init__(model.parameters(), lr=lr)
        self.model, self.batches = model, batches
        self.recipes: list[list[float]] = []
        self.seen: list[Tensor] = []
        """Gradient of each batch that went forward, at the weights of that forward pass."""
        model.register_forward_hook(self._remember)

    def _remember(self, model: nn.Module, inputs: tuple[Tensor, ...], logits: Tensor) -> None:
        yb = next(y for x, y in self.batches if x is inputs[0])
        grads = torch.autograd.grad(loss_fn(logits, yb), list(model.parameters()), retain_graph=True)
        self.seen.append(flat(grads))

    def step(self, closure: Any = None) -> Any:
        """Solve for the recipe of this update, and make it."""
        basis = torch.stack(self.seen, dim=1).cpu()
        used = flat_gradients(self.model).cpu()[:, None]
        amounts = torch.linalg.lstsq(basis, used).solution.flatten()
        self.recipes.append([round(amount, 2) + 0.0 for amount in amounts.tolist()])
        return super().step(closure)


def recipe_fixture(seed: int, n_batches: int) -> tuple[nn.Sequential, RecipeSGD, list[Batch]]:
    """Return model, optimizer and small batches in float64, so that recipes can be solved for exactly."""
    model = make_model(seed).double()
    batches = [(xb.double(), yb) for xb, yb in make_batches(seed, batch_size=8)[:n_batches]]
    return model, RecipeSGD(model, batches), batches


def show_recipes(
    recipes: Sequence[list[float]], right: Sequence[list[float]], title: str, description: str
) -> None:
    """Draw the recipe of each update as bars, and that of a right loop as empty outlines."""
    from matplotlib import pyplot as plt

    from grader.plots import COLORS, show

    slots = [str(batch) for batch in range(1, max(map(len, [*recipes, *right])) + 1)]
    figure, axes = plt.subplots(1, len(recipes), figsize=(9, 2.8), sharey=True)
    outline = {"facecolor": "none", "edgecolor": COLORS["right"], "width": 0.8, "linewidth": 1.8}
    looks = ({"color": COLORS["wrong"], "width": 0.5, "label": "이 루프"}, {**outline, "label": "바른 루프"})
    for number, (axis, used, wanted) in enumerate(zip(axes, recipes, right, strict=True), start=1):
        for recipe, look in zip((used, wanted), looks, strict=True):
            axis.bar(slots, recipe + [0.0] * (len(slots) - len(recipe)), **look)
        axis.set_title(f"{number}번째 업데이트", fontsize=10)
        axis.set_xlabel("배치 번호", fontsize=9)
        axis.tick_params(axis="x", labelsize=9)
        axis.grid(visible=False, axis="x")
    axes[0].legend(loc="upper right", fontsize=9)
    axes[0].set_ylabel("들어간 양")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    show(figure, description)
