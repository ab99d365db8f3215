"""The data set is changed in place: by the model's forward, or when a sample is taken."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts, ForwardRan, LoaderBegan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._evaluations import changed_passes

_FEWEST = 3
_CHANGED = 0.5
"""Share of rows that differ in the second pass; written into each time they are taken, all do."""
_AUGMENTING = ("rand", "normal(", "normal_(", "noise", "mean", "std", "bernoulli")
_COPY = Said(
    "새 텐서를 만드세요: `x = x + 노이즈`, 또는 꺼낼 때 `.clone()`(배열이면 `.copy()`).",
    "Make a new tensor (`x = x + noise`), or take a copy: `.clone()`, `.copy()` for arrays.",
)


def _writes(statement: ast.AST, name: str) -> bool:
    """Return True if a statement writes into what a name stands for: `x.sub_(1)`, `x += 1`, `x[...] = 0`."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    elif isinstance(statement, ast.Assign):
        targets = [one for one in statement.targets if isinstance(one, ast.Subscript)]
    if any(_root(one) == name for one in targets):
        return True
    return any(
        isinstance(one, ast.Call)
        and _reading.called(one).endswith("_")
        and not _reading.called(one).startswith("_")
        and _root(one.func) == name
        for one in ast.walk(statement)
    )


def _root(node: ast.AST) -> str:
    """Return the name at the beginning of `x.sub_(2).div_` or `x[0]`; `self.x` for `self.x[0]`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.unparse(node)
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _line(facts: Facts, kind: str) -> Place | None:
    """Return the line of a forward that writes into its input: of the class itself, or else of another, its part."""
    for part in (False, True):
        for file in _reading.files(facts):
            for owner in _reading.nodes(file, ast.ClassDef):
                assert isinstance(owner, ast.ClassDef)
                if (owner.name != kind) is part and (place := _in_class(file, owner)) is not None:
                    return place
    return None


def _in_class(file: str, owner: ast.ClassDef) -> Place | None:
    for method in owner.body:
        if isinstance(method, ast.FunctionDef) and method.name == "forward" and len(method.args.args) > 1:
            return _first_write(file, method, {method.args.args[1].arg})
    return None


def _first_write(file: str, function: ast.AST, names: set[str]) -> Place | None:
    """Return the first simple statement below a node that writes into one of some names."""
    for block in _reading.blocks(function):
        for one in block:
            simple = isinstance(one, ast.Assign | ast.AugAssign | ast.Expr | ast.Return)
            if simple and any(_writes(one, name) for name in names):
                return _reading.at(file, one, getattr(function, "name", ""))
    return None


def _in_dataset(facts: Facts) -> Iterator[Finding]:
    """Find data sets whose samples are views that are written into when they are taken."""
    told: set[Place] = set()
    for loader in {one.dataset: one for one in facts.loaders}.values():
        began = [one for one in facts.of(LoaderBegan) if facts.loaders[one.loader].dataset == loader.dataset]
        passes = began[1:]
        names = sorted({name for one in passes for name in one.changed})
        for name in names:
            count = sum(name in one.changed for one in passes)
            place = _sample_line(facts, loader.dataset_kind, name)
            if place is None or place in told or count < 0.8 * len(passes):
                continue
            told.add(place)
            yield Finding(
                place=place,
                sentence=Said(
                    f"샘플을 꺼낼 때 제자리에서 바꾸는데, 그 샘플은 데이터셋이 가진 `{name}`의 일부예요. 에폭이 지날 "
                    "때마다 데이터가 더 망가져요.",
                    f"A sample is changed in place when it is taken, and it is a part of the data set's own `{name}`, "
                    "so the data is changed again in every epoch.",
                ),
                evidence=Said(
                    f"데이터를 다시 돌기 시작한 {len(passes)}번 가운데 {count}번에서 `{name}`의 값이 앞에서 돌기 "
                    "시작할 때와 달랐어요.",
                    f"At {count} of {len(passes)} later passes the values of `{name}` differed from those when the "
                    "pass before began.",
                ),
                mend=_COPY,
            )


def _in_workers(facts: Facts) -> Iterator[Finding]:
    """Find the same where workers hold the data: what an evaluation loader gives changes from pass to pass."""
    for loader, rows, changed in changed_passes(facts):
        place = sample_write(facts, loader.dataset_kind)
        if place is None or changed < _CHANGED * rows or not loader.workers:
            continue
        yield Finding(
            place=place,
            sentence=Said(
                "샘플을 꺼낼 때 제자리에서 바꾸는데, 그 샘플은 데이터셋이 가진 데이터의 일부예요. 같은 샘플이 꺼낼 "
                "때마다 달라져요.",
                "A sample is changed in place when it is taken, and it is a part of the data set's own data: the same "
                "sample is another one each time.",
            ),
            evidence=Said(
                f"섞지 않는 로더를 두 번 도는 동안 정답은 순서까지 같았는데, 입력 {rows}행 가운데 {changed}행이 "
                "달라졌어요. 읽어 보니 이 줄이 데이터셋의 조각에 값을 써요.",
                f"In two passes over a loader in order the labels were the same, but {changed} of {rows} input rows "
                "had changed. From reading: this line writes into a part of the data set.",
            ),
            mend=_COPY,
        )


def sample_write(facts: Facts, kind: str) -> Place | None:
    """Return the line of a data set's `__getitem__` that writes into a sample just taken from it, such as `x -= m`."""
    for file in _reading.files(facts):
        for owner in _reading.nodes(file, ast.ClassDef):
            for method in ast.walk(owner) if getattr(owner, "name", "") == kind else ():
                if not isinstance(method, ast.FunctionDef) or method.name != "__getitem__":
                    continue
                taken = {
                    name
                    for one in ast.walk(method)
                    if isinstance(one, ast.Assign)
                    and isinstance(one.value, ast.Subscript)
                    and _root(one.value).startswith("self.")
                    for name in _reading.bound(one)
                }
                return _first_write(file, method, taken) or _written_by_called(file, method, taken)
    return None


def _sample_line(facts: Facts, kind: str, name: str) -> Place | None:
    """Return the line of a data set's methods that writes into a sample taken from `self.name[…]`."""
    for file in _reading.files(facts):
        for owner in _reading.nodes(file, ast.ClassDef):
            assert isinstance(owner, ast.ClassDef)
            methods = [
                one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name != "__init__"
            ]
            for method in methods if owner.name == kind else ():
                taken = {f"self.{name}"} | {
                    target
                    for one in ast.walk(method)
                    if isinstance(one, ast.Assign) and f"self.{name}[" in ast.unparse(one.value)
                    for target in _reading.bound(one)
                }
                place = _first_write(file, method, taken) or _written_by_called(file, method, taken)
                if place is not None:
                    return place
    return None


def _written_by_called(file: str, method: ast.FunctionDef, taken: set[str]) -> Place | None:
    """Return the line of a function that writes into a sample that a method gives to it."""
    for call in _reading.nodes_of(method, ast.Call):
        assert isinstance(call, ast.Call)
        function = _reading.function_called(file, call)
        if function is None:
            continue
        names = [one.arg for one in function.args.args if one.arg != "self"]
        given = {name for name, one in zip(names, call.args, strict=False) if _is_part(one, taken)}
        if (place := _first_write(file, function, given - _bound_anew(function))) is not None:
            return place
    return None


def _is_part(node: ast.AST, taken: set[str]) -> bool:
    """Return True for one of some names itself, or for one sample of what it names; a call may copy."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in taken


def _in_slices(facts: Facts) -> Iterator[Finding]:
    """Find slices of a data set that a line writes into before the model sees them."""
    ran = [one for one in facts.of(ForwardRan) if one.training and one.grad]
    written = sum(one.rewritten for one in ran)
    place = _slice_line(facts)
    if place is not None and _moves_with_others(place):
        return
    if written < max(_FEWEST, 0.8 * (len(ran) - 1)) or place is None:
        yield from _in_parts(facts, ran)
        return
    yield Finding(
        place=place,
        sentence=Said(
            "데이터에서 잘라 낸 조각은 복사본이 아니라서, 이 줄이 데이터 자체를 바꿔요. 에폭마다 더 변해요.",
            "A slice of the data is no copy, so this line changes the data itself, more with every epoch.",
        ),
        evidence=Said(
            f"학습하는 순전파 {len(ran)}번 가운데 {written}번의 앞에서, 배치가 잘려 나온 텐서에 쓰기가 있었어요.",
            f"Before {written} of {len(ran)} training forwards the tensor that their batch is a part of was written "
            "into.",
        ),
        mend=Said("먼저 복사하세요: `x = x.clone()`.", "Copy first: `x = x.clone()`."),
    )


def _in_parts(facts: Facts, ran: list[ForwardRan]) -> Iterator[Finding]:
    """Find parts of a larger tensor that a forward is given again and again, each time a little changed."""
    again: dict[Place, list[bool]] = {}
    for one in ran:
        if one.drifted is not None and one.place is not None:
            again.setdefault(one.place, []).append(one.drifted)
    for at, drifts in again.items():
        place = _write_of(facts, at)
        if sum(drifts) < max(_FEWEST, 0.8 * len(drifts)) or place is None or _follows_gradients(place):
            continue
        yield Finding(
            place=place,
            severity=None if _augments(place) else "warning",
            sentence=Said(
                "데이터에서 잘라 낸 조각은 복사본이 아니라서, 이 줄이 데이터 자체를 바꿔요. 에폭마다 더 변해요.",
                "A slice of the data is no copy, so this line changes the data itself, more with every epoch.",
            ),
            evidence=Said(
                f"{at.line}번째 줄의 순전파에 같은 조각이 다시 온 {len(drifts)}번 가운데 {sum(drifts)}번, 그 값이 "
                "앞에서 왔을 때와 조금 달랐어요.",
                f"In {sum(drifts)} of {len(drifts)} cases in which a slice came to the forward of line {at.line} "
                "again, its values differed a little from those before.",
            ),
            mend=Said(
                "새 텐서를 만드세요: `x = x + 노이즈`. 또는 먼저 복사하세요: `x = x.clone()`.",
                "Make a new tensor (`x = x + noise`), or copy first: `x = x.clone()`.",
            ),
        )
        return


def _write_of(facts: Facts, at: Place) -> Place | None:
    """Return the line that writes into a slice before a forward: `x += 1` also in a function that is called near it."""
    near = _reading.around(at, ast.FunctionDef, *_reading.LOOPS)
    called = {_reading.called(one) for node in near for one in _reading.nodes_of(node, ast.Call)}
    for function in _reading.nodes(at.file, ast.FunctionDef):
        assert isinstance(function, ast.FunctionDef)
        if function.name in called:
            names = {one.arg for one in function.args.args} - {"self"}
            stored = _bound_anew(function)
            if (place := _first_write(at.file, function, names - stored)) is not None:
                return place
    return _slice_line(facts)


def _bound_anew(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function binds otherwise than by `x += 1`."""
    in_place = {one.target for one in ast.walk(function) if isinstance(one, ast.AugAssign)}
    return {
        one.id
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one not in in_place
    }


def _augments(place: Place) -> bool:
    """Return True if a line adds noise or normalises; other states may change on purpose."""
    statements = [one for one in _reading.around(place, ast.stmt) if one.lineno == place.line]  # type: ignore[attr-defined]
    text = ast.unparse(statements[0]) if statements else ""
    return any(word in text for word in _AUGMENTING)


def _moves_with_others(place: Place) -> bool:
    """Return True if a function moves a state on purpose: by something that it writes into too, as a velocity is."""
    for function in _reading.around(place, ast.FunctionDef)[:1]:
        writes = [one for one in ast.walk(function) if isinstance(one, ast.AugAssign | ast.Expr)]
        names = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
        moved = [{name for name in names if _writes(one, name)} for one in writes]
        for one, own in zip(writes, moved, strict=True):
            others = set().union(*(other for other in moved)) - own
            used = {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}
            if own and used & others:
                return True
    return False


def _follows_gradients(place: Place) -> bool:
    """Return True if the function around a line takes gradients: samples and attacks are moved along them."""
    texts = [ast.unparse(one) for one in _reading.around(place, ast.FunctionDef)[:1]]
    return any(word in text for text in texts for word in (".grad", "requires_grad", "backward("))


def _slice_line(facts: Facts) -> Place | None:
    """Return the line that writes into a slice, or into a parameter of a function, that was not bound anew before."""
    for file in _reading.files(facts):
        for function in _reading.nodes(file, ast.FunctionDef):
            assert isinstance(function, ast.FunctionDef)
            names = {one.arg for one in function.args.args} - {"self"}
            if (place := _first_write(file, function, names - _rebound(file, function))) is not None:
                return place
        for loop in _reading.nodes(file, ast.For):
            assert isinstance(loop, ast.For)
            if (place := _first_write(file, loop, _cut_in(loop.body))) is not None:
                return place
    return None


def _cut_in(block: list[ast.stmt]) -> set[str]:
    """Return the names that a block binds to slices: `x = data[i:j]`."""
    return {
        name
        for one in block
        if isinstance(one, ast.Assign) and _is_cut(one.value)
        for name in _reading.bound(one)
    }


def _is_cut(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and any(
        isinstance(part, ast.Slice) for part in ast.walk(node.slice)
    )


def _rebound(file: str, function: ast.FunctionDef) -> set[str]:
    """Return the names that a function binds; `x += 1` binds none if the function is given slices."""
    cuts = {name for loop in _reading.nodes(file, ast.For) for name in _cut_in(loop.body)}  # type: ignore[attr-defined]
    given = [
        argument
        for call in _reading.nodes(file, ast.Call)
        if isinstance(call, ast.Call) and _reading.called(call) == function.name
        for argument in call.args
    ]
    counted: set[str] = set()
    if not any(_is_cut(one) or (isinstance(one, ast.Name) and one.id in cuts) for one in given):
        counted = {ast.unparse(one.target) for one in ast.walk(function) if isinstance(one, ast.AugAssign)}
    return _bound_anew(function) | counted


def _told_of_layer(place: Place, changed: int, of: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            "이 층은 받은 것을 제자리에서 바꾸는데(`inplace=True`), 받는 것이 데이터 텐서의 일부예요. 에폭이 지날 "
            "때마다 데이터가 다시 바뀌어요.",
            "This layer works in place (inplace=True) on the model's input, which is a part of the data itself, so "
            "the data is changed again in every epoch.",
        ),
        evidence=Said(
            f"학습하는 순전파 {of}번 가운데 {changed}번이, 뒤에도 남는 입력 텐서에 값을 썼어요.",
            f"{changed} of {of} training forwards wrote into an input tensor that lives on.",
        ),
        mend=Said("이 층에서 `inplace=True`를 빼세요.", "Take `inplace=True` from this layer."),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _in_dataset(facts)
    yield from _in_workers(facts)
    yield from _in_slices(facts)
    for module in facts.modules:
        ran = [one for one in facts.of(ForwardRan) if one.module == module.number and one.training]
        changed = [one for one in ran if one.input_changed and one.input_lasts]
        if len(changed) < _FEWEST or len(changed) < 0.5 * len(ran):
            continue
        layer = changed[-1].changed_by
        if layer is not None:
            yield _told_of_layer(layer, len(changed), len(ran))
            continue
        yield Finding(
            place=_line(facts, module.kind) or changed[-1].place,
            sentence=Said(
                "`forward()`가 입력을 제자리에서 바꾸는데, 그 입력은 데이터 텐서의 일부예요. "
                "에폭이 지날 때마다 데이터가 다시 바뀌어요.",
                "forward() changes its input in place, and the input is a part of the data itself, so the data "
                "is changed again in every epoch.",
            ),
            evidence=Said(
                f"학습하는 순전파 {len(ran)}번 가운데 {len(changed)}번이, 뒤에도 남는 입력 텐서에 값을 썼어요.",
                f"{len(changed)} of {len(ran)} training forwards wrote into an input tensor that lives on.",
            ),
            mend=Said(
                "새 텐서를 만드세요: `x = (x - 평균) / 표준편차`.",
                "Make a new tensor: `x = (x - mean) / std`.",
            ),
        )


RULE = Rule(
    id="inplace-input",
    severity="bug",
    title=Said("입력 데이터를 제자리에서 바꿨어요", "The input data is changed in place"),
    lesson=None,
    find=_find,
)
