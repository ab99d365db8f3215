"""Make a digest of what a submission did, equal for programs that behave alike to the bit.

Lines are left out: they say where in the text something happened, not what happened. So the digest of two programs
that differ only in their text is the same, and what follows from behaviour alone needs to be found only once.
"""

import hashlib
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from grader.observe.trace import Array, Run, Trace


def digest_of(trace: Trace) -> bytes:
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
    yield name.encode()
    yield from _arrays(run.arrays)
    yield from _arrays(run.evidence)
    yield msgspec.json.encode(
        [
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


def _arrays(arrays: Mapping[str, Array]) -> Iterator[bytes]:
    for name, values in arrays.items():
        yield f"{name} {values.dtype.str} {values.shape}".encode()
        yield np.ascontiguousarray(values).tobytes()
