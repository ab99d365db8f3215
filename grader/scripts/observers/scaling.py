"""Observe mixed precision: autocast regions, and what a GradScaler is asked for."""

from typing import Any

import torch
from torch import Tensor

from grader.scripts.facts import AutocastEntered, ScalerBuilt, ScalerCalled
from grader.scripts.patches import Original
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]


class ScalingObserver:
    """Handlers around `GradScaler` and `autocast`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def scaler_built(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note where a GradScaler is constructed."""
        done = original(*args, **kwargs)
        watch = self._watch
        if not watch.busy and watch.scalers.find(args[0]) is None:
            watch.add(ScalerBuilt(scaler=watch.scalers.add(args[0])))
        return done

    def _scaled(self, method: str, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        watch = self._watch
        scaler = args[0]
        if watch.busy or not getattr(scaler, "_enabled", True):
            return original(*args, **kwargs)
        number = watch.scalers.find(scaler)
        if number is None:
            number = watch.scalers.add(scaler)
        optimizer = None
        if method in ("unscale_", "step"):
            given = args[1] if len(args) > 1 else kwargs.get("optimizer")
            given = getattr(given, "optimizer", given)
            with watch.working():
                optimizer = watch.optimizer(given) if isinstance(given, torch.optim.Optimizer) else None
        before = watch.facts.updates
        event = watch.add(ScalerCalled(scaler=number, method=method, optimizer=optimizer))
        done = original(*args, **kwargs)
        if method == "scale" and isinstance(getattr(scaler, "_scale", None), Tensor):
            event.scale = scaler._scale.detach().clone()
        if method == "unscale_" and optimizer is not None:
            watch.ledgers[optimizer].forget_signature()  # unscaling leaves the version as it is
        event.skipped = method == "step" and watch.facts.updates == before
        return done

    def scaler_scale(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note `scaler.scale`."""
        return self._scaled("scale", original, args, kwargs)

    def scaler_unscale(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note `scaler.unscale_`."""
        return self._scaled("unscale_", original, args, kwargs)

    def scaler_step(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note `scaler.step`."""
        return self._scaled("step", original, args, kwargs)

    def scaler_update(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note `scaler.update`."""
        return self._scaled("update", original, args, kwargs)

    def autocast_entered(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note an autocast region."""
        done = original(*args, **kwargs)
        if not self._watch.busy:
            region = args[0]
            kind = str(region.fast_dtype).removeprefix("torch.")
            self._watch.add(AutocastEntered(dtype=kind, enabled=bool(region._enabled)))
        return done
