"""Losses written by hand that squash once more what a softmax or a sigmoid has squashed, line by line."""

from collections.abc import Iterator

from grader.scripts.by_hand import MOST_LOOKS, SquashedTwice
from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.places import Place

_FEWEST = 3


def squashed_twice(facts: Facts, name: str) -> Iterator[tuple[Place | None, list[SquashedTwice]]]:
    """Yield each line where all losses looked at took the output of a `name` ("Softmax", "Sigmoid"), with them."""
    twice = [one for one in facts.of(SquashedTwice) if one.name == name]
    for place in dict.fromkeys(one.place for one in twice):
        these = [one for one in twice if one.place == place]
        ran = sum(one.place == place for one in facts.of(BackwardRan))
        if len(these) >= max(_FEWEST, min(MOST_LOOKS, ran)):
            yield place, these
