"""Layers and parameters that work in the forward but that no model registers, as in a plain list or dictionary.

They are detected by `observers/unregistered.py` while the script runs. This rule words the findings; for a parameter
that is in no layer it also reads the script's text, to find the line to which the finding belongs.
"""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules.unheld_parameters import unheld
from grader.scripts.things import ParameterFacts


def _unregistered(facts: Facts) -> list[ParameterFacts]:
    """Return the parameters that got gradients and did not move, in no model and no optimizer.

    Parameters that were loaded, or copied with their module, are left out: they may be meant to stay, as a teacher's.
    """
    return [p for p in unheld(facts) if p.unregistered and not p.in_tree and not p.loaded]


def _assigns(statement: ast.Assign | ast.AnnAssign, target: str) -> bool:
    """Return True if a statement assigns something other than a constant to `target`, such as `self.weights`."""
    if statement.value is None or isinstance(statement.value, ast.Constant):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node) == target
        for one in targets
        for node in ast.walk(one)
    )


def _is_empty_container(value: ast.expr | None) -> bool:
    """Return True for `[]`, `{}`, `()`, `list()`, `dict()`, `tuple()`."""
    if isinstance(value, ast.Call):
        return _reading.called(value) in ("list", "dict", "tuple") and not value.args and not value.keywords
    return value is not None and ast.unparse(value) in ("[]", "{}", "()")


def _container_place(parameter: ParameterFacts) -> Place | None:
    """Return the line that assigns the container of a loose parameter, `self.weights = […]`; else that of its class.

    Of several such lines, the first one that does not assign an empty container. None if no class of the learner's
    keeps the parameter.
    """
    classes = [
        (place.file, node)
        for place in parameter.owner_classes
        for node in _reading.around(place, ast.ClassDef)[:1]
    ]
    assignments = [
        (file, node)
        for file, owner in classes
        for node in sorted(
            (one for one in ast.walk(owner) if isinstance(one, ast.Assign | ast.AnnAssign)),
            key=lambda one: one.lineno,
        )
        if _assigns(node, f"self.{parameter.name}")
    ]
    if assignments:
        return _reading.at(*min(assignments, key=lambda one: _is_empty_container(one[1].value)))
    return _reading.at(*classes[0]) if classes else None


def _find(facts: Facts) -> Iterator[Finding]:
    """Find the lines that make unregistered layers, or keep unregistered loose parameters."""
    if not facts.updates:  # then it means nothing that they did not move
        return
    by_line: dict[tuple[Place, bool], list[ParameterFacts]] = {}
    for parameter in _unregistered(facts):
        place = _container_place(parameter) if parameter.loose else parameter.module_place
        if place is not None:  # None: a library made them
            by_line.setdefault((place, parameter.loose), []).append(parameter)
    for (place, loose), parameters in by_line.items():
        evidence = _evidence(parameters)
        if loose:
            yield Finding(place=place, sentence=_LOOSE, evidence=evidence, mend=_MEND_LOOSE)
        else:
            yield Finding(place=place, sentence=_layers(parameters), evidence=evidence, mend=_MEND_LAYERS)


def _layers(parameters: list[ParameterFacts]) -> Said:
    """Return the sentence about unregistered layers, with their kinds."""
    kinds = ", ".join(dict.fromkeys(one.module_kind for one in parameters))
    return Said(
        f"여기서 만든 층({kinds})이 모델에 등록되지 않았어요. `parameters()`에 없어서 옵티마이저가 모르고, "
        "처음 값 그대로 남아요.",
        f"The layers built here ({kinds}) are not registered in the model: parameters() does not list them, "
        "no optimizer updates them.",
    )


def _evidence(parameters: list[ParameterFacts]) -> Said:
    """Return what was measured of unregistered parameters: how many they are, and how many gradients they got."""
    number = len(parameters)
    fewest, most = (extreme(one.reached for one in parameters) for extreme in (min, max))
    several = fewest != most
    got = f"{number} parameters got" if number > 1 else "1 parameter got"
    return Said(
        f"매개변수 {number}개가 그레이디언트를 {f'{fewest}~{most}' if several else most}번 받았지만, "
        "실행된 모델의 `parameters()`에도 옵티마이저에도 없고, 한 번도 움직이지 않았어요.",
        f"{got} {f'{fewest} to {most}' if several else most} gradients, {'are' if number > 1 else 'is'} in "
        "parameters() of no outermost module that ran and in no optimizer, and never moved.",
    )


_LOOSE = Said(
    "여기에 담은 매개변수(`nn.Parameter`)가 모델에 등록되지 않았어요. `parameters()`에 없어서 옵티마이저가 모르고, "
    "처음 값 그대로 남아요.",
    "The parameters kept here (nn.Parameter) are not registered in the model: parameters() does not list them, "
    "no optimizer updates them.",
)
_MEND_LOOSE = Said(
    "파이썬 리스트 대신 `nn.ParameterList`(딕셔너리면 `nn.ParameterDict`)에 넣으세요.",
    "Keep them in nn.ParameterList (or nn.ParameterDict).",
)
_MEND_LAYERS = Said(
    "모델의 속성으로 두세요. 여럿이면 파이썬 리스트 대신 `nn.ModuleList`(딕셔너리면 `nn.ModuleDict`)에 넣으세요.",
    "Make them attributes of the model: several in nn.ModuleList (or nn.ModuleDict), not in a plain list.",
)

RULE = Rule(
    id="layers-in-python-list",
    severity="bug",
    title=Said("층이나 매개변수가 모델에 등록되지 않았어요", "Layers or parameters are not registered"),
    lesson=None,
    find=_find,
)
