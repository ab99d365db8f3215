"""Make a digest of what a submission did, equal for programs that behave alike to the bit.

`explain.py` remembers explanations under this digest, so that the mistakes of programs that behave alike are searched
for once. The digest leaves out line numbers, which say where in the text something happened, printed output, which is
never compared, and what a trace holds beside its runs.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping

import numpy as np

from grader.observe.trace import Array, Run, Trace


def behaviour_digest(trace: Trace) -> bytes:
    """Return the digest of all runs of a trace, in the order played, and of the names of their scenarios."""
    digest = hashlib.blake2b(digest_size=16)
    for scenario, run in trace.runs.items():
        for piece in _pieces(scenario, run):
            digest.update(len(piece).to_bytes(8, "little"))  # so that "ab" + "c" is not "a" + "bc"
            digest.update(piece)
    return digest.digest()


def _pieces(scenario: str, run: Run) -> Iterator[bytes]:
    """Yield the scenario's name and everything that the run records, except line numbers and printed output.

    A new field of `Run`, `Event`, `Failure` or `Parameter` on which an explanation depends has to be added here.
    `tests/judging/test_run_digest.py` fails until its `OTHER_VALUES` has another value for the field and this function
    tells the two apart, or its `LEFT_OUT` has a reason.
    """
    failure = run.failure
    yield from _array_pieces("arrays", run.arrays)
    yield from _array_pieces("evidence", run.evidence)
    yield _text_piece(
        [
            scenario,
            run.facts,
            [(parameter.name, parameter.size) for parameter in run.parameters],
            [
                (
                    event.kind,
                    event.call,
                    event.batch,
                    event.state,
                    event.point,
                    event.by_hand,
                    event.gradients,
                )
                for event in run.events
            ],
            None
            if failure is None
            else (failure.type, failure.bases, failure.message, failure.call, failure.own),
            run.complete,
        ]
    )


def _array_pieces(kind: str, arrays: Mapping[str, Array]) -> Iterator[bytes]:
    """Yield for each array its kind (`arrays` or `evidence`), name, type and shape, and then its bytes."""
    for name, values in arrays.items():
        yield _text_piece([kind, name, values.dtype.str, values.shape])
        yield np.ascontiguousarray(values).tobytes()


def _text_piece(value: object) -> bytes:
    """Return plain values as JSON in ASCII, because a learner's text may hold lone surrogates, which UTF-8 refuses."""
    return json.dumps(value, ensure_ascii=True).encode()
