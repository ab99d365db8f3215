"""Look before steps for attributes that nothing reads: `p.require_grad = False`, `optimizer.lr = …`."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from grader.scripts.places import Place
from grader.scripts.source import assigned_attributes, is_misspelt
from grader.scripts.states import UnreadAttribute
from grader.scripts.watch import Watch

_LOOKS = 12
"""Steps that are looked at after a script's attribute was first seen on an optimizer."""


class AttributeObserver:
    """A look before steps at what the script's assignments of attributes have left."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._assigned = assigned_attributes(watch.facts.script)
        """By name: the lines that assign an attribute of it. Without any, nothing is looked at."""
        self._seen: dict[tuple[int, str], UnreadAttribute] = {}
        """By id of the optimizer, and the attribute's name."""

    def went_on(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Compare attributes with what the step is about to use."""
        if not self._assigned or not hasattr(optimizer, "param_groups"):
            return
        if type(optimizer).__module__.startswith("torch.optim"):  # another class may read what it likes
            self._look_at_options(optimizer)
        misspelt = [name for name in self._assigned if is_misspelt(name)]
        if misspelt:
            self._look_at_parameters(optimizer, misspelt)

    def _look_at_options(self, optimizer: Any) -> None:
        for name in vars(optimizer).keys() & optimizer.defaults.keys() & self._assigned.keys():
            event = self._event(optimizer, name, type(optimizer).__name__)
            if event.looks == _LOOKS:
                continue
            value = vars(optimizer)[name]
            used = [group.get(name) for group in optimizer.param_groups]
            event.looks += 1
            event.against += all(one != value for one in used)
            event.steady = event.steady and (event.used is None or event.used == used[0])
            event.value, event.used = value, used[0]

    def _look_at_parameters(self, optimizer: Any, misspelt: list[str]) -> None:
        """Count the parameters that this optimizer trains although a misspelt flag of theirs says otherwise."""
        held = {id(p): p for group in optimizer.param_groups for p in group["params"]}
        for name in misspelt:
            if (id(type(optimizer)), name) in self._seen:
                continue
            against = {id(p) for p in held.values() if _says_other(vars(p).get(name), p)}
            kind = "Parameter"
            for module in self._modules():
                flag = vars(module).get(name)
                own = {id(p) for p in module.parameters() if id(p) in held and _says_other(flag, p)}
                if own - against:
                    kind = type(module).__name__
                    against |= own
            if against:
                event = self._event(type(optimizer), name, kind)
                event.against, event.looks = len(against), len(held)
                event.value = not next(p for key, p in held.items() if key in against).requires_grad

    def _modules(self) -> Iterator[nn.Module]:
        """Iterate over the living modules that ran, with their parts."""
        for number in range(len(self._watch.modules.references)):
            module = self._watch.modules.thing(number)
            if isinstance(module, nn.Module):
                yield from module.modules()

    def _event(self, owner: Any, name: str, kind: str) -> UnreadAttribute:
        key = id(owner), name
        if key not in self._seen:
            places: list[Place] = self._assigned[name]
            self._seen[key] = self._watch.add(UnreadAttribute(kind=kind, name=name), places[0])
        return self._seen[key]


def _says_other(flag: object, parameter: Tensor) -> bool:
    return isinstance(flag, bool) and flag != parameter.requires_grad
