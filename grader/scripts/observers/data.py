"""Observe data: loaders, the batches that they give, and seeds."""

import weakref
from collections import Counter
from typing import Any

from torch import Tensor

from grader.scripts.batch_hashes import (
    is_continuous,
    piece_hashes,
    plain_and_sorted_hashes,
    row_hashes,
    values_hash,
)
from grader.scripts.batch_parts import binary_targets, first_tensor, labels
from grader.scripts.facts import BatchLoaded, LoaderBegan, LoaderEnded
from grader.scripts.numbering import Numbering
from grader.scripts.patches import Original
from grader.scripts.places import Place, callers, own_frames, own_place, place_of
from grader.scripts.random_events import Drawn, Seeded
from grader.scripts.things import LoaderFacts
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]


_MOST_DRAWS = 64


class DataObserver:
    """Handlers around DataLoader and the global generators."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._built: dict[int, tuple[weakref.ref[Any], Place | None]] = {}
        self._datasets = Numbering()
        self._passes: dict[int, int] = {}
        self._draws: Counter[Place | None] = Counter()
        self._contents: dict[int, dict[str, int]] = {}
        """By loader: name of an attribute of its dataset -> hash of the values."""
        self._iterators: dict[int, tuple[weakref.ref[Any], int, int, int]] = {}
        """By id of an iterator: reference, loader, pass, batches given."""

    def loader_built(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Remember where a loader is constructed."""
        done = original(*args, **kwargs)
        self._built[id(args[0])] = (weakref.ref(args[0]), own_place())
        return done

    def _loader(self, loader: Any) -> int:
        number = self._watch.loaders.find(loader)
        if number is None:
            number = self._watch.loaders.add(loader)
            reference, place = self._built.get(id(loader), (None, None))
            self._watch.facts.loaders.append(
                LoaderFacts(
                    number,
                    place if reference is not None and reference() is loader else None,
                    loader.batch_size,
                    _length(loader),
                    _length(loader.dataset),
                    type(getattr(loader, "sampler", None)).__name__,
                    bool(loader.drop_last),
                    int(loader.num_workers),
                    self._dataset(loader.dataset),
                    _kind(loader.dataset),
                    loader.worker_init_fn is not None,
                )
            )
        return number

    def _dataset(self, dataset: Any) -> int:
        try:
            known = self._datasets.find(dataset)
            return self._datasets.add(dataset) if known is None else known
        except TypeError:  # a list cannot be referred to weakly
            return -1 - id(dataset)

    def _changes(self, loader: int, dataset: Any) -> tuple[str, ...]:
        """Return the names of a dataset's tensors and arrays that have changed since the last pass over it began.

        That may have been another loader's, as where each epoch makes its own.
        """
        held = getattr(_innermost(dataset), "__dict__", {})
        now = {name: value for name, one in list(held.items()) if (value := values_hash(one)) is not None}
        number = self._watch.facts.loaders[loader].dataset
        before, self._contents[number] = self._contents.get(number, {}), now
        return tuple(name for name, value in now.items() if before.get(name, value) != value)

    def loader_began(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note the beginning of a pass over a loader."""
        watch = self._watch
        iterator = original(*args, **kwargs)
        if watch.busy:
            return iterator
        with watch.working():
            number = self._loader(args[0])
            count = self._passes.get(number, 0)
            self._passes[number] = count + 1
            self._iterators[id(iterator)] = (weakref.ref(iterator), number, count, 0)
            led = tuple(place_of(frame.f_code, frame.f_lineno) for frame in own_frames()[:8])
            changed = self._changes(number, args[0].dataset)
            watch.add(LoaderBegan(loader=number, pass_=count, callers=led, changed=changed))
        return iterator

    def batch_loaded(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a batch, or that there are no more."""
        watch = self._watch
        reference, loader, count, index = self._iterators.get(id(args[0]), (None, 0, 0, 0))
        if watch.busy or reference is None or reference() is not args[0]:
            return original(*args, **kwargs)
        try:
            batch = original(*args, **kwargs)
        except StopIteration:
            watch.add(LoaderEnded(loader=loader, pass_=count, batches=index))
            raise
        self._iterators[id(args[0])] = (reference, loader, count, index + 1)
        with watch.working():
            given = first_tensor(batch)
            known = labels(batch)
            in_order = watch.facts.loaders[loader].sampler == "SequentialSampler"
            watch.add(
                BatchLoaded(
                    loader=loader,
                    pass_=count,
                    index=index,
                    size=0 if given is None else given.size(0),
                    rows=None if given is None else row_hashes(given),
                    labels=known,
                    arranged=plain_and_sorted_hashes(batch) if known is None and in_order else None,
                    pieces=None if given is None else piece_hashes(given),
                    marks=binary_targets(batch),
                    continuous=given is not None and is_continuous(given),
                )
            )
        return batch

    def seeded(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a seed of a global generator."""
        if not self._watch.busy:
            given = args[0] if args else kwargs.get("seed", kwargs.get("a"))
            seed = int(given) if isinstance(given, int) else None
            led = tuple(place_of(frame.f_code, frame.f_lineno) for frame in own_frames()[:8])
            self._watch.add(Seeded(package=original.package, seed=seed, callers=led))
        return original(*args, **kwargs)

    def drawn(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note what a line draws from a generator that it names."""
        done = original(*args, **kwargs)
        if self._watch.busy or self._watch.in_backward or kwargs.get("generator") is None:
            return done
        place = own_place()
        self._draws[place] += 1
        if isinstance(done, Tensor) and place is not None and self._draws[place] <= _MOST_DRAWS:
            with self._watch.working():
                self._watch.add(Drawn(rows=row_hashes(done), callers=callers()), place)
        return done


def _kind(dataset: Any) -> str:
    return type(_innermost(dataset)).__name__


def _innermost(dataset: Any) -> Any:
    """Return the dataset that subsets wrap."""
    for _ in range(8):
        inner = getattr(dataset, "dataset", None)
        if inner is None:
            break
        dataset = inner
    return dataset


def _length(thing: Any) -> int | None:
    try:
        return len(thing)
    except (TypeError, NotImplementedError):
        return None
