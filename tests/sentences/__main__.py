"""Play mistakes alone, in pairs and in triples, and check every sentence that is told of them.

    python -m tests.sentences                                   # all mistakes with all their variants, alone
    python -m tests.sentences --pairs 3000 --triples 1500 --seed 1

A sentence is false if the run contradicts what it claims (`tests.sentences.claims`), or if another sentence of the
same card excludes it.
"""

import argparse
import random
import sys
from collections.abc import Iterator

import torch

from grader.course.reading import load_course
from grader.judging.assess import assess
from grader.judging.edits import Combination
from grader.judging.explain import Explanation
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import Reference, cached_reference
from grader.judging.true_sentences import ComparedRuns, condition_holds
from grader.observe.trace import Trace
from tests.sentences.claims import claims_of, opposites_in

SEED = 1
_TRIES = 50
"""Tries to draw one combination whose edits go together."""


def alone(its: Reference) -> Iterator[Combination]:
    """Yield every variant of every mistake."""
    yield from ((variant,) for variant in its.variants)


def drawn(
    references: list[Reference], size: int, count: int, seed: int
) -> Iterator[tuple[Reference, Combination]]:
    """Yield this many random combinations of mistakes, each of a random exercise, whose edits go together.

    Fewer if none was found in `_TRIES` tries for each.
    """
    chance = random.Random(f"{size} {seed}")
    found = 0
    for _ in range(_TRIES * count):
        if found == count:
            break
        its = references[chance.randrange(len(references))]
        if len(its.exercise.mistakes) < size:
            continue
        ids = chance.sample([mistake.id for mistake in its.exercise.mistakes], size)
        chosen = tuple(
            chance.choice([variant for variant in its.variants if variant.mistake.id == id_])
            for id_ in sorted(ids, key=[m.id for m in its.exercise.mistakes].index)
        )
        if its.source_with_mistakes(chosen) is not None:
            found += 1
            yield its, chosen


def false_sentences(its: Reference, combination: Combination) -> list[str]:
    """Return what is false on the card of the program that makes these mistakes, in words."""
    program = its.source_with_mistakes(combination)
    assert program is not None
    names = [scenario.name for scenario in its.exercise.driver.scenarios]
    trace = Trace(runs={name: its.complete_run(program, name) for name in names})
    feedback = assess(its.exercise, trace, its, LearnerCode(program, file="program.py"))
    texts = [named.explain for named in feedback.diagnosis.mistakes]
    runs = ComparedRuns(
        usual=combination[0],
        made=combination[0],
        explanation=Explanation(combination=combination),
        judged_runs=trace.runs,
        reference=its,
    )
    found = [f"{one} ↔ {other}" for one, other in opposites_in(texts)]
    for text in texts:
        for sentence, condition in claims_of(text):
            if _is_recorded(condition, its) and not condition_holds(condition, runs):
                found.append(f"{sentence} ({condition})")
    return found


def _is_recorded(condition: str, its: Reference) -> bool:
    """Return True unless the condition is about something that no scenario of the exercise records by this name."""
    word, _, field = condition.partition(" ")
    field = "반환 타입" if word == "returns" else field
    solutions = [its.solution_run(scenario.name) for scenario in its.exercise.driver.scenarios]
    known = {name for run in solutions for name in (*run.arrays, *run.facts)}
    return field not in ("returned", "theta", "반환 타입") or field in known


def main() -> int:
    """Run the command; 1 if a sentence is false."""
    parser = argparse.ArgumentParser(prog="python -m tests.sentences", description=__doc__)
    parser.add_argument("exercise", nargs="*", help="names of exercises; none: all")
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--triples", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    exercises = load_course().exercises
    references = [cached_reference(name, SEED) for name in arguments.exercise or exercises]
    cards = [(its, one) for its in references for one in alone(its)]
    cards += drawn(references, 2, arguments.pairs, arguments.seed)
    cards += drawn(references, 3, arguments.triples, arguments.seed)
    wrong = 0
    for its, combination in cards:
        for false in false_sentences(its, combination):
            wrong += 1
            print(f"{its.exercise.name}: {' + '.join(v.name for v in combination)}: {false}", flush=True)
    print(f"{len(cards)} cards, {wrong} false sentences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
