"""A data set draws from a generator of its own, which every worker process copies, in every epoch again."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts, LoaderBegan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.source import in_loop
from grader.scripts.things import LoaderFacts

_GENERATORS = ("default_rng", "RandomState", "Random")
_SEEDING = ("seed", "manual_seed", "seed_everything", "set_seed", "seed_all")
_READERS = ("__getitem__", "__iter__", "__getitems__")
_PLAIN = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.UnaryOp),
    *(ast.operator, ast.unaryop, ast.expr_context),
)
_TOLD_APART = ("get_worker_info", "initial_seed", "worker_id", "SeedSequence")


def _generator(facts: Facts, kind: str) -> Place | None:
    """Return the line that makes a generator in a data set's constructor, from which its samples then draw."""
    for file in _reading.files(facts):
        for owner in _reading.nodes(file, ast.ClassDef):
            assert isinstance(owner, ast.ClassDef)
            if owner.name != kind or any(name in ast.unparse(owner) for name in _TOLD_APART):
                continue
            for made in _made(owner, "self."):
                name = ast.unparse(made.targets[0])
                if _draws(owner, name):
                    return _reading.at(file, made)
            for made in _made_at_top(file):
                if _draws(owner, ast.unparse(made.targets[0])):
                    return _reading.at(file, made)
    return None


def _made(owner: ast.AST, prefix: str) -> list[ast.Assign]:
    return [
        one
        for one in ast.walk(owner)
        if isinstance(one, ast.Assign)
        and _reading.called(one.value) in _GENERATORS
        and ast.unparse(one.targets[0]).startswith(prefix)
    ]


def _made_at_top(file: str) -> list[ast.Assign]:
    return [
        made
        for module in _reading.nodes(file, ast.Module)
        if isinstance(module, ast.Module)
        for one in module.body
        if isinstance(one, ast.Assign)
        for made in _made(one, "")
    ]


def _draws(owner: ast.ClassDef, name: str) -> bool:
    """Return True if the methods that give samples use a generator, themselves or by another method."""
    methods = {one.name: one for one in owner.body if isinstance(one, ast.FunctionDef)}
    used = [methods[one] for one in _READERS if one in methods]
    called = {_reading.called(one) for method in used for one in ast.walk(method)}
    used += [method for label, method in methods.items() if label in called and label not in _READERS]
    return any(
        isinstance(one, ast.Attribute | ast.Name) and ast.unparse(one) == name
        for method in used
        for one in ast.walk(method)
    ) and not any(name == ast.unparse(one.targets[0]) for m in used for one in _made(m, ""))


def _same_init(facts: Facts) -> Iterator[Finding]:
    """Find a `worker_init_fn` that seeds every worker with one number."""
    for loader in facts.loaders:
        passes = sum(one.loader == loader.number for one in facts.of(LoaderBegan))
        if not passes or loader.workers < 2 or not loader.worker_init or loader.built is None:
            continue
        file = loader.built.file
        for function in _init_functions(loader.built):
            for call in _reading.calls(function, *_SEEDING):
                constant = bool(call.args) and not any(_varies(file, function, one) for one in call.args)
                if constant:
                    yield _told_of_init(_reading.at(file, call), loader, passes)
                    return


def _init_functions(built: Place) -> Iterator[ast.AST]:
    """Iterate over the functions that the loader's construction names as `worker_init_fn`."""
    for call in _reading.around(built, ast.Call):
        assert isinstance(call, ast.Call)
        for word in call.keywords:
            if word.arg != "worker_init_fn":
                continue
            if isinstance(word.value, ast.Lambda):
                yield word.value
            for function in _reading.nodes(built.file, ast.FunctionDef):
                assert isinstance(function, ast.FunctionDef)
                if isinstance(word.value, ast.Name) and function.name == word.value.id:
                    yield function


def _varies(file: str, function: ast.AST, seed: ast.expr) -> bool:
    """Return True if a seed may differ by worker or epoch: it reads a parameter, or calls anything but `int`.

    What else it reads, a literal or a setting such as `CFG.seed`, was made before the workers were, alike for each.
    """
    if {"worker", "workers", "rank", "id"} & _reading.words(seed):
        return True
    parameters = {one.arg for one in _reading.nodes_of(function, ast.arg) if isinstance(one, ast.arg)}
    for one in ast.walk(seed):
        if not isinstance(one, _PLAIN) or (isinstance(one, ast.Call) and ast.unparse(one.func) != "int"):
            return True
        if isinstance(one, ast.Name) and one.id in parameters:
            return True
        if isinstance(one, ast.Name | ast.Attribute) and _changes(file, function, ast.unparse(one)):
            return True
    return False


def _changes(file: str, function: ast.AST, name: str) -> bool:
    """Return True if a name is bound more than once or by a loop, or within the function to what may differ."""
    bound = [
        one
        for one in _reading.nodes(file, ast.Name, ast.Attribute)
        if isinstance(one, ast.Name | ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and ast.unparse(one) == name
    ]
    plain = [
        made.value
        for made in _reading.nodes(file, ast.Assign, ast.AnnAssign)
        if isinstance(made, ast.Assign | ast.AnnAssign) and any(one in ast.walk(made) for one in bound)
    ]
    if len(bound) > 1 or len(plain) < len(bound) or any(_set_later(file, one) for one in bound):
        return True
    own = any(one in ast.walk(function) for one in bound)
    return own and any(value is None or _varies(file, function, value) for value in plain)


def _set_later(file: str, bound: ast.Name | ast.Attribute) -> bool:
    """Return True if a name is bound in a loop, or an attribute in a method other than the constructor."""
    place = _reading.at(file, bound)
    functions = _reading.around(place, ast.FunctionDef)[:1] if isinstance(bound, ast.Attribute) else []
    return in_loop(place) or any(getattr(one, "name", "") != "__init__" for one in functions)


def _told_of_init(place: Place, loader: LoaderFacts, passes: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            "`worker_init_fn`이 모든 워커에 똑같은 시드를 줘요. 워커들이 같은 난수를 뽑고, "
            "에폭마다 처음부터 다시 뽑아요.",
            "The worker_init_fn gives every worker the same seed: the workers draw the same numbers, and every epoch "
            "draws them again.",
        ),
        evidence=Said(
            f"`num_workers={loader.workers}`인 로더를 {passes}번 돌았어요. 읽어 보니 이 줄의 시드는 워커 번호와 "
            "상관없는 값이에요.",
            f"A loader with num_workers={loader.workers} was iterated {passes} times. From reading: the seed of this "
            "line does not depend on the worker.",
        ),
        mend=Said(
            "`torch.initial_seed() % 2**32`로 시드를 정하세요. 워커마다, 에폭마다 달라요.",
            "Seed with `torch.initial_seed() % 2**32`, which differs by worker and epoch.",
        ),
    )


def _loaders(facts: Facts) -> Iterator[tuple[LoaderFacts, int]]:
    for loader in facts.loaders:
        passes = sum(one.loader == loader.number for one in facts.of(LoaderBegan))
        if passes and loader.workers and not loader.worker_init and (loader.workers > 1 or passes > 1):
            yield loader, passes


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _same_init(facts)
    told: set[Place] = set()
    for loader, passes in _loaders(facts):
        place = _generator(facts, loader.dataset_kind)
        if place is None or place in told:
            continue
        told.add(place)
        yield Finding(
            place=place,
            sentence=Said(
                "워커마다 이 제너레이터의 똑같은 복사본을 받아요. 워커들이 같은 난수를 뽑고, "
                "에폭마다 처음부터 다시 뽑아서 증강이 되풀이돼요.",
                "Every worker gets the same copy of this generator: the workers draw the same numbers, and every "
                "epoch draws them again, so the augmentations repeat.",
            ),
            evidence=Said(
                f"`num_workers={loader.workers}`인 로더를 `worker_init_fn` 없이 {passes}번 돌았어요. "
                f"읽어 보니 `{loader.dataset_kind}`가 샘플을 줄 때 이 제너레이터를 써요.",
                f"A loader with num_workers={loader.workers} and no worker_init_fn was iterated {passes} times. "
                f"From reading: {loader.dataset_kind} draws from this generator for each sample.",
            ),
            mend=Said(
                "`torch`의 난수를 쓰거나, `worker_init_fn`에서 `torch.initial_seed()`로 제너레이터를 새로 만드세요.",
                "Use torch's random numbers, or make the generator anew from torch.initial_seed() in a "
                "worker_init_fn.",
            ),
        )


RULE = Rule(
    id="worker-same-numpy-seed",
    severity="bug",
    title=Said("워커마다 난수가 똑같았어요", "All workers draw the same random numbers"),
    lesson="02_loop_anatomy/1_seeds",
    find=_find,
)
