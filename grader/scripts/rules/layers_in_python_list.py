"""Layers that work in the forward but are registered nowhere: they are kept in a plain list or dictionary."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules.unheld_parameters import unheld
from grader.scripts.things import ParameterFacts


def _made(facts: Facts, one: ParameterFacts) -> Place | None:
    """Return the line that makes the list of a parameter: `self.weights = …` in its module's class."""
    for file in _reading.files(facts):
        for owner in _reading.nodes(file, ast.ClassDef):
            if isinstance(owner, ast.ClassDef) and owner.name == one.owner_kind:
                for made in ast.walk(owner):
                    if isinstance(made, ast.Assign) and ast.unparse(made.targets[0]) == f"self.{one.name}":
                        return _reading.at(file, made)
    return None


def _find(facts: Facts) -> Iterator[Finding]:
    lost = [one for one in unheld(facts) if one.unregistered and not one.in_tree and not one.loaded]
    places = {one.number: _made(facts, one) if one.owner_kind else one.module_place for one in lost}
    for place in dict.fromkeys(places.values()):
        these = [one for one in lost if places[one.number] == place]
        if not facts.updates or place is None:
            continue
        kinds = ", ".join(dict.fromkeys(one.module_kind for one in these))
        yield Finding(
            place=place,
            sentence=Said(
                f"여기서 만든 층({kinds})이 모델에 등록되지 않았어요. `parameters()`에 없어서 옵티마이저가 모르고, "
                "처음 값 그대로 남아요.",
                f"The layers built here ({kinds}) are not registered in the model: parameters() does not list them, "
                "no optimizer updates them.",
            ),
            evidence=Said(
                f"매개변수 {len(these)}개가 그레이디언트를 {these[0].reached}번 받았지만 어느 모듈에도 "
                "옵티마이저에도 없고, "
                "한 번도 움직이지 않았어요.",
                f"{len(these)} parameters got {these[0].reached} gradients, are in no module that ran and in no "
                "optimizer, and never moved.",
            ),
            mend=Said(
                "파이썬 리스트 대신 `nn.ModuleList`(딕셔너리면 `nn.ModuleDict`)에 넣으세요.",
                "Keep them in nn.ModuleList (or nn.ModuleDict).",
            ),
        )


RULE = Rule(
    id="layers-in-python-list",
    severity="bug",
    title=Said("층이 모델에 등록되지 않았어요", "Layers are not registered"),
    lesson=None,
    find=_find,
)
