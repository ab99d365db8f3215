"""The "best" model is kept when its score got worse."""

import ast
import linecache
from collections.abc import Iterator, Sequence

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading
from grader.scripts.rules._chosen import choices

_HIGH = {
    "acc",
    "accuracy",
    "f1",
    "auc",
    "auroc",
    "precision",
    "recall",
    "iou",
    "miou",
    "dice",
    "bleu",
    "r2",
    "map",
}
_LOW = {
    "loss",
    "losses",
    "err",
    "error",
    "errors",
    "rmse",
    "mse",
    "mae",
    "ppl",
    "perplexity",
    "nll",
    "cer",
    "wer",
}
_LOSSES = ("cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "criterion", "crit")
_KEEPING = ("state_dict", "deepcopy", "save", "save_checkpoint", "save_model", "save_pretrained")
_BEST = {"best", "min", "max", "lowest", "highest"}


def _compared(test: ast.expr) -> tuple[ast.expr, ast.expr, bool] | None:
    """Return what is new, what was best, and whether larger is kept; None if the test is something else."""
    found = []
    for one in ast.walk(test):
        if isinstance(one, ast.Compare) and len(one.ops) == 1:
            operator = one.ops[0]
            if isinstance(operator, ast.Gt | ast.GtE | ast.Lt | ast.LtE):
                larger = isinstance(operator, ast.Gt | ast.GtE)
                left, right = one.left, one.comparators[0]
                if _BEST & _reading.words(right):
                    found.append((left, right, larger))
                elif _BEST & _reading.words(left):
                    found.append((right, left, not larger))
    if len(found) != 1 or any(isinstance(one, ast.USub | ast.Not) for one in ast.walk(test)):
        return None
    return found[0]


def direction(file: str, value: ast.expr, best: ast.expr, line: int) -> str:
    """Say whether a score is better `high` or `low` by its names; "" if they do not tell."""
    said = _reading.words(value) | _reading.words(best)
    if not said & (_HIGH | _LOW) and isinstance(value, ast.Name):
        made = [
            one
            for one in _reading.nodes(file, ast.Assign)
            if isinstance(one, ast.Assign) and value.id in _reading.bound(one) and one.lineno < line
        ]
        if made and len(made[-1].targets) == 1 and isinstance(made[-1].targets[0], ast.Name):
            if any(isinstance(one, ast.USub) for one in ast.walk(made[-1].value)):
                return ""
            if _reading.counts_right(made[-1].value):
                return "high"
            made_by = made[-1].value
            for call in _reading.nodes_of(made_by, ast.Call):
                said |= _reading.words(_reading.called(call))
                said |= {"loss"} if _reading.called(call) in _LOSSES else set()
    high, low = bool(said & _HIGH), bool(said & _LOW)
    return "" if high == low else "high" if high else "low"


def _keeps(branch: ast.If, best: ast.expr, value: ast.expr) -> bool:
    """Return True if a branch makes the new score the best and keeps the model."""
    name, new = ast.unparse(best), ast.unparse(value)
    text = [ast.unparse(one) for one in branch.body]
    remembered = any(name in one and new in one for one in text) or any(
        isinstance(one, ast.Assign | ast.Expr) and _BEST & _reading.words(one) and new in ast.unparse(one)
        for one in branch.body
    )
    return remembered and any(_reading.calls(one, *_KEEPING) for one in branch.body)


def _saves(branch: ast.If) -> bool:
    return any(_reading.calls(one, *_KEEPING) for one in branch.body)


def _within(file: str, test: ast.expr) -> ast.expr:
    """Return what a function of the script compares, in the words of its call: `v > best` for `improved(v, best)`.

    Its parameters may choose between two comparisons, as by `mode == "max"`. Anything else is returned as it is.
    """
    function = _reading.function_called(file, test) if isinstance(test, ast.Call) else None
    if function is None or not isinstance(test, ast.Call):
        return test
    given = _arguments(function, test)
    values: list[ast.AST] = []
    for statement in _chosen(function.body, given):
        returns = [one for one in ast.walk(statement) if isinstance(one, ast.Return) and one.value]
        values += [value for one in returns if one.value for value in _chosen([one.value], given)]
        if isinstance(statement, ast.Return):
            break
    values = [one for one in values if not isinstance(one, ast.Constant)]
    if len(values) != 1 or not isinstance(values[0], ast.Compare):
        return test
    inner = ast.parse(ast.unparse(values[0]), mode="eval").body
    for name in [one for one in ast.walk(inner) if isinstance(one, ast.Name) and one.id in given]:
        name.id = ast.unparse(given[name.id])
    return ast.parse(ast.unparse(inner), mode="eval").body


def _arguments(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    """Return what a call gives for the parameters of a function, by name; defaults among them."""
    names = [one.arg for one in function.args.args]
    if names[:1] == ["self"]:
        names = names[1:]
    defaults = function.args.defaults
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    given |= {
        one.arg: value
        for one, value in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        if value is not None
    }
    given |= dict(zip(names, call.args, strict=False))
    return given | {one.arg: one.value for one in call.keywords if one.arg is not None}


def _chosen(parts: Sequence[ast.AST], given: dict[str, ast.expr]) -> list[ast.AST]:
    """Return statements or expressions, with the branches that run instead of conditions on what a call gives."""
    found: list[ast.AST] = []
    for one in parts:
        holds = _holds(one.test, given) if isinstance(one, ast.If | ast.IfExp) else None
        if holds is None or not isinstance(one, ast.If | ast.IfExp):
            found.append(one)
            continue
        branch = one.body if holds else one.orelse
        found += _chosen(branch if isinstance(branch, list) else [branch], given)
    return found


def _holds(test: ast.expr, given: dict[str, ast.expr]) -> bool | None:
    """Return whether what a call gives is or is not some constant; None if a test is about anything else."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or len(test.ops) > 1:
        return None
    value, wanted = given.get(test.left.id), test.comparators[0]
    if not isinstance(value, ast.Constant) or not isinstance(wanted, ast.Constant):
        return None
    if not isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return None
    return (value.value == wanted.value) == isinstance(test.ops[0], ast.Eq)


def _judged(file: str, branch: ast.If) -> ast.If | ast.Assign:
    """Return the statement that compares: the branch, or the assignment of the name that it tests."""
    if not isinstance(branch.test, ast.Name):
        return branch
    made = [
        one
        for one in _reading.nodes(file, ast.Assign)
        if isinstance(one, ast.Assign)
        and branch.test.id in _reading.bound(one)
        and one.lineno < branch.lineno
        and isinstance(one.value, ast.Compare)
    ]
    return made[-1] if made else branch


def _measured_by(file: str, score: ast.expr) -> str:
    """Say whether a score is better `high` or `low` by its own words, or by what a function of that name returns."""
    said = _reading.words(score)
    if not said & (_HIGH | _LOW):
        named = {one.value for one in _reading.nodes_of(score, ast.Constant) if isinstance(one, ast.Constant)}
        named |= {
            one.attr for one in _reading.nodes_of(score, ast.Attribute) if isinstance(one, ast.Attribute)
        }
        for function in _reading.nodes(file, ast.FunctionDef):
            assert isinstance(function, ast.FunctionDef)
            for one in _reading.nodes_of(function, ast.Return) if function.name in named else ():
                if _reading.counts_right(one):
                    said |= {"accuracy"}
                if any(isinstance(sign, ast.USub) for sign in ast.walk(one)):
                    return ""
                calls = {_reading.called(call) for call in _reading.nodes_of(one, ast.Call)}
                said |= {"loss"} if calls & set(_LOSSES) else set()
                said |= {word for call in calls for word in _reading.words(call)} & _LOW
    high, low = bool(said & _HIGH), bool(said & _LOW)
    return "" if high == low else "high" if high else "low"


def _choosing(facts: Facts) -> Iterator[Finding]:
    """Find models that are chosen by `sorted`, `min`, `max` or a heap, and the worst of them is."""
    for file in _reading.files(facts):
        for choice in choices(file):
            better = _measured_by(file, choice.score)
            if not better or choice.larger == (better == "high"):
                continue
            shown = ast.unparse(choice.score)
            yield Finding(
                place=_reading.at(file, choice.node),
                sentence=Said(
                    f"`{shown}` 값이 가장 나쁜 모델을 골라 남겨요.",
                    f"The models with the worst `{shown}` are chosen and kept.",
                ),
                evidence=Said(
                    f"읽어 보니 `{shown}` 값은 {'클수록' if better == 'high' else '작을수록'} 좋은 값인데, 여기에서는 "
                    f"{'가장 큰' if choice.larger else '가장 작은'} 것이 남아요.",
                    f"From reading: it is better when it is {'larger' if better == 'high' else 'smaller'}, but the "
                    f"{'largest' if choice.larger else 'smallest'} stay.",
                ),
                mend=Said(
                    "순서를 뒤집으세요: `reverse`를 바꾸거나, `min`과 `max`를 서로 바꾸거나, 힙에는 부호를 바꾸어 "
                    "넣으세요.",
                    "Turn the order: change `reverse`, swap `min` and `max`, or push the negated value on the heap.",
                ),
            )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _choosing(facts)
    yield from _compared_with_best(facts)


def _compared_with_best(facts: Facts) -> Iterator[Finding]:
    for file in _reading.files(facts):
        for branch in _reading.nodes(file, ast.If):
            assert isinstance(branch, ast.If)
            judged = _judged(file, branch)
            test = _within(file, judged.test if isinstance(judged, ast.If) else judged.value)
            compared = _compared(test)
            if compared is None:
                continue
            value, best, larger = compared
            if not (_keeps(branch, best, value) if judged is branch else _saves(branch)):
                continue
            better = direction(file, value, best, judged.lineno)
            if not better or larger == (better == "high"):
                continue
            sign = next(
                sign
                for kind, sign in ((ast.GtE, ">="), (ast.LtE, "<="), (ast.Gt, ">"), (ast.Lt, "<"))
                if any(isinstance(one, kind) for one in ast.walk(test))
            )
            line = linecache.getline(file, judged.lineno).strip()
            turned = line.replace(sign, sign.replace("<", "\0").replace(">", "<").replace("\0", ">"))
            yield Finding(
                place=_reading.at(file, judged),
                sentence=Said(
                    f"`{ast.unparse(value)}` 값이 나빠질 때 모델을 남겨요. 가장 좋은 것이 아니라 "
                    f"가장 나쁜 것이 남아요.",
                    f"The model is kept when `{ast.unparse(value)}` gets worse, so the worst one is kept as the best.",
                ),
                evidence=Said(
                    f"읽어 보니 `{ast.unparse(value)}` 값은 "
                    f"{'클수록' if better == 'high' else '작을수록'} 좋은 값인데, "
                    f"`{ast.unparse(test)}`일 때 가중치를 저장해요.",
                    f"From reading: `{ast.unparse(value)}` is better when it is "
                    f"{'larger' if better == 'high' else 'smaller'}, but the weights are kept if "
                    f"`{ast.unparse(test)}`.",
                ),
                mend=Said(
                    "비교의 방향을 바꾸고, 첫 값도 그쪽 끝에서 시작하세요"
                    + (" (`-1`이나 `-inf`)." if better == "high" else " (`inf`)."),
                    "Turn the comparison, and begin at the other end"
                    + (" (`-1` or `-inf`)." if better == "high" else " (`inf`)."),
                ),
                diff=(line, turned) if line.count(sign) == 1 else None,
            )


RULE = Rule(
    id="ckpt-wrong-direction",
    severity="bug",
    title=Said("나빠질 때 모델을 저장했어요", "The model is kept when it got worse"),
    lesson="02_loop_anatomy/6_best_checkpoint",
    find=_find,
)
