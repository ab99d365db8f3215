"""The rules: each module here holds `RULE`, or `RULES` where several kinds of one mistake share their search."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from grader.scripts.facts import Facts
from grader.scripts.findings import SEVERITIES, Rule, Told
from grader.scripts.places import Place


@cache
def all_rules() -> tuple[Rule, ...]:
    """Import every module of this package and return its rules, by id."""
    found: list[Rule] = []
    for module in iter_modules(__path__):
        if not module.name.startswith("_"):
            loaded = import_module(f"{__name__}.{module.name}")
            found += getattr(loaded, "RULES", None) or [loaded.RULE]
    return tuple(sorted(found, key=lambda rule: rule.id))


def findings(facts: Facts, failures: list[Exception], *, late: bool = False) -> list[Told]:
    """Apply every rule, or those that also judge what came after the watch; worst first, then by line.

    What one rule says of one line is told once.
    A rule that stumbles over a script costs only itself: its exception is added to `failures`.
    """
    found: dict[tuple[str, Place | None], Told] = {}
    for told in sorted(_told(facts, failures, late), key=_order):
        found.setdefault((told.rule.id, told.finding.place), told)
    whole = list(found.values())
    if any(told.severity == "bug" for told in whole):  # says more than that no update came of it
        return [told for told in whole if told.rule.id != "no-update"]
    return whole


def _told(facts: Facts, failures: list[Exception], late: bool) -> Iterator[Told]:
    for rule in all_rules():
        if late and not rule.late:
            continue
        try:
            yield from [Told(rule, finding) for finding in rule.find(facts)]
        except Exception as error:
            error.add_note(f"rule {rule.id}")
            failures.append(error)


def _order(told: Told) -> tuple[int, str, int]:
    place = told.finding.place
    return SEVERITIES.index(told.severity), place.file if place else "", place.line if place else 0
