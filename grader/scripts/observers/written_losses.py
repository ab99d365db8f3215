"""Observe losses that a script writes by hand: what their graphs do, and with which weights entries count in them."""

from collections import Counter
from typing import Any

from torch import Tensor

from grader.scripts import graph, written_losses
from grader.scripts.by_hand import MOST_LOOKS, SamplesSummed, ScorePicked, SquashedTwice
from grader.scripts.facts import BackwardRan, ForwardRan, LossComputed
from grader.scripts.graph import operation
from grader.scripts.places import Place
from grader.scripts.watch import Watch

_MOST_TARGETS = 4096
_SMALLEST_BATCH = 8
_EQUAL = 1e-3


class WrittenLossObserver:
    """Reads the graphs of the first backwards of each line."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._looks: Counter[Place | None] = Counter()

    def about_to_run(self, event: BackwardRan, roots: list[Tensor]) -> None:
        """Look at the graph of a backward that is about to run."""
        self._looks[event.place] += 1
        root = roots[0].grad_fn if len(roots) == 1 and roots[0].numel() == 1 else None
        if root is None or self._looks[event.place] > MOST_LOOKS:
            return
        nodes = written_losses.region(root)
        used = {
            one.name
            for serial in event.losses
            if isinstance(one := self._watch.facts.events[serial], LossComputed)
        }
        self._look_for_squashed(event, nodes, used)
        if not used & {"cross_entropy", "nll_loss"}:
            for pick in written_losses.picks(nodes):
                self._look_at_pick(event, root, pick)
        if not event.losses:
            self._look_at_sum(event, root)

    def _look_for_squashed(self, event: BackwardRan, nodes: list[Any], used: set[str]) -> None:
        found = []
        if "cross_entropy" not in used:
            found.append(written_losses.softmax_twice(nodes))
        if "binary_cross_entropy_with_logits" not in used:
            found.append(written_losses.sigmoid_twice(nodes))
        for node in found:
            values = None if node is None else written_losses.saved(node, "result")
            if isinstance(values, Tensor) and values.numel():
                mark = graph.mark_of(node)
                self._watch.add(
                    SquashedTwice(
                        backward=event.number,
                        name=operation(node),
                        made=mark if isinstance(mark, Place) else None,
                        low=float(values.min()),
                        high=float(values.max()),
                    )
                )

    def _look_at_pick(self, event: BackwardRan, root: Any, pick: written_losses.Pick) -> None:
        normalised = written_losses.log_softmax_behind(pick)
        raw = written_losses.is_linear_layer(pick.source)
        if normalised is None and not raw:
            return
        mark = None if normalised is None else graph.mark_of(normalised)
        forwards = graph.forwards_of(pick.source)
        targets = pick.targets.detach()
        picked = self._watch.add(
            ScorePicked(
                backward=event.number,
                targets=targets.reshape(-1)[:_MOST_TARGETS].clone(),
                target_shape=tuple(targets.shape),
                normalised=normalised is not None,
                raw=raw,
                alone=written_losses.stands_alone(root, pick),
                made=mark if isinstance(mark, Place) else None,
                forward=forwards[-1] if forwards else None,
            )
        )

        def look(gradient: Tensor) -> None:
            with self._watch.working():
                own = gradient.gather(-1, targets.unsqueeze(-1)) if pick.one_hot else gradient
                if own.numel() == targets.numel():
                    picked.weights = own.reshape(-1)[:_MOST_TARGETS].clone()

        written_losses.watch_gradient(pick.node, look)

    def _look_at_sum(self, event: BackwardRan, root: Any) -> None:
        forward = None if event.forward is None else self._watch.facts.events[event.forward]
        if not isinstance(forward, ForwardRan) or forward.batch < _SMALLEST_BATCH:
            return
        node = written_losses.summed_samples(root, forward.batch)
        if node is None:
            return

        def look(gradient: Tensor) -> None:
            with self._watch.working():
                sums = gradient.reshape(len(gradient), -1).sum(1)
                weight = float(sums.mean())
                if bool(((sums - weight).abs() <= _EQUAL * abs(weight)).all()):
                    self._watch.add(
                        SamplesSummed(backward=event.number, samples=len(gradient), weight=weight),
                        event.place,
                    )

        written_losses.watch_gradient(node, look)
