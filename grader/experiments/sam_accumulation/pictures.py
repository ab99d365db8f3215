"""Pictures of lesson 04 that take more lines to draw than they have to say; each function returns a figure."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:  # a notebook's first cell need not wait for matplotlib
    from matplotlib.figure import Figure

LEVELS = [0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
"""Heights at which `planes` changes its colour."""


def amounts_in_update(amounts: Sequence[float]) -> "Figure":
    """Draw how much of each micro-batch's gradient is in an update, beside the window's mean."""
    from matplotlib import pyplot as plt

    from grader.plots import COLORS

    figure, axis = plt.subplots(figsize=(6.4, 2.8))
    slots = [f"$h_{k}$" for k in range(1, len(amounts) + 1)]
    axis.bar(slots, amounts, width=0.5, color=COLORS["wrong"], label="tempting_loop")
    frame: dict[str, Any] = {"facecolor": "none", "edgecolor": COLORS["right"], "linewidth": 1.8}
    axis.bar(slots, [1 / len(amounts)] * len(amounts), width=0.8, label="구간 평균", **frame)
    axis.set(xlabel="그레이디언트", ylabel="들어간 양")
    axis.legend(loc="upper left")
    axis.grid(visible=False, axis="x")
    return figure


def valley_picture(valley: Any, points: Mapping[str, Tensor], down: Tensor) -> "Figure":
    """Draw the level lines of `valley(x, y)` and the ways of one update with SAM and with SGD.

    Args:
        valley: the loss, of two weights.
        points: `w`, `peak`, `sam` and `sgd`.
        down: the update of SAM, an arrow that is drawn from the peak as well.
    """
    from matplotlib import pyplot as plt

    from grader.plots import COLORS

    figure, axis = plt.subplots(figsize=(7.6, 4.0))
    x, y = torch.meshgrid(torch.linspace(-3, -1.2, 160), torch.linspace(-0.65, 1.15, 160), indexing="ij")
    axis.contour(x, y, valley(x, y), levels=12, colors=COLORS["muted"], linewidths=0.7, alpha=0.6)
    w, peak = points["w"], points["peak"]
    for start, end, color, style, bend in [
        (w, peak, "wrong", "-", 0.0),
        (peak, w, "fourth", ":", -0.5),
        (w, points["sam"], "right", "-", 0.0),
        (w, points["sgd"], "third", "-", 0.0),
        (peak, peak + down, "muted", "--", 0.0),
    ]:
        arrow = {"arrowstyle": "-|>", "color": COLORS[color], "linewidth": 2.2, "linestyle": style}
        arrow["connectionstyle"] = f"arc3,rad={bend}"
        axis.annotate("", xy=tuple(end.tolist()), xytext=tuple(start.tolist()), arrowprops=arrow)
    for name, text, shift in [
        ("w", "$w$", (0.05, 0.04)),
        ("peak", "$w + e$", (0.03, 0.08)),
        ("sam", "SAM: $w - \\eta h$", (0.05, -0.07)),
        ("sgd", "SGD: $w - \\eta g$", (0.07, 0.02)),
    ]:
        point = points[name].tolist()
        axis.plot(*point, "o", color=COLORS["text"], markersize=5)
        axis.text(point[0] + shift[0], point[1] + shift[1], text)
    axis.text(-2.42, 0.72, "① 올라가기 $e$", color=COLORS["wrong"], ha="right")
    axis.text(-1.98, 0.78, "② 돌아오기", color=COLORS["fourth"])
    axis.text(-1.98, 0.0, "③ 업데이트", color=COLORS["right"], ha="right")
    axis.text(-2.2, 0.36, "$-\\eta h$\n(③과 같은 화살표)", color=COLORS["muted"], ha="right", fontsize=9)
    for label in axis.texts:
        if label.get_text():
            label.set_bbox({"facecolor": COLORS["panel"], "edgecolor": "none", "alpha": 0.8, "pad": 1})
    axis.set(title="올라간 곳에서 방향을 구하고, 출발한 곳에서 내려갑니다")
    axis.set(xlim=(-3, -1.2), xlabel="$w_1$", ylabel="$w_2$")
    axis.grid(visible=False)
    return figure


def errors_by_size(measured: Mapping[int, Sequence[Sequence[float]]]) -> "Figure":
    """Draw what `compare_gradients` measured for each length of the window; bands are the range over the seeds."""
    from matplotlib import pyplot as plt

    from grader.plots import COLORS

    sizes = list(measured)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for axis, column, title, label_y in [
        (axes[0], 0, "둘만 누적해도 크게 어긋납니다", "바른 SAM과의 상대 오차"),
        (axes[1], 1, "방향도 어긋납니다", "바른 SAM과의 코사인"),
    ]:
        for offset, color, style, label in [
            (column, COLORS["wrong"], "o-", "tempting_loop"),
            (column + 2, COLORS["right"], "s--", "보통의 누적 (SAM 없음)"),
        ]:
            runs = [sorted(measured[size][offset]) for size in sizes]
            middle = [(run[(len(run) - 1) // 2] + run[len(run) // 2]) / 2 for run in runs]
            axis.plot(sizes, middle, style, color=color, label=label)
            low, high = [run[0] for run in runs], [run[-1] for run in runs]
            axis.fill_between(sizes, low, high, color=color, alpha=0.15, linewidth=0)
        axis.set(title=title, xlabel="구간의 마이크로 배치 수", ylabel=label_y, xscale="log")
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.minorticks_off()
    axes[0].legend(loc="upper left")
    return figure


def dots(values: Mapping[str, Sequence[float]], **settings: Any) -> "Figure":
    """Draw a row for each method: a dot for each seed, a bar at their mean. SAM has a colour of its own."""
    from matplotlib import pyplot as plt

    from grader.plots import COLORS

    figure, axis = plt.subplots(figsize=(7.6, 3.8))
    names = list(values)[::-1]
    for place, name in enumerate(names):
        found = values[name]
        color = COLORS["right" if name.startswith("SAM") else "third"]
        axis.plot(found, [place] * len(found), ".", color=color, alpha=0.7)
        axis.plot(mean(found), place, "|", color=color, markersize=18, markeredgewidth=3)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(-0.8, len(values) - 0.2)
    axis.set(**settings)
    return figure


def cuts(lines: Mapping[tuple[str, str], Sequence[Sequence[float]]], reaches: Sequence[float]) -> "Figure":
    """Draw losses along lines through the solutions.

    Args:
        lines: for each pair of title and method, the losses of each seed at even distances from -reach to reach.
        reaches: the reach of each title.
    """
    from matplotlib import pyplot as plt

    from grader.plots import COLORS

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    titles = list(dict.fromkeys(title for title, _ in lines))
    for (title, name), runs in lines.items():
        axis, reach = axes[titles.index(title)], reaches[titles.index(title)]
        distances = torch.linspace(-reach, reach, len(runs[0])).tolist()
        color = COLORS["right" if name == "SAM" else "third"]
        for run in runs:
            axis.plot(distances, run, color=color, linewidth=0.8, alpha=0.6)
        middle = [mean(column) for column in zip(*runs, strict=True)]
        axis.plot(distances, middle, "-" if name == "SAM" else "--", color=color, linewidth=2.6, label=name)
        axis.set_title(title, fontsize=11)
        axis.set_xlabel("움직인 거리")
    axes[0].set_ylabel("커진 손실")
    axes[0].legend(loc="upper center")
    return figure


def planes(grids: Mapping[str, Tensor], ticks: Sequence[float]) -> "Figure":
    """Draw the loss on planes around solutions, all with the same distances and colours."""
    from matplotlib import pyplot as plt
    from matplotlib.colors import BoundaryNorm

    from grader.plots import COLORS

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.0), sharey=True)
    for axis, (name, grid) in zip(axes, grids.items(), strict=True):
        shading: dict[str, Any] = {"cmap": "Blues", "norm": BoundaryNorm(LEVELS, 256), "extend": "max"}
        shades = axis.contourf(ticks, ticks, grid, levels=LEVELS, **shading)
        axis.contour(ticks, ticks, grid, levels=LEVELS, colors=COLORS["muted"], linewidths=0.5)
        axis.plot(0, 0, "o", color=COLORS["wrong"], markersize=7)
        axis.set(title=f"{name}의 해", xlabel="가장 가파른 방향으로 움직인 거리", aspect="equal")
        axis.grid(visible=False)
    axes[0].set_ylabel("무작위 방향으로 움직인 거리")
    figure.colorbar(shades, ax=axes, label="커진 손실", ticks=LEVELS, shrink=0.8)
    return figure
