"""Evaluation with dropout and batch statistics on, or with graphs that nobody uses."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import (
    BackwardRan,
    BatchLoaded,
    Facts,
    ForwardRan,
    GradientTaken,
    ModeSet,
    Stepped,
)
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._evaluations import row_set
from grader.scripts.rules._judged import judged_in_train_mode
from grader.scripts.states import DroppedInEval
from grader.scripts.things import ModuleFacts

_FEWEST = 3
_JUDGING = {
    *("eval", "evaluate", "evaluation", "score", "scores", "validate", "validation", "val", "valid", "test"),
    *("accuracy", "acc", "metric", "metrics", "rmse", "mae", "auc"),
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _trained(facts: Facts) -> Iterator[ModuleFacts]:
    """Iterate over the modules that run forward and whose parameters an optimizer updates."""
    held = facts.held()
    for module in facts.modules:
        if any(facts.parameters[one].reached >= _FEWEST and one in held for one in module.parameters):
            yield module


def _scope(file: str, line: int) -> ast.AST | None:
    """Return the innermost function around a line; None at the module's level."""
    return next(iter(_reading.around(Place(file, line), *_FUNCTIONS)), None)


def _ran_after(facts: Facts, file: str, line: int) -> list[ForwardRan]:
    """Return the forwards in train mode without gradients that an `eval` without parentheses on a line was meant for.

    They stand below it in its function or, where the script never calls `eval()`, anywhere.
    """
    ran = [one for one in facts.of(ForwardRan) if not one.grad and one.training and one.live_parts]
    scope = _scope(file, line)
    below = [
        one
        for one in ran
        if one.place is not None and one.place.file == file and one.place.line >= line
        if _scope(file, one.place.line) is scope
    ]
    elsewhere = [] if any(not one.training for one in facts.of(ModeSet)) else ran
    return below or elsewhere


def _named_only(facts: Facts) -> Iterator[Finding]:
    """Find `model.eval` that nobody calls, and forwards that stayed in train mode for it."""
    for file in _reading.files(facts):
        for node in _reading.nodes(file, ast.Expr):
            assert isinstance(node, ast.Expr)
            named = node.value
            if not isinstance(named, ast.Attribute) or named.attr != "eval":
                continue
            ran = _ran_after(facts, file, node.lineno)
            if not ran:
                continue
            written = ast.unparse(named)
            yield Finding(
                place=_reading.at(file, node),
                sentence=Said(
                    f"`{written}`은 이름만 적은 것이라 아무 일도 하지 않아요. 괄호가 없어서 부르지 않았고, 모델이 "
                    "학습 모드인 채로 평가해요.",
                    f"`{written}` only names the method and does nothing: without parentheses it is not called, and "
                    "the model is evaluated in train mode.",
                ),
                evidence=Said(
                    f"그레이디언트 계산을 끈 순전파 {len(ran)}번이 학습 모드였어요 (모드에 따라 달라지는 층 "
                    f"{ran[-1].live_parts}개).",
                    f"{len(ran)} forwards without gradients ran in train mode ({ran[-1].live_parts} layers depend on "
                    "the mode).",
                ),
                mend=Said(f"`{written}()`으로 부르세요.", f"Call it: `{written}()`."),
            )


def _by_function(facts: Facts) -> Iterator[Finding]:
    """Find `F.dropout(x, p)` without `training`, which drops in eval mode, too.

    Several evaluations of the same rows at one update are samples of dropout, on purpose.
    """
    drops = [one for one in facts.of(DroppedInEval) if not one.told]
    for place in dict.fromkeys(one.place for one in drops):
        these = [one for one in drops if one.place == place]
        ran = [facts.events[one] for one in dict.fromkeys(one.forward for one in these)]
        seen = [(one.update, row) for one in ran if isinstance(one, ForwardRan) for row in row_set(one)]
        if len(seen) > len(set(seen)):
            continue
        yield Finding(
            place=place,
            sentence=Said(
                f"`F.{these[-1].name}`에 `training`을 주지 않아서, 모델이 평가 모드일 때에도 값을 떨어뜨려요. 잰 값이 "
                "실제 성능이 아니고, 잴 때마다 달라져요.",
                f"F.{these[-1].name} is not given `training`, so it drops in eval mode, too: the measured value is "
                "not the model's, and differs each time.",
            ),
            evidence=Said(
                f"평가 모드에서 그레이디언트 계산을 끄고 한 순전파 {len(ran)}번이 이 줄에서 드롭아웃을 했어요.",
                f"{len(ran)} forward{'s' * (len(ran) > 1)} in eval mode without gradients dropped entries in this "
                "line.",
            ),
            mend=Said(
                f"`F.{these[-1].name}(…, training=self.training)`으로 부르거나 `nn.Dropout`을 쓰세요.",
                f"Call `F.{these[-1].name}(…, training=self.training)`, or use `nn.Dropout`.",
            ),
        )


def _in_train_mode(facts: Facts) -> Iterator[Finding]:
    named = list(_named_only(facts))
    yield from named or _on_newrow_set(facts)
    yield from _by_function(facts)


def _never_set_to_eval(facts: Facts, forward: ForwardRan) -> bool:
    """Return True if a model is judged in a function for that, and the script sets modes, but never eval mode.

    Dropout may stay on on purpose, to sample: then one input comes several times.
    """
    if forward.place is None or forward.rows is None or not forward.continuous:
        return False
    if not _reading.words(forward.place.function) & _JUDGING or len(row_set(forward)) < forward.batch:
        return False
    if not any(one.module == forward.module and one.training for one in facts.of(ModeSet)):
        return False
    own = facts.modules[forward.module].parameters
    if any(facts.steps(one.number) and not one.parameters & own for one in facts.optimizers):
        return False  # a generator may well draw its samples in train mode
    return not any(
        (isinstance(one, ast.Attribute) and one.attr in ("eval", "training"))
        or (_reading.called(one) == "train" and isinstance(one, ast.Call) and (one.args or one.keywords))
        for file in _reading.files(facts)
        for one in _reading.nodes(file, ast.Attribute, ast.Call)
    )


def _on_newrow_set(facts: Facts) -> Iterator[Finding]:
    for module in _trained(facts):
        runs = judged_in_train_mode(facts, module.number)
        updates = {run[0].update for run in runs}
        count = sum(map(len, runs))
        once = len(runs) == 1 and count == 1
        sure = bool(runs) and _never_set_to_eval(facts, runs[-1][0])
        if not runs or len(updates) > 0.3 * facts.updates + 1 or (once and not sure):
            continue
        first = runs[-1][0]
        since = max(
            (one.serial for one in facts.events[: first.serial] if isinstance(one, Stepped | BackwardRan)),
            default=0,
        )
        before = facts.between(since, first.serial)
        setting = [one for one in before if isinstance(one, ModeSet) and one.module == module.number]
        if setting and setting[-1].place == first.place:
            continue  # a library sets the mode and runs the model: statistics of batch norms
        loaded = any(isinstance(one, BatchLoaded) for one in before)
        yield Finding(
            place=setting[-1].place if setting and setting[-1].training else first.place,
            severity="bug" if setting or loaded or sure else "warning",
            sentence=Said(
                "모델이 학습 모드인 채로 평가해요. 드롭아웃이 켜져 있거나 배치 정규화가 그 배치의 통계를 써서, "
                "잰 값이 실제 성능이 아니에요.",
                "The model is evaluated in train mode, with dropout or batch statistics on, so the measured value "
                "is not the model's.",
            ),
            evidence=Said(
                f"학습에 없던 데이터를 넣은 순전파 {count}번이 모두 학습 모드였어요 "
                f"({'`backward()`는 없었고' if first.grad else '그레이디언트 계산은 껐고'}, 모드에 따라 달라지는 층 "
                f"{first.live_parts}개).",
                f"{count} forward{'s' * (count > 1)} {'before no backward()' if first.grad else 'without gradients'} "
                f"on rows that were not trained on ran in train mode ({first.live_parts} layers depend on the mode).",
            ),
            mend=Said(
                "평가하기 전에 `model.eval()`을, 다시 학습하기 전에 `model.train()`을 부르세요.",
                "Call model.eval() before evaluating and model.train() before training on.",
            ),
        )


def _unused(facts: Facts, module: int) -> list[ForwardRan]:
    """Return the forwards in eval mode with gradients after which nobody asked for gradients."""
    found: list[ForwardRan] = []
    run: list[ForwardRan] = []
    for event in facts.events:
        if isinstance(event, BackwardRan | GradientTaken):
            run = []
        elif isinstance(event, ForwardRan) and event.module == module:
            if event.training:
                found, run = found + run, []
            elif event.grad and not event.raised:
                run.append(event)
    return found + run


def _with_graphs(facts: Facts) -> Iterator[Finding]:
    for module in _trained(facts):
        forwards = [one for one in facts.of(ForwardRan) if one.module == module.number]
        if not any(one.training and one.grad for one in forwards):
            continue
        unused = [one for one in _unused(facts, module.number) if one.update > 0]
        evaluated = [one for one in forwards if not one.training]
        for place in dict.fromkeys(one.place for one in unused):
            these = [one for one in unused if one.place == place]
            if len(these) < 2 or len(unused) < 0.5 * len(evaluated):
                continue
            yield Finding(
                place=place,
                sentence=Said(
                    "평가할 때 그레이디언트 계산이 켜져 있어서, 쓰지 않을 그래프를 만드느라 메모리와 시간을 써요.",
                    "The evaluation runs with gradients on and builds graphs that nobody uses.",
                ),
                evidence=Said(
                    f"평가 모드의 순전파 {len(evaluated)}번 가운데 {len(these)}번이 그레이디언트 계산을 "
                    "켠 채였고, 그 뒤에 `backward()`가 없었어요.",
                    f"{len(these)} of {len(evaluated)} forwards in eval mode had gradients on, and no backward() "
                    "followed.",
                ),
                mend=Said(
                    "평가를 `with torch.no_grad():` 안에서 하세요.",
                    "Evaluate inside `with torch.no_grad():`.",
                ),
            )


RULES = [
    Rule(
        id="eval-in-train-mode",
        severity="bug",
        title=Said("학습 모드로 평가했어요", "Evaluation in train mode"),
        lesson="01_five_line_step/6_evaluation_and_switches",
        find=_in_train_mode,
    ),
    Rule(
        id="eval-without-no-grad",
        severity="warning",
        title=Said("평가할 때 그레이디언트 계산이 켜져 있어요", "Evaluation with gradients on"),
        lesson="01_five_line_step/6_evaluation_and_switches",
        find=_with_graphs,
    ),
]
