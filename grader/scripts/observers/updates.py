"""Observe what makes an update: backward, clearing, clipping, steps and schedulers."""

import weakref
from collections import Counter
from typing import Any

import torch
from torch import Tensor

from grader.scripts import graph
from grader.scripts.averaging import averaging_assignments
from grader.scripts.baselines import pulls_baseline
from grader.scripts.facts import (
    BackwardRan,
    Cleared,
    Clipped,
    GradientTaken,
    GraphKept,
    GroupAdded,
    OptimizerBuilt,
    Stepped,
    UpdatedByHand,
)
from grader.scripts.observers.copies import CopyObserver
from grader.scripts.observers.functions import FunctionObserver
from grader.scripts.observers.own_updates import OwnUpdateObserver
from grader.scripts.observers.rounding import RoundingObserver
from grader.scripts.observers.schedulers import rates
from grader.scripts.observers.written_losses import WrittenLossObserver
from grader.scripts.patches import Original
from grader.scripts.places import Place, callers, own_place
from grader.scripts.spent import spent_groups
from grader.scripts.watch import Watch, autocast_type

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
_LOOKED_AT = 4
_MOST_KEPT = 64
_LOOKS = (7, 15, 31, 63)
"""Updates after which graphs are looked for that grow, in scripts that assign an average."""
_LATELY = 8
"""An optimizer that made no step in so many updates is not at work."""


class UpdateObserver:
    """Handlers and hooks around optimizers."""

    def __init__(self, watch: Watch, copies: CopyObserver) -> None:
        self._watch = watch
        self._copies = copies
        self._backwards = 0
        self._looks: Counter[Place | None] = Counter()
        self._tokens: list[tuple[int, weakref.ref[graph.Token]]] = []
        self._rounding = RoundingObserver()
        self._functions = FunctionObserver(watch)
        self._written = WrittenLossObserver(watch)
        self._own = OwnUpdateObserver(watch)
        self._last_steps: dict[int, int] = {}
        """By optimizer: the update in which it last stepped."""
        self._idle: dict[int, tuple[int, Tensor]] = {}
        """By parameter that no stepping optimizer holds: the update of its last gradient, and its entries then."""
        self._building: set[int] = set()
        self._rates: dict[int, tuple[float, ...]] = {}
        """By optimizer: its rates at its first step."""
        self._grads: dict[int, tuple[int, int]] = {}
        self._by_hand: dict[int, Tensor] = {}
        self._same_at_forward = False
        """A forward began since the last backward, and none of these had changed then."""
        self._stepped = False
        """Some optimizer made a step; until then parameters may be updated by hand."""
        self._wrapped: tuple[weakref.ref[Tensor], Place | None, int] | None = None
        self._older = {
            id(tensor): (weakref.ref(tensor), graph.version(tensor)) for tensor in graph.tensors_with_graphs()
        }
        """Tensors with graphs that were there when the watch began, with their versions."""
        watch.forward_began = self._forward_began
        watch.at_end.append(lambda: self._look_for_kept_graphs(ended=True))

    # ---- backward ----------------------------------------------------------------------------

    def backward(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Book what one backward contributes to `.grad`."""
        watch = self._watch
        if watch.busy or watch.in_backward:
            return original(*args, **kwargs)
        tensors = args[0] if args else kwargs.get("tensors")
        roots = (
            [tensors] if isinstance(tensors, Tensor) else [t for t in tensors or () if isinstance(t, Tensor)]
        )
        lowered = autocast_type()
        with watch.working():
            changed = self._changed_by_hand()
            self._copies.backward_begins()
            event, found = self._about_to_run(roots, kwargs)
            event.autocast = lowered
            event.left = frozenset(number for number in changed if self._still_there(number))
            event.weights = {number: self._weights(number) for number in range(len(watch.facts.optimizers))}
            if self._wrapped is not None and any(self._wrapped[0]() is one for one in found.leaves):
                event.wrapped, event.cut = self._wrapped[1:]
            held = {number: ledger.before_backward() for number, ledger in watch.ledgers.items()}
            event.held_before = {
                number: float((sketch**2).sum() ** 0.5)
                for number, sketch in held.items()
                if sketch is not None
            }
        watch.in_backward = True
        try:
            return original(*args, **kwargs)
        except BaseException:
            event.raised = True
            raise
        finally:
            watch.in_backward = False
            with watch.working():
                self._ran(event, found, held)

    def _about_to_run(self, roots: list[Tensor], kwargs: Keywords) -> tuple[BackwardRan, graph.Graph]:
        watch = self._watch
        found = graph.read_graph(roots)
        event = watch.add(
            BackwardRan(
                number=self._backwards,
                reached=frozenset(),
                contributed=frozenset(),
                root=graph.names(roots[0]) if roots else (),
                losses=tuple(found.losses),
                nodes=found.nodes,
                forwards=tuple(sorted(set(found.forwards))),
                divisor=graph.divisor(roots[0]) if roots else None,
                factor=graph.factor(roots[0]) if roots else None,
                spread=graph.spread_difference(roots[0]) if roots else None,
                flat_terms=graph.flat_terms(roots[0]) if roots else 0,
                summed=graph.summed_shape(roots[0]) if roots else (),
                callers=callers(),
                retain=bool(kwargs.get("retain_graph")),
                forward=None if watch.last_forward is None else watch.last_forward.serial,
                in_step=bool(watch.in_steps),
                autocast=None,
                value=roots[0].detach().clone() if roots and roots[0].numel() == 1 else None,
            )
        )
        self._backwards += 1
        self._looks[event.place] += 1
        if self._looks[event.place] <= _LOOKED_AT:
            event.pulls_baseline = any(map(pulls_baseline, roots))
            event.spread_entries = graph.spread_entries(roots[0]) if roots else None
        self._functions.about_to_run(found.functions)
        self._written.about_to_run(event, roots)
        for node in [*(root.grad_fn for root in roots), *found.loss_nodes]:
            token = graph.attach_token(node)
            if token is not None:
                self._tokens.append((event.number, token))
        terms = [node for root in roots if root.grad_fn is not None for node in graph.scalars(root.grad_fn)]
        for node in terms:  # one that was there before is kept on purpose
            token = None if graph.has_token(node) else graph.attach_token(node)
            if token is not None:
                self._tokens.append((event.number, token))
        found.loss_nodes = []
        return event, found

    def _look_for_kept_graphs(self, *, ended: bool) -> None:
        """Note living tensors with graphs that use one parameter again and again; earlier ones if they have grown."""
        watch = self._watch
        with (
            torch._C.DisableTorchFunctionSubclass()
        ):  # a tensor class of the script's own may answer anything
            tensors = [one for one in graph.tensors_with_graphs() if not self._was_there(one)]
            for tensor in tensors[:_MOST_KEPT]:
                nodes, uses, older = graph.most_uses(tensor)
                if uses > 1 and (ended or older):
                    watch.add(GraphKept(nodes=nodes, uses=uses))
                if uses > 1 and not ended:
                    graph.mark_kept(tensor)

    def _was_there(self, tensor: Tensor) -> bool:
        """Return True if the tensor lived before the watch, as in earlier cells of a notebook, and did not change."""
        reference, version = self._older.get(id(tensor), (None, None))
        return reference is not None and reference() is tensor and version == graph.version(tensor)

    def _weights(self, optimizer: int) -> float:
        """Return a sum of some of an optimizer's parameters' entries."""
        groups = getattr(self._watch.optimizers.thing(optimizer), "param_groups", ())
        some = [p for group in groups for p in group["params"]][:_LOOKED_AT]
        return float(sum(float(p.detach().reshape(-1)[:8].double().sum()) for p in some))

    def _still_there(self, number: int) -> bool:
        """Return True if a parameter has a gradient other than zero."""
        gradient = getattr(self._watch.parameters.thing(number), "grad", None)
        return gradient is not None and bool(gradient.any())

    def _ran(self, event: BackwardRan, found: graph.Graph, held: dict[int, Any]) -> None:
        watch = self._watch
        for number, ledger in watch.ledgers.items():
            norm = ledger.after_backward(event.number, held.get(number))
            if norm:
                event.norms[number] = norm
        event.contributed = frozenset(event.norms)
        if event.raised:
            return
        reached = {watch.parameter(leaf) for leaf in found.leaves}
        for number in range(len(watch.parameters.references)):
            tensor = watch.parameters.thing(number)
            gradient = None if tensor is None else tensor.grad
            if gradient is not None and self._grads.get(number) != (id(gradient), gradient._version):
                reached.add(number)
                self._grads[number] = (id(gradient), gradient._version)
        event.reached = frozenset(reached)
        self._look_for_idle(reached)
        held_by_some = watch.facts.held()
        for number in reached:
            watch.facts.parameters[number].reached += 1
            tensor = watch.parameters.thing(number)
            if number not in held_by_some and tensor is not None:
                self._by_hand[number] = tensor.detach().reshape(-1)[:8].clone()

    def _look_for_idle(self, reached: set[int]) -> None:
        """Count the updates that left a parameter as it was although it had a gradient."""
        facts = self._watch.facts
        stepping = [one for one, last in self._last_steps.items() if last >= facts.updates - _LATELY]
        held = frozenset[int]().union(*(facts.optimizers[one].parameters for one in stepping))
        for number in reached - held if stepping else ():
            tensor = self._watch.parameters.thing(number)
            if tensor is None:
                continue
            update, before = self._idle.get(number, (facts.updates, None))
            now = tensor.detach().reshape(-1)[:8].clone()
            same = before is not None and torch.equal(now, before)
            if update < facts.updates or before is None:
                facts.parameters[number].idle = facts.parameters[number].idle + 1 if same else 0
                self._idle[number] = facts.updates, now

    def _differs(self, number: int) -> bool:
        """Return True if a parameter without an optimizer has changed since the last backward."""
        tensor = self._watch.parameters.thing(number)
        if tensor is None or number not in self._by_hand:
            return False
        return not torch.equal(tensor.detach().reshape(-1)[:8], self._by_hand[number])

    def _forward_began(self) -> None:
        if self._by_hand and not self._stepped:
            with self._watch.working():
                self._same_at_forward = not any(map(self._differs, self._by_hand))

    def _changed_by_hand(self) -> list[int]:
        """Notice parameters that no optimizer holds and that changed since the last backward, and return them."""
        watch = self._watch
        changed = [number for number in self._by_hand if self._differs(number)]
        self._own.backward_begins(changed, list(self._by_hand))
        self._by_hand = {}
        within, self._same_at_forward = self._same_at_forward, False
        if not changed or self._stepped:
            return []
        watch.add(UpdatedByHand(within=within))
        watch.update_ended()
        return changed

    def gradient_taken(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a call of `torch.autograd.grad`, and whether what it is about was updated by hand since the last."""
        watch = self._watch
        if watch.busy or watch.in_backward:
            return original(*args, **kwargs)
        create = bool(kwargs.get("create_graph"))
        given = args[1] if len(args) > 1 else kwargs.get("inputs", ())
        known = map(watch.parameters.find, given if isinstance(given, list | tuple) else [given])
        parameters = frozenset(one for one in known if one is not None)
        watch.add(GradientTaken(create_graph=create, parameters=parameters))
        if create or torch._C._functorch.peek_interpreter_stack() is not None:
            return original(*args, **kwargs)
        with watch.working():
            leaves = self._own.gradient_asked(given)
        done = original(*args, **kwargs)
        if leaves:
            with watch.working():
                self._own.gradient_given(leaves, done)
        return done

    # ---- optimizers --------------------------------------------------------------------------

    def optimizer_built(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note an optimizer and what it holds."""
        if self._watch.over:
            done = original(*args, **kwargs)
            self._watch.stage_began(args[0])
            return done
        self._building.add(id(args[0]))
        spent = spent_groups(args[1] if len(args) > 1 else kwargs.get("params"))
        try:
            done = original(*args, **kwargs)
        finally:
            self._building.discard(id(args[0]))
        with self._watch.working():
            number = self._watch.optimizer(args[0], own_place())
            self._watch.facts.optimizers[number].spent = spent
            self._watch.add(OptimizerBuilt(optimizer=number))
        return done

    def wrapped(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Remember where a tensor that asks for gradients is made without a graph."""
        done = original(*args, **kwargs)
        if self._watch.busy or not isinstance(done, Tensor):
            return done
        if done.requires_grad and done.grad_fn is None:
            self._wrapped = (weakref.ref(done), own_place(), _graphs_in(args[0] if args else None))
        return done

    def group_added(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a group that is added after construction."""
        done = original(*args, **kwargs)
        if not self._watch.busy and id(args[0]) not in self._building:
            with self._watch.working():
                self._watch.add(GroupAdded(optimizer=self._watch.optimizer(args[0])))
        return done

    def optimizer_cleared(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Book a clearing of an optimizer's gradients."""
        watch = self._watch
        if watch.busy or not hasattr(args[0], "param_groups"):
            return original(*args, **kwargs)
        done = original(*args, **kwargs)
        with watch.working():
            number = watch.optimizer(args[0])
            held = watch.facts.optimizers[number].parameters
            watch.add(Cleared(optimizer=number, module=None, parameters=held, dropped=self._dropped()))
        return done

    def module_cleared(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Book a clearing of a module's gradients."""
        watch = self._watch
        if watch.busy:
            return original(*args, **kwargs)
        done = original(*args, **kwargs)
        with watch.working():
            held = frozenset(map(watch.parameter, args[0].parameters()))
            number = watch.modules.find(args[0])
            watch.add(Cleared(optimizer=None, module=number, parameters=held, dropped=self._dropped()))
        return done

    def _dropped(self) -> dict[int, tuple[int, ...]]:
        dropped = {number: ledger.cleared() for number, ledger in self._watch.ledgers.items()}
        return {number: gone for number, gone in dropped.items() if gone}

    def step_began(self, optimizer: Any, args: Arguments, kwargs: Keywords) -> None:
        """Book what an optimizer is about to read; with a closure that is known only afterwards."""
        watch = self._watch
        if watch.busy:
            return
        with watch.working():
            number = watch.optimizer(optimizer)
            if not _closure(args, kwargs):
                self._step(number, closure=False)
            if not watch.in_steps:
                self._copies.step_begins(number)
            watch.in_steps.append(number)

    def step_ended(self, optimizer: Any, args: Arguments, kwargs: Keywords) -> None:
        """Book the end of a step; the outermost one ends an update."""
        watch = self._watch
        if watch.busy:
            return
        with watch.working():
            number = watch.optimizer(optimizer)
            self._stepped = True
            watch.stepped = number
            self._last_steps[number] = watch.facts.updates
            self._rounding.step_ended(number)
            if number in watch.in_steps:
                del watch.in_steps[watch.in_steps.index(number) :]
            if _closure(args, kwargs):
                self._step(number, closure=True)
        if not watch.in_steps:
            with watch.working():
                self._copies.step_ended(number)
                if watch.facts.updates in _LOOKS and averaging_assignments(watch.facts.script):
                    self._look_for_kept_graphs(ended=False)  # a function's own tensors are gone at the end
            watch.update_ended()

    def _step(self, number: int, *, closure: bool) -> None:
        watch = self._watch
        read = watch.ledgers[number].step()
        self._tokens = [(number, token) for number, token in self._tokens if token() is not None]
        optimizer = watch.optimizers.thing(number)
        event = watch.add(
            Stepped(
                optimizer=number,
                number=watch.steps_seen(number),
                closure=closure,
                inside=bool(watch.in_steps),
                empty=read.empty,
                total=read.total,
                read_norm=read.norm,
                recipe=read.recipe,
                carried=read.carried,
                unexplained=read.unexplained,
                cosines=read.cosines,
                weights=self._weights(number),
                window=read.window,
                rates=rates(optimizer),
                graphs_alive=len({backward for backward, _ in self._tokens}),
                callers=callers(),
            )
        )
        if self._rates.setdefault(number, event.rates) != event.rates:
            watch.hook_steps()  # to know where they come to
        if not closure:
            self._rounding.step_begins(optimizer, event)

    # ---- clipping ----------------------------------------------------------------------------

    def clipped(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note whose gradients are clipped, and how."""
        watch = self._watch
        if watch.busy:
            return original(*args, **kwargs)
        names = ("parameters", "max_norm", "clip_value")
        parameters = args[0] if args else kwargs.get("parameters")
        if not isinstance(parameters, Tensor):
            parameters = list(parameters or ())
            args, kwargs = (
                ((parameters, *args[1:]), kwargs) if args else (args, {**kwargs, names[0]: parameters})
            )
        done = original(*args, **kwargs)
        # One that was measured before is given.
        given_norm = args[2] if len(args) > 2 else kwargs.get("total_norm")
        norm = given_norm if done is None else done
        with watch.working():
            given = [parameters] if isinstance(parameters, Tensor) else parameters
            numbers = frozenset(map(watch.parameter, given))
            limit = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value", 0.0))
            watch.add(
                Clipped(
                    method="norm" if "norm" in original.name else "value",
                    parameters=numbers,
                    updated=not self._stepped and any(map(self._differs, numbers)),
                    in_time=self._is_before_update(),
                    limit=float(limit or 0.0),
                    norm=norm.detach().clone() if isinstance(norm, Tensor) else None,
                )
            )
        return done

    def _is_before_update(self) -> bool:
        """Return True if a step is running that has not changed its parameters yet."""
        watch = self._watch
        if not watch.in_steps:
            return False
        steps = (one for one in reversed(watch.facts.events) if isinstance(one, Stepped))
        running = next((one for one in steps if one.optimizer == watch.in_steps[-1]), None)
        return running is not None and running.weights == self._weights(running.optimizer)


def _closure(args: Arguments, kwargs: Keywords) -> bool:
    return any(callable(one) for one in (*args, *kwargs.values()))


def _graphs_in(given: Any) -> int:
    """Return how many tensors with a graph `torch.tensor` was given, of which it copies only the values."""
    parts = given if isinstance(given, list | tuple) else [given]
    return sum(isinstance(one, Tensor) and one.grad_fn is not None for one in parts[:4096])
