"""The validation loop goes over the training loader."""

import ast
import linecache
from collections.abc import Iterator

from grader.scripts.facts import BatchLoaded, Facts, ForwardRan, LoaderBegan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._evaluations import batches, rows, slices

_HELD_OUT = {"val", "valid", "validation", "validate", "dev", "test", "heldout"}
_AFTER = 4


def _site(began: LoaderBegan) -> Place | None:
    """Return the line that chose the loader: the call, if the loop goes over a parameter of its function."""
    for place in began.callers:
        loops = [one for one in _reading.around(place, ast.For) if one.lineno == place.line]  # type: ignore[attr-defined]
        functions = _reading.around(place, ast.FunctionDef)
        if not functions:
            return place
        function = functions[0]
        assert isinstance(function, ast.FunctionDef)
        arguments = {one.arg for one in [*function.args.args, *function.args.kwonlyargs]}
        statement = loops[0].iter if loops and isinstance(loops[0], ast.For) else None
        names = _names(statement) if statement is not None else _line_names(place)
        if not names & (arguments - {"self"}):
            return place
    return began.place


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _line_names(place: Place) -> set[str]:
    calls = _reading.around(place, ast.Call)
    return set().union(*(_names(one) for one in calls[:1])) if calls else set()


def _said_there(site: Place) -> set[str]:
    """Return the words of a line and of those right after it: what its result is called."""
    statements = [
        one
        for one in _reading.around(site, ast.Assign, ast.For, ast.Expr, ast.Return, ast.With)
        if one.lineno == site.line  # type: ignore[attr-defined]
    ]
    if statements and isinstance(statements[0], ast.Assign):
        return set().union(*(_reading.words(one) for one in statements[0].targets))
    end = max((one.end_lineno or 0 for one in statements), default=site.line)  # type: ignore[attr-defined]
    text = "\n".join(linecache.getline(site.file, n) for n in range(site.line, end + _AFTER))
    functions = _reading.around(site, ast.FunctionDef)
    name = functions[0].name if functions and isinstance(functions[0], ast.FunctionDef) else ""
    return _reading.words(text) | _reading.words(name)


def _printed_as_held_out(site: Place) -> bool:
    """Return True if a line assigns what its function prints behind a word for held-out data."""
    functions = _reading.around(site, ast.FunctionDef)
    whole = functions[:1] or list(_reading.nodes(site.file, ast.Module))
    for made in _reading.around(site, ast.Assign):
        texts = [_text_before(one, name) for name in _reading.bound(made) for one in ast.walk(whole[0])]
        said = [_reading.words(text) for text in texts]
        if any(words & _HELD_OUT and "train" not in words for words in said):
            return True
    return False


def _text_before(node: ast.AST, name: str) -> str:
    """Return the text right before a name in a formatted string or a call of `print`; "" if there is none."""
    parts: list[ast.expr] = node.values if isinstance(node, ast.JoinedStr) else []
    parts = node.args if isinstance(node, ast.Call) and _reading.called(node) == "print" else parts
    before = ""
    for one in parts:
        if isinstance(one, ast.Constant):
            before = str(one.value)
        elif _reading.reads(one, name) and not isinstance(one, ast.JoinedStr):
            return before
    return ""


def _cut_by_hand(facts: Facts) -> Iterator[Finding]:
    """Find lines that call the score of training rows one of held-out data, where nothing else is evaluated."""
    found = list(slices(facts))
    for one in found:
        clean = [other for other in found if not other.own & other.trained]
        if clean or one.at_once or not one.own <= one.trained:
            continue
        said = _said_there(one.place)
        site = one.place if "train" not in said and said & _HELD_OUT else None
        told = None if site else next(filter(_printed_as_held_out, one.callers), None)
        if site is None and told is None:
            continue
        yield Finding(
            place=site or told,
            severity=None if site else "warning",
            sentence=Said(
                "검증 점수라고 하는 이 값을 학습한 데이터로 재요. 새 데이터에서 얼마나 맞는지는 알 수 없어요.",
                "This score is called one of held-out data and is measured on the data of the training.",
            ),
            evidence=Said(
                f"이 줄이 평가한 서로 다른 {len(one.own)}행이 모두 학습 배치에 있었어요.",
                f"All {len(one.own)} distinct rows evaluated here were in training batches.",
            ),
            mend=Said("학습하지 않은 행으로 평가하세요.", "Evaluate rows that are not trained on."),
        )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _cut_by_hand(facts)
    found = batches(facts)
    trained = {one.loader for one in found.trained}
    again = [one for one in found.evaluated if one.loader in trained]
    if not again:
        return
    training = rows(found.trained) | rows(again)
    others = [
        one
        for one in facts.of(ForwardRan)
        if not one.grad and one.rows is not None and not set(one.rows.tolist()) & training
    ]
    elsewhere = bool(others) or any(one.loader not in trained for one in found.evaluated)
    places: dict[Place, list[BatchLoaded]] = {}
    for batch in again:
        began = next(
            one for one in facts.of(LoaderBegan) if (one.loader, one.pass_) == (batch.loader, batch.pass_)
        )
        site = _site(began)
        if site is not None:
            places.setdefault(site, []).append(batch)
    for site, these in places.items():
        if "update_bn" in linecache.getline(site.file, site.line):
            continue  # statistics of an averaged model, which come from the training data
        said = _said_there(site)
        named = bool(said & _HELD_OUT)
        if "train" in said and (elsewhere or not named):
            continue  # the score on the training data, wanted
        if elsewhere and not named:
            continue
        line = facts.loaders[these[-1].loader].built
        yield Finding(
            place=site,
            severity="bug" if named else "info",
            sentence=Said(
                "검증이 학습 로더를 돌아요. 이 점수는 처음 보는 데이터에서 얼마나 맞히는지 말해 주지 않아요."
                if named
                else "평가를 학습 로더로만 해요. 일부러 그랬나요?",
                "The validation iterates the training loader, so its score says nothing about unseen data."
                if named
                else "The only evaluation iterates the training loader. On purpose?",
            ),
            evidence=Said(
                f"그레이디언트 없이 평가한 배치 {len(these)}개가 학습에 쓴 "
                f"로더({line.line if line else 0}번째 줄)에서 나왔어요.",
                f"{len(these)} batches evaluated without gradients came from the loader that is trained on "
                f"(line {line.line if line else 0}).",
            ),
            mend=Said("검증 로더를 주세요.", "Iterate the validation loader."),
        )


RULE = Rule(
    id="val-on-train-loader",
    severity="bug",
    title=Said("학습 로더로 검증했어요", "Validation on the training loader"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
