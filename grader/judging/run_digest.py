"""Make a digest of what a submission did, equal for programs that behave alike to the bit.

Lines are left out: they say where in the text something happened, not what happened. So the digest of two programs
that differ only in their text is the same, and what follows from behaviour alone needs to be found only once.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping

import numpy as np

from grader.observe.trace import Array, Run, Trace


def behaviour_digest(trace: Trace) -> bytes:
    """Return the digest of all runs of a trace, by the names of their scenarios."""
    found = hashlib.blake2b(digest_size=16)
    for name, run in trace.runs.items():
        for piece in _pieces(name, run):
            found.update(len(piece).to_bytes(8, "little"))
            found.update(piece)
    return found.digest()


def _pieces(name: str, run: Run) -> Iterator[bytes]:
    """Yield everything about a run that may differ between programs, but no line numbers."""
    failure = run.failure
    yield from _array_pieces("arrays", run.arrays)
    yield from _array_pieces("evidence", run.evidence)
    yield _text_piece(
        [
            name,
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
    for name, values in arrays.items():
        yield _text_piece([kind, name, values.dtype.str, values.shape])
        yield np.ascontiguousarray(values).tobytes()


def _text_piece(value: object) -> bytes:
    """Return plain values as JSON in ASCII: a learner's message may hold half of a surrogate pair."""
    return json.dumps(value, ensure_ascii=True).encode()
