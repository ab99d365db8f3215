"""A training is resumed from a file or from copied states, but its optimizer or its scheduler begins anew."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from grader.scripts.facts import Facts, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading
from grader.scripts.states import FileLoaded, StateLoaded, StateTaken
from grader.scripts.things import OptimizerFacts

_OPTIMIZER = {"optim", "optimizer", "opt", "optimiser"}
_PROGRESS = {"epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "iterations", "it"}
_PRINTING = ("print", "info", "log", "debug", "write")


def _goes_on(facts: Facts, loaded: FileLoaded) -> bool:
    """Return True if the file says how far the training was, and the script reads that, not to print it."""
    keys = {
        key for key in loaded.keys if _reading.words(key) & _PROGRESS and "best" not in _reading.words(key)
    }
    return any(
        _key(one) in keys
        for file in _reading.files(facts)
        for one in _read(_reading.nodes(file, ast.Module))
        if isinstance(getattr(one, "ctx", ast.Load()), ast.Load)
    )


def _read(nodes: Iterator[ast.AST]) -> Iterator[ast.AST]:
    """Iterate over what stands below some nodes, but not in what is printed."""
    for node in nodes:
        if _reading.called(node) not in _PRINTING:
            yield node
            yield from _read(ast.iter_child_nodes(node))


def _keeps_optimizer(loaded: FileLoaded) -> bool:
    """Return True if the file has an entry for an optimizer's state, by its name."""
    return any(_OPTIMIZER & _reading.words(key) for key in loaded.keys)


def _key(node: ast.AST) -> str | None:
    given: ast.AST | None = None
    if isinstance(node, ast.Subscript):
        given = node.slice
    elif isinstance(node, ast.Call) and _reading.called(node) in ("get", "pop") and node.args:
        given = node.args[0]
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


@dataclass(frozen=True, slots=True)
class _Resumed:
    """Weights that were loaded to go on training."""

    weights: StateLoaded
    held: Said
    """What their file or copy held besides."""
    sure: bool
    """It is sure that the training went on."""
    taken: tuple[StateTaken, ...] = ()
    """Of a copy: the states of optimizers and schedulers that were taken with them."""


def _resumed(facts: Facts) -> Iterator[_Resumed]:
    """Iterate over weights that were loaded to go on training."""
    for file in facts.of(FileLoaded):
        later = [one for one in facts.events[file.serial :] if isinstance(one, StateLoaded)]
        weights = next((one for one in later if one.kind == "module"), None)
        if weights is None or weights.first is None:
            continue
        sure = _goes_on(facts, file) or any(one.kind != "module" for one in later)
        if sure or _keeps_optimizer(file):
            keys = ", ".join(file.keys[:6])
            yield _Resumed(weights, Said(f"파일에 있던 것은 {keys}이고", f"The file held {keys}"), sure)
    yield from _from_copies(facts)


def _from_copies(facts: Facts) -> Iterator[_Resumed]:
    """Iterate over weights from a copy in memory, with which the states of an optimizer in use were taken."""
    for weights in facts.of(StateLoaded):
        if weights.kind != "module" or weights.first is None or weights.weights is None:
            continue
        before = [
            one
            for one in facts.events[: weights.serial]
            if isinstance(one, Stepped | FileLoaded | StateTaken)
        ]
        own = [
            number
            for number, one in enumerate(before)
            if isinstance(one, StateTaken) and one.kind == "module" and one.weights == weights.weights
        ]
        if not own or any(isinstance(one, FileLoaded) for one in before):
            continue
        around = [_neighbours(before[own[-1] :]), _neighbours(before[own[-1] :: -1])]
        function = before[own[-1]].place
        taken = tuple(
            one
            for one in (*around[0], *around[1])
            if one.used and one.place and function and one.place.function == function.function
        )
        kind = facts.optimizers[weights.first.optimizer].kind
        if not any(one.kind == "optimizer" and facts.optimizers[one.owner].kind == kind for one in taken):
            continue
        line = taken[0].place.line if taken[0].place else 0
        held = Said(
            f"{line}번째 줄에서 옵티마이저의 상태도 받아 두었지만",
            f"The optimizer's state was taken on line {line}, too",
        )
        yield _Resumed(weights, held, _restored_there(facts, weights), taken)


def _neighbours(events: list[Stepped | FileLoaded | StateTaken]) -> list[StateTaken]:
    """Return the states that were taken before anything was trained on."""
    return [
        one
        for one in takewhile(lambda one: isinstance(one, StateTaken), events)
        if isinstance(one, StateTaken)
    ]


def _restored_there(facts: Facts, weights: StateLoaded) -> bool:
    """Return True if the function that loads weights also loads the state of an optimizer or scheduler."""
    return any(
        one.kind != "module" and one.place and weights.place and one.place.function == weights.place.function
        for one in facts.of(StateLoaded)
    )


def _has_state(optimizer: OptimizerFacts) -> bool:
    """Return True if an optimizer carries anything from step to step."""
    if optimizer.kind != "SGD":
        return True
    return any(bool(options.get("momentum")) for options in optimizer.options)


def _no_optimizer(facts: Facts) -> Iterator[Finding]:
    for found in _resumed(facts):
        weights = found.weights
        assert weights.first is not None
        optimizer = facts.optimizers[weights.first.optimizer]
        given = any(
            one.kind == "optimizer" and one.owner == optimizer.number for one in facts.of(StateLoaded)
        )
        if (given and not found.taken) or not weights.first.fresh or not _has_state(optimizer):
            continue
        yield Finding(
            place=weights.place,
            severity=None if found.sure else "warning",
            sentence=Said(
                f"가중치만 불러오고 {optimizer.kind}의 상태는 불러오지 않아서, 이어서 하는 학습이 "
                f"빈 모멘트로 시작해요.",
                f"Only the weights are loaded: {optimizer.kind} goes on with empty moments.",
            ),
            evidence=Said(
                f"{found.held.ko}, 이 옵티마이저는 "
                + ("" if given else "`load_state_dict` 없이 ")
                + "빈 상태로 첫 `step()`을 했어요.",
                f"{found.held.en}; this optimizer made its first step with an empty state"
                + ("." if given else " and without a load_state_dict."),
            ),
            mend=Said(
                "`optimizer.state_dict()`도 저장하고 불러오세요.", "Save and load optimizer.state_dict() too."
            ),
        )


def _scheduler_restart(facts: Facts) -> Iterator[Finding]:
    for found in _resumed(facts):
        weights, first = found.weights, found.weights.first
        assert first is not None
        given = any(
            one.kind == "scheduler" and (one.owner < 0 or one.owner in first.schedules)
            for one in facts.of(StateLoaded)
        )
        kinds = [facts.schedulers[number].kind for number, done in first.schedules.items() if done == 0]
        anew = [kind for kind in kinds if kind != "ReduceLROnPlateau"]
        if given or not anew or len(kinds) < len(first.schedules):
            continue
        if found.taken and not any(one.kind == "scheduler" for one in found.taken):
            continue
        yield Finding(
            place=weights.place,
            severity=None if found.sure else "warning",
            sentence=Said(
                "이어서 학습하는데 스케줄러는 처음부터 다시 시작해요. 학습률이 처음 값으로 "
                "뛰고, 계획한 끝까지 가지 못해요.",
                "The training goes on but its scheduler begins anew: the rate jumps back to its start and "
                "never comes to its planned end.",
            ),
            evidence=Said(
                f"이어서 한 첫 업데이트의 학습률이 {first.rates[0]:.3g}이고, 그때 스케줄러({anew[0]})는 "
                "`load_state_dict` 없이 0번째 자리에 있었어요.",
                f"The first update afterwards had the rate {first.rates[0]:.3g}; {anew[0]} stood at 0 then, without a "
                "load_state_dict.",
            ),
            mend=Said(
                "`scheduler.state_dict()`도 저장하고 불러오세요.",
                "Save and load scheduler.state_dict() too.",
            ),
        )


RULES = [
    Rule(
        id="resume-no-optimizer",
        severity="bug",
        title=Said("옵티마이저 상태 없이 이어서 학습했어요", "Resumed without the optimizer's state"),
        lesson="02_loop_anatomy/7_resume",
        find=_no_optimizer,
        late=True,
    ),
    Rule(
        id="resume-scheduler-restart",
        severity="bug",
        title=Said("이어서 학습하는데 스케줄러가 처음부터예요", "The scheduler restarts on resuming"),
        lesson="02_loop_anatomy/7_resume",
        find=_scheduler_restart,
        late=True,
    ),
]
