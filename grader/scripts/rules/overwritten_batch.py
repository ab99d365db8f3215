"""Batches that were written over before they are used: a buffer is filled again while older ones still refer to it."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from grader.scripts.facts import BackwardRan, BatchLoaded, Facts, ForwardRan, LoaderBegan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._rebound_batch import Rebound, rebound_batches, rows_of, unread_batch

_FEWEST, _SMALLEST = 4, 4
_KEEPING = ("append", "push", "add", "store", "put", "remember", "extend", "insert")
_FILLING = ("copy_", "copyto", "fill_", "readinto", "recv_into")
_SHARING = ("from_numpy", "as_tensor", "asarray")
_COPY = Said(
    "배치를 넘기거나 모아 둘 때 복사하세요: `.copy()`나 `.clone()`.",
    "Hand out a copy: `.copy()` or `.clone()`.",
)
_STATES = {"state", "obs", "observation", "next", "frame", "frames", "s", "s2"}


def _trained(facts: Facts) -> Iterator[tuple[ForwardRan, LossComputed, BackwardRan]]:
    """Iterate over training forwards, each with the first loss after it and the backward that followed."""
    forward: ForwardRan | None = None
    loss: LossComputed | None = None
    for event in facts.events:
        if isinstance(event, ForwardRan) and event.grad:
            forward, loss = event, None
        elif isinstance(event, LossComputed) and event.grad and loss is None:
            loss = event
        elif isinstance(event, BackwardRan) and forward is not None and loss is not None:
            if forward.rows is not None and loss.target_rows is not None:
                yield forward, loss, event
            forward = loss = None


def _buffers(facts: Facts) -> Iterator[tuple[str, ast.AST, str]]:
    """Iterate over names that are filled in place: file, what holds them, and the name as written."""
    for file in _reading.files(facts):
        for holder in _reading.nodes(file, ast.ClassDef, ast.FunctionDef, ast.Module):
            written: set[str] = set()
            for node in ast.walk(holder):
                if isinstance(node, ast.Assign):
                    written |= {
                        ast.unparse(one.value) for one in node.targets if isinstance(one, ast.Subscript)
                    }
                elif _reading.called(node) in _FILLING and isinstance(node, ast.Call):
                    inside = node.func.value if isinstance(node.func, ast.Attribute) else None
                    for one in [*node.args[:1], *([inside] if inside is not None else [])]:
                        written.add(ast.unparse(one.value if isinstance(one, ast.Subscript) else one))
            for name in sorted(written):
                yield file, holder, name


def _shared(node: ast.AST) -> ast.AST:
    """Return what a tensor is made of that shares its memory: `buffer` of `torch.from_numpy(buffer)[:, 1:]`."""
    while isinstance(node, ast.Subscript) and any(isinstance(one, ast.Slice) for one in ast.walk(node.slice)):
        node = node.value
    if _reading.called(node) in _SHARING and isinstance(node, ast.Call) and len(node.args) == 1:
        return _shared(node.args[0])
    return node


def _names_of(holder: ast.AST, name: str) -> set[str]:
    """Return a buffer's name and those that are bound to tensors sharing its memory."""
    return {name} | {
        other
        for one in ast.walk(holder)
        if isinstance(one, ast.Assign) and one.value is not _shared(one.value)
        if ast.unparse(_shared(one.value)) == name
        for other in _reading.bound(one)
    }


def _given_away(facts: Facts) -> Place | None:
    """Return the line where a buffer that is filled in place is returned, yielded or kept without a copy."""
    for file, holder, name in _buffers(facts):
        names = _names_of(holder, name)
        for node in ast.walk(holder):
            given: list[ast.AST] = []
            if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                given = [*node.value.elts] if isinstance(node.value, ast.Tuple) else [node.value]
            elif _reading.called(node) in _KEEPING and isinstance(node, ast.Call):
                given = [e for one in node.args for e in (one.elts if isinstance(one, ast.Tuple) else [one])]
            local = isinstance(node, ast.Return) and not name.startswith("self.")
            if not local and any(ast.unparse(_shared(one)) in names for one in given):
                return _reading.at(file, node)
    return None


def _kept(facts: Facts) -> Place | None:
    """Return the line where observations go into a memory without a copy."""
    for file in _reading.files(facts):
        for node in _reading.nodes(file, ast.Call):
            assert isinstance(node, ast.Call)
            if _reading.called(node) not in _KEEPING:
                continue
            given = [e for one in node.args for e in (one.elts if isinstance(one, ast.Tuple) else [one])]
            plain = [one.id for one in given if isinstance(one, ast.Name)]
            if len(given) >= 3 and any(_reading.words(name) & _STATES for name in plain):
                return _reading.at(file, node)
    return None


def _differ(loss: LossComputed) -> bool:
    return loss.target_rows is not None and len(loss.target_rows.unique()) > 1


def _equal_rows(facts: Facts) -> Iterator[Finding]:
    found = [one for one in _trained(facts) if one[0].batch >= _SMALLEST]
    for place in dict.fromkeys(backward.place for _, _, backward in found):
        these = [(forward, loss) for forward, loss, backward in found if backward.place == place]
        kept = _kept(facts)
        same = [
            forward for forward, loss in these if forward.repeated_row and (kept is not None or _differ(loss))
        ]
        distinct = {int(one.rows[0]) for one in same if one.rows is not None}
        if len(same) < _FEWEST or len(same) < 0.8 * len(these) or len(distinct) < 2:
            continue
        yield Finding(
            place=kept or _given_away(facts) or same[-1].place,
            sentence=Said(
                "배치의 모든 행이 똑같아요. 저장해 둔 것이 복사본이 아니라 하나의 배열이어서, "
                "나중에 쓴 값이 앞의 것을 모두 덮었어요.",
                "All rows of a batch are equal: what was stored are references to one array, and what is written "
                "there later replaces everything before.",
            ),
            evidence=Said(
                f"학습 배치 {len(these)}개 가운데 {len(same)}개에서 모든 행이 같았고, 배치끼리는 "
                f"{len(distinct)}가지로 달랐어요.",
                f"In {len(same)} of {len(these)} training batches all rows were equal; between batches there were "
                f"{len(distinct)} different ones.",
            ),
            mend=Said(
                "저장할 때 복사하세요: `.copy()`나 `.clone()`.", "Store copies: `.copy()` or `.clone()`."
            ),
        )


def _turns(facts: Facts) -> dict[int, int]:
    """Return, by serial of a forward, the batch loaded last before it, if its loader gave only that one in between."""
    found: dict[int, int] = {}
    loaded: list[BatchLoaded] = []
    ran = False
    for event in facts.events:
        if isinstance(event, BatchLoaded):
            loaded, ran = [*([] if ran else loaded), event], False
        elif isinstance(event, ForwardRan):
            ran = True
            if loaded and len({one.loader for one in loaded}) == len(loaded):
                found[event.serial] = loaded[-1].serial
    return found


def _unseen(facts: Facts, inputs: set[tuple[int, ...]]) -> bool:
    """Return True if inputs are batches as a loader gave them, and most other batches never came to a forward."""
    loaded = {tuple(one.rows.tolist()) for one in facts.of(BatchLoaded) if one.rows is not None}
    ran = {tuple(one.rows.tolist()) for one in facts.of(ForwardRan) if one.rows is not None}
    return inputs <= loaded and len(loaded - ran) >= len(inputs)


def _equal_batches(facts: Facts) -> Iterator[Finding]:
    """Find inputs that came with several targets; not where one batch is given to several heads, each with its own."""
    found = list(_trained(facts))
    turns = _turns(facts)
    for place in dict.fromkeys(backward.place for _, _, backward in found):
        inputs: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
        heads: set[tuple[int, tuple[int, ...]]] = set()
        these = [(forward, loss) for forward, loss, backward in found if backward.place == place]
        for forward, loss in these:
            assert forward.rows is not None
            assert loss.target_rows is not None
            rows = tuple(forward.rows.tolist())
            turn = turns.get(forward.serial), rows
            if turn[0] is None or turn not in heads:
                inputs.setdefault(rows, set()).add(tuple(loss.target_rows.tolist()))
            if turn[0] is not None:
                heads.add((turn[0], rows))
        many = [targets for targets in inputs.values() if len(targets) > 1]
        mixed = sum(len(targets) for targets in many)
        if len(many) < 2 or mixed < 2 * _FEWEST or mixed < 0.5 * len(these):
            continue
        given = _given_away(facts)
        if given is None and not _unseen(facts, set(inputs)):
            continue
        yield Finding(
            place=given or these[-1][0].place,
            sentence=Said(
                "서로 다른 배치여야 하는데 입력이 똑같고 정답만 달라요. 버퍼 하나를 돌려쓰면서, 앞 "
                "배치를 쓰기 전에 다음 배치를 덮어썼어요.",
                "Batches with different targets have the same input: one buffer is used for all, and it is "
                "filled again before the batch before was used.",
            ),
            evidence=Said(
                f"학습 배치 {len(these)}개의 입력이 {len(inputs)}가지뿐이었고, "
                f"그중 {len(many)}가지에는 서로 다른 정답이 {mixed}벌 붙었어요.",
                f"{len(these)} training batches had {len(inputs)} distinct inputs; {len(many)} of these came with "
                f"{mixed} different sets of targets.",
            ),
            mend=_COPY,
        )


def _stuck(facts: Facts) -> Iterator[Finding]:
    """Find forwards that see one batch again and again while a loader goes on giving others."""
    given: dict[int, BatchLoaded] = {}
    last: BatchLoaded | None = None
    for event in facts.events:
        if isinstance(event, BatchLoaded):
            last = event
        elif isinstance(event, ForwardRan) and last is not None:
            given[event.serial] = last
    found = [one for one in _trained(facts) if one[0].serial in given]
    loaded = {tuple(one.rows.tolist()) for one in facts.of(BatchLoaded) if one.rows is not None}
    for place in dict.fromkeys(forward.place for forward, _, _ in found):
        these = [forward for forward, _, _ in found if forward.place == place]
        inputs = {tuple(one.rows.tolist()) for one in these if one.rows is not None}
        batches = [given[one.serial] for one in these]
        others = {tuple(one.rows.tolist()) for one in batches if one.rows is not None}
        if len(these) < 2 * _FEWEST or len(inputs) != 1 or not inputs <= loaded or len(others) < _FEWEST:
            continue
        yield Finding(
            place=_rebound(place) or place,
            sentence=Said(
                "로더는 배치를 계속 새로 주는데, 모델은 매번 같은 배치만 봐요. 받은 배치를 쓰기 전에 다른 값으로 "
                "덮어썼어요.",
                "The loader gives new batches, but the model sees the same one every time: what the loader gave "
                "is overwritten before it is used.",
            ),
            evidence=Said(
                f"학습하는 순전파 {len(these)}번의 입력이 모두 같았고, 그동안 로더는 서로 다른 배치를 "
                f"{len(others)}개 주었어요.",
                f"The input of all {len(these)} training forwards was the same, while the loader gave "
                f"{len(others)} different batches.",
            ),
            mend=Said(
                "반복문이 받은 배치를 그대로 모델에 넣으세요.",
                "Give the model the batch that the loop received.",
            ),
        )


def _rebound(place: Place | None) -> Place | None:
    """Return the line of a loop that binds its own variable again, before a forward in it."""
    for loop in () if place is None else _reading.around(place, ast.For):
        assert isinstance(loop, ast.For)
        assert place is not None
        own = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
        for statement in loop.body:
            if statement.lineno < place.line and own & set(_reading.bound(statement)):
                return _reading.at(place.file, statement)
    return None


def _thrown_away(facts: Facts) -> Iterator[Finding]:
    """Find loops over a loader none of whose batches is used: their names are bound to another batch at once."""
    trained = rows_of(one.rows for one in facts.of(ForwardRan) if one.grad)
    for file in _reading.files(facts):
        for loop in _reading.nodes(file, ast.For):
            assert isinstance(loop, ast.For)
            again = unread_batch(loop)
            if again is None:
                continue
            head = range(loop.lineno, (loop.iter.end_lineno or loop.lineno) + 1)
            began = [one for one in facts.of(LoaderBegan) if one.place and one.place.file == file]
            loaders = {one.loader for one in began if one.place is not None and one.place.line in head}
            given = [one for one in facts.of(BatchLoaded) if one.loader in loaders and one.rows is not None]
            ran = sum(_reading.runs_in(loop, one, file) for one in facts.of(BackwardRan))
            if min(len(given), ran) < _FEWEST or rows_of(one.rows for one in given) & trained:
                continue
            yield Finding(
                place=_reading.at(file, again),
                sentence=Said(
                    f"반복문이 준 배치를 쓰기도 전에 다른 배치로 덮어써요. {loop.lineno}번째 줄의 로더가 주는 데이터는 "
                    "한 번도 학습하지 않아요.",
                    "The loop's own batch is overwritten with another one before it is used: nothing that the loader "
                    f"of line {loop.lineno} gives is trained on.",
                ),
                evidence=Said(
                    f"그 로더가 준 배치 {len(given)}개 가운데 학습하는 순전파에 들어간 행은 하나도 없었고, 그동안 "
                    f"`backward()`는 {ran}번이었어요.",
                    f"No row of its {len(given)} batches came to a forward with gradients, while backward() ran {ran} "
                    "times.",
                ),
                mend=Said(
                    "두 번째 배치에 다른 이름을 주고, 둘 다 손실에 쓰세요.",
                    "Give the second batch other names and use both in the loss.",
                ),
            )


def _one_memory(facts: Facts) -> Iterator[Finding]:
    """Find batches that were all kept, as different tensors, in the memory of the last one."""
    ran = [one for one in facts.of(ForwardRan) if one.grad and one.rows is not None]
    place = _given_away(facts)
    for line in dict.fromkeys(one.place for one in ran):
        these = [one for one in ran if one.place == line]
        inputs = {tuple(one.rows.tolist()) for one in these if one.rows is not None}
        kept = max(one.sharing for one in these) + 1
        if len(inputs) > 1 or kept < _FEWEST or len(these) < 2 * _FEWEST or place is None:
            continue
        yield Finding(
            place=place,
            sentence=Said(
                "이 버퍼를 복사하지 않고 내보낸 다음 다시 채워서, 모아 둔 배치가 모두 마지막 배치와 같아요.",
                "This buffer is handed out without a copy and filled again: all batches that were kept are the last.",
            ),
            evidence=Said(
                f"학습하는 순전파 {len(these)}번의 입력이 모두 같았고, 아직 쓰이고 있는 입력 텐서 {kept}개가 메모리 "
                "하나를 함께 썼어요.",
                f"The input of all {len(these)} training forwards was the same, and {kept} living input tensors lay in "
                "one memory.",
            ),
            mend=_COPY,
        )


def _find(facts: Facts) -> Iterator[Finding]:
    for search in (_equal_rows, _equal_batches, _stuck, _thrown_away, _one_memory, _repeating, _of_another):
        found = list(search(facts))
        if found:
            yield from found
            return


def _repeating(facts: Facts) -> Iterator[Finding]:
    """Find updates that mostly use the batch of the one before, while a buffer is handed out without a copy."""
    place = _given_away(facts)
    last = [facts.backward(max(step.recipe)).forward for step in facts.steps() if step.recipe]
    found = [facts.events[serial] for serial in last if serial is not None]
    keys = [tuple(one.rows.tolist()) for one in found if isinstance(one, ForwardRan) and one.rows is not None]
    same = sum(before == after for before, after in pairwise(keys))
    if place is None or len(keys) < 2 * _FEWEST or same < 0.5 * (len(keys) - 1):
        return
    yield Finding(
        place=place,
        sentence=Said(
            "이 버퍼를 복사하지 않고 내보낸 다음 다시 채워서, 먼저 내보낸 배치들이 나중 것으로 바뀌어요.",
            "This buffer is handed out without a copy and filled again, so earlier batches turn into later ones.",
        ),
        evidence=Said(
            f"업데이트 {len(keys)}번 가운데 {same}번이 바로 앞의 것과 똑같은 배치로 이루어졌어요.",
            f"{same} of {len(keys)} updates were made with exactly the batch of the one before.",
        ),
        mend=_COPY,
    )


def _of_another(facts: Facts) -> Iterator[Finding]:
    """Find losses of the inputs of one loader's batch with the labels of another's."""
    for one in rebound_batches(facts):
        yield Finding(
            place=one.place,
            sentence=Said(
                f"반복문이 준 입력 `{one.name}` 자리에 쓰기도 전에 다른 배치(`{one.other}`)를 넣었는데, "
                f"정답은 원래 배치의 것(`{one.label}`)을 그대로 써요. 손실이 서로 다른 샘플의 입력과 정답을 짝지어요.",
                f"The loop's own `{one.name}` is overwritten with another batch (`{one.other}`) before it is used, but "
                f"its labels `{one.label}` stay: the loss pairs inputs and labels of different samples.",
            ),
            evidence=_paired(one),
            mend=Said(
                f"새 값에 다른 이름을 주고, 정답 `{one.label}`에는 로더가 함께 준 입력 `{one.name}` 그대로를 쓰세요.",
                f"Give the new value another name, and use the `{one.name}` that came with `{one.label}`.",
            ),
        )


def _paired(one: Rebound) -> Said:
    count = len(one.losses)
    if one.pairs:
        return Said(
            f"이 정답으로 손실을 {count}번 구했고, 두 로더의 행은 짝이 아니었어요: 행 {one.pairs}개는 옆에 오는 "
            "행이 바뀌었어요.",
            f"{count} losses were computed with these labels, and the rows of the two loaders are no pairs: beside "
            f"{one.pairs} rows came different rows of the other loader at different times.",
        )
    return Said(
        f"이 정답으로 손실을 {count}번 구했고, 두 로더의 데이터는 길이가 다르고 하나는 순서를 섞어요.",
        f"{count} losses were computed with these labels; the two loaders' data differ in length, and one is shuffled.",
    )


RULE = Rule(
    id="overwritten-batch",
    severity="bug",
    title=Said("쓰기 전에 배치가 덮어써졌어요", "Batches are overwritten before they are used"),
    lesson=None,
    find=_find,
)
