"""Find steps that read one of several backwards: the gradients of the others were cleared and nobody used them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.scripts.facts import BackwardRan, Cleared, Clipped, Facts, ForwardRan, ScalerCalled, Stepped
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._steps import FEWEST, MOST_OFTEN
from grader.scripts.source import gradient_clearings

_EXPLAINED = 0.05
_HOOKS = (
    "register_hook",
    "register_post_accumulate_grad_hook",
    "register_full_backward_hook",
    "register_multi_grad_hook",
)


@dataclass(frozen=True, slots=True)
class Lost:
    """Steps of one optimizer that read only the last backward of their windows."""

    steps: list[Stepped]
    of: int
    """All its steps that read something."""
    cleared: Cleared
    """The last clearing that threw a backward away."""
    last: BackwardRan
    """The only backward that the last step read."""
    count: int
    """Backwards that were meant for the last step."""


def lost_passes(facts: Facts) -> Iterator[Lost]:
    """Iterate over the optimizers whose steps nearly always read only the last of several backwards that were meant."""
    if any(_gradients_are_read(file) for file in _reading.files(facts)):
        return
    known = {one.number: one for one in facts.of(BackwardRan)}
    read = {number for step in facts.of(Stepped) for number in step.recipe}
    for optimizer in facts.optimizers:
        before, found, count = -1, list[tuple[Stepped, Cleared, BackwardRan, int]](), 0
        for step in facts.steps(optimizer.number):
            clearings = [one for one in facts.between(before, step.serial) if isinstance(one, Cleared)]
            before = step.serial
            count += bool(step.recipe)
            kept = [known[number] for number in step.recipe]
            gone = [(known[n], one) for one in clearings for n in one.dropped.get(step.optimizer, ())]
            # What another optimizer's step has read was meant for that: the generator's loss, of a discriminator.
            gone = [(one, clearing) for one, clearing in gone if one.number not in read]
            if len(kept) != 1 or not gone or step.closure or step.unexplained > _EXPLAINED:
                continue
            if all(_is_lost(facts, one, clearing, kept[0], step) for one, clearing in gone):
                found.append((step, gone[-1][1], kept[0], len(gone) + 1))
        if len(found) >= FEWEST and len(found) >= MOST_OFTEN * count:
            yield Lost([step for step, *_ in found], count, *found[-1][1:])


def _is_lost(facts: Facts, gone: BackwardRan, clearing: Cleared, kept: BackwardRan, step: Stepped) -> bool:
    """Return True if a backward was meant for the step that reads another one, and nothing else can have used it."""
    used = any(
        isinstance(one, Clipped) or (isinstance(one, ScalerCalled) and one.method == "unscale_")
        for one in facts.between(gone.serial, clearing.serial)
    )
    moved = gone.weights.get(step.optimizer) != kept.weights.get(step.optimizer)  # as SAM does
    others = gone.reached - facts.held()  # an input that an attack asks about
    if used or moved or others or gone.in_step or clearing.serial > kept.serial:
        return False
    if set(gone.losses) & set(kept.losses):
        return False  # the same losses again: the first was for a look
    if gone.place != kept.place:
        if _two_halves(facts, gone, clearing, kept, step):
            return True
        return _same_input(facts, gone, kept) and not _loss_lines(facts, gone) & _loss_lines(facts, kept)
    return (
        _same_input(facts, gone, kept)
        or kept.divisor == gone.divisor == len(step.window)
        or _in_inner_loop(kept, step)
    )


def _two_halves(facts: Facts, gone: BackwardRan, clearing: Cleared, kept: BackwardRan, step: Stepped) -> bool:
    """Return True for two losses of one model in one block that only this optimizer can have been meant to read.

    So are the real and the false half of a discriminator's loss, which are about different batches.
    """
    found = [facts.events[one.forward] for one in (gone, kept) if one.forward is not None]
    models = [(one.module, one.training) for one in found if isinstance(one, ForwardRan)]
    held = facts.optimizers[step.optimizer].parameters
    if len(models) != 2 or models[0] != models[1] or not gone.reached == kept.reached <= held:
        return False
    places = [one.place for one in (gone, clearing, kept)]
    blocks = [_block(one) for one in places if one is not None]
    losses = _loss_lines(facts, gone), _loss_lines(facts, kept)
    return len(blocks) == 3 and blocks[0] is not None and blocks.count(blocks[0]) == 3 and all(losses)


def _block(place: Place) -> int | None:
    """Return which block a line is a statement of, not a deeper one of its statements; None if that is not known."""
    for root in _reading.nodes(place.file, ast.Module):
        for block in _reading.blocks(root):
            for one in block:
                simple = not isinstance(
                    one, ast.For | ast.While | ast.If | ast.With | ast.Try | ast.FunctionDef
                )
                if (
                    simple
                    and not isinstance(one, ast.ClassDef)
                    and one.lineno <= place.line <= (one.end_lineno or 0)
                ):
                    return id(block)
    return None


def _same_input(facts: Facts, gone: BackwardRan, kept: BackwardRan) -> bool:
    """Return True if two backwards are about one batch, with different losses."""
    found = [facts.events[one.forward] for one in (gone, kept) if one.forward is not None]
    rows = [one.rows for one in found if isinstance(one, ForwardRan)]
    if len(rows) != 2 or rows[0] is None or rows[1] is None or not _loss_lines(facts, gone):
        return False
    return rows[0].tolist() == rows[1].tolist()


def _loss_lines(facts: Facts, backward: BackwardRan) -> set[Place | None]:
    return {facts.events[one].place for one in backward.losses}


def _in_inner_loop(backward: BackwardRan, step: Stepped) -> bool:
    """Return True if a backward stands in a loop that ends before the step: of tasks, or of micro-batches."""
    after = [one for one in (step.place, *step.callers) if one is not None]
    for line in [one for one in (backward.place, *backward.callers) if one is not None]:
        same = [one for one in after if (one.file, one.function) == (line.file, line.function)]
        for loop in _reading.around(line, *_reading.LOOPS):
            ends = int(getattr(loop, "end_lineno", 0) or 0)
            if same and all(one.line > ends for one in same):
                return True
    return False


def _gradients_are_read(file: str) -> bool:
    """Return True if a file may use gradients by hand: it reads `.grad` other than to clear it, or has hooks."""
    clearings = {one.line for one in gradient_clearings(file)}
    tests = {
        id(one.left)
        for one in _reading.nodes(file, ast.Compare)
        if isinstance(one, ast.Compare) and ast.unparse(one.comparators[0]) == "None"
    }
    for node in _reading.nodes(file, ast.Attribute):
        assert isinstance(node, ast.Attribute)
        if node.attr in _HOOKS:
            return True
        if node.attr != "grad" or id(node) in tests or ast.unparse(node.value).endswith("autograd"):
            continue
        if node.lineno not in clearings:
            return True
    return False
