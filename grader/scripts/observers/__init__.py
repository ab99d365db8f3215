"""What the wrappers and hooks call: each observer lets the original run and writes down what happened."""

from collections.abc import Callable
from typing import Any

from grader.scripts.observers.attributes import AttributeObserver
from grader.scripts.observers.copies import CopyObserver
from grader.scripts.observers.data import DataObserver
from grader.scripts.observers.dropping import DropObserver
from grader.scripts.observers.files import FileObserver
from grader.scripts.observers.flags import FlagObserver
from grader.scripts.observers.hooks import HookObserver
from grader.scripts.observers.mixing import MixingObserver
from grader.scripts.observers.models import ModelObserver
from grader.scripts.observers.scaling import ScalingObserver
from grader.scripts.observers.schedulers import SchedulerObserver
from grader.scripts.observers.shapes import ShapeObserver
from grader.scripts.observers.updates import UpdateObserver
from grader.scripts.patches import TABLE, Patches
from grader.scripts.watch import Watch


def patches(watch: Watch) -> Patches:
    """Return the patches of a watch; they are not put on yet."""
    copies = CopyObserver(watch)
    shapes = ShapeObserver(watch)
    mixing = MixingObserver(watch)
    dropping = DropObserver(watch)
    models = ModelObserver(watch, copies, shapes, mixing, dropping)
    updates = UpdateObserver(watch, copies)
    late = FileObserver(watch), FlagObserver(watch), SchedulerObserver(watch), AttributeObserver(watch)
    others = DataObserver(watch), HookObserver(watch), ScalingObserver(watch)
    observers = (models, dropping, shapes, mixing, updates, *others, *late)
    handlers: dict[str, Callable[..., Any]] = {}
    for _, _, name in TABLE:
        handlers[name] = next(getattr(one, name) for one in observers if hasattr(one, name))
    hooks: dict[str, Callable[..., Any]] = {
        "step_began": updates.step_began,
        "step_ended": updates.step_ended,
        "went_on": lambda *given: [one.went_on(*given) for one in late],
        "forward_began": models.forward_began,
        "forward_ended": models.forward_ended,
    }
    return Patches(handlers, hooks)
