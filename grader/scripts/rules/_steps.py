"""Look at steps that read nothing, for the rules that say why."""

from dataclasses import dataclass

from grader.scripts.facts import BackwardRan, Cleared, Facts, Stepped

FEWEST = 3
MOST_OFTEN = 0.8


@dataclass(frozen=True, slots=True)
class Idle:
    """Steps of one optimizer that read no gradient although backwards contributed to it."""

    optimizer: int
    steps: list[Stepped]
    of: int
    """All its steps."""


def idle_steps(facts: Facts) -> list[Idle]:
    """Return the optimizers that read nothing in nearly all their steps, but got gradients in between."""
    found = []
    for optimizer in facts.optimizers:
        steps = [step for step in facts.steps(optimizer.number) if not step.closure]
        idle = [step for step in steps if step.read_norm == 0]
        gets = any(optimizer.number in one.contributed for one in facts.of(BackwardRan))
        if gets and len(idle) >= FEWEST and len(idle) >= MOST_OFTEN * len(steps):
            found.append(Idle(optimizer.number, idle, len(steps)))
    return found


def last_clearing(facts: Facts, step: Stepped) -> Cleared | None:
    """Return the clearing that threw away, since this optimizer's previous step, what the step would have read."""
    for event in reversed(facts.events[: step.serial]):
        if isinstance(event, Cleared) and step.optimizer in event.dropped:
            return event
        if isinstance(event, Stepped) and event.optimizer == step.optimizer:
            return None
    return None


def step_within(facts: Facts, backward: BackwardRan, optimizer: int) -> Stepped | None:
    """Return a step of the optimizer between a backward and the forward that it belongs to."""
    if backward.forward is None:
        return None
    for event in facts.between(backward.forward, backward.serial):
        if isinstance(event, Stepped) and event.optimizer == optimizer and not event.inside:
            return event
    return None
