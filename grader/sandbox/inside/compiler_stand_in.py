"""Keep torch's compiler from being imported, by putting small stand-in modules in its place.

The first optimizer of a process imports the compiler (`torch._dynamo` and `torch._inductor`), which takes a second and
70 MB. But an optimizer only asks it not to compile some functions, and submissions rarely compile anything. So the
stand-ins have the few attributes that such code uses. The real compiler is imported, and replaces all stand-ins, when
code asks a stand-in for another attribute (except names such as `__file__`) or imports another module of the compiler.

The sandbox's server (`server.py _warm`) and the processes that `grading/warm.py` warms up call `install_stand_ins`;
`originals.py` calls `restore`. To add a stand-in of a module that `import torch` does not import, add an entry to
`_STAND_IN_ATTRIBUTES`, and its use to `tests/sandbox/test_compiler_stand_in.py`.
"""

import builtins
import importlib
import os
import sys
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

import torch

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`


class _NoOptimizedModule:
    """Stand in for `OptimizedModule`, of which nothing is an instance as long as nothing is compiled."""


def _leave_unchanged(function: Any = None, *_args: Any, **_kwargs: Any) -> Any:
    """Stand in for the decorator `torch._dynamo.disable`, used with or without arguments: change nothing."""
    return _leave_unchanged if function is None else function


def _do_nothing(*_args: Any, **_kwargs: Any) -> None:
    """Stand in for `torch._dynamo.graph_break`, which matters only to code that is being compiled."""


_STAND_IN_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "torch._dynamo": {"disable": _leave_unchanged, "graph_break": _do_nothing},
    "torch._dynamo.compiled_autograd": {"_disable": nullcontext},  # around `torch.func.grad`
    # accelerate asks whether a model is one
    "torch._dynamo.eval_frame": {"OptimizedModule": _NoOptimizedModule},
    "torch._inductor": {},
    # `torch.use_deterministic_algorithms` sets an attribute of it, which is lost if the real compiler comes
    "torch._inductor.config": {},
}
"""Name of a module that gets a stand-in -> the attributes of the stand-in: those that code uses although it compiles
nothing. List none that torch itself assigns, because `restore` would undo that and blame the submission. A package
comes before its submodules."""

_current_modules: dict[str, tuple[ModuleType, dict[str, Any]]] = {}
"""Name in `_STAND_IN_ATTRIBUTES` -> the module that `sys.modules` must have under it, stand-in or real, and the values
of its attributes listed there. This is what `restore` restores. Modules that are not imported are left out."""


_undone: list[str] = []
"""Full names of what was replaced and is restored already, because the real compiler came; `restore` tells them."""


class StandIn(ModuleType):
    """Stand-in for one module of the compiler. Getting an attribute that it lacks imports the real compiler.

    Names that begin with `__` are the exception.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        package, last_name = _package_entry(name)
        # Where Python finds submodules that importing the real package does not import.
        self.__path__ = [os.path.join(folder, last_name) for folder in package["__path__"]]
        vars(self).update(_STAND_IN_ATTRIBUTES[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python itself looks for such names, for example to copy a module
            raise AttributeError(name)
        return getattr(_import_real(self.__name__), name)


class _RealCompilerFinder:
    """Import finder that imports the real compiler when one of its other modules is imported: `torch._dynamo.utils`."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Import the real compiler if the module belongs to it and there is a stand-in.

        Returns:
            A spec for the module if that import has loaded it. None otherwise; Python then finds it in the usual way.
        """
        package = ".".join(name.split(".")[:2])
        if package in _STAND_IN_ATTRIBUTES and isinstance(sys.modules.get(package), StandIn):
            _import_real(package)
            if name in sys.modules:
                return spec_from_loader(name, _LoadedModuleLoader(sys.modules[name]))  # type: ignore[arg-type]
        return None


class _LoadedModuleLoader:
    """Import loader that returns a module which has been loaded already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        """Return the loaded module."""
        return self._module

    def exec_module(self, _module: ModuleType) -> None:
        """Do nothing: the module has been executed already."""


def install_stand_ins() -> None:
    """Install the stand-ins, unless one of their modules has been imported already; note what `restore` restores."""
    if not any(name in sys.modules for name in _STAND_IN_ATTRIBUTES):
        for name in _STAND_IN_ATTRIBUTES:
            package, last_name = _package_entry(name)
            sys.modules[name] = package[last_name] = StandIn(name)
        sys.meta_path.insert(0, _RealCompilerFinder())
    _note_current_modules()


def restore() -> list[str]:
    """Restore the modules in `_current_modules` and their attributes.

    A real compiler that has replaced the stand-ins stays: `_import_real` noted its modules.

    Returns:
        The full names of the modules and attributes that a submission had replaced, each once; also of those that were
        restored when the real compiler came.
    """
    _undo_replacements()
    replaced = list(dict.fromkeys(_undone))
    _undone.clear()
    return replaced


def _undo_replacements() -> None:
    """Restore the modules in `_current_modules` and their attributes; note in `_undone` what had been replaced."""
    for name, (module, attributes) in _current_modules.items():
        package, last_name = _package_entry(name)
        expected: list[tuple[str, dict[str, Any], str, Any]] = [
            (name, sys.modules, name, module),
            (name, package, last_name, module),
            *((f"{name}.{key}", vars(module), key, value) for key, value in attributes.items()),
        ]
        for full_name, holder, key, value in expected:
            if holder.get(key) is not value:
                holder[key] = value
                _undone.append(full_name)


def _package_entry(name: str) -> tuple[dict[str, Any], str]:
    """Return where a module stands in its package: the attributes of the package, and the name among them."""
    package, _, last_name = name.rpartition(".")
    return vars(sys.modules[package]), last_name


def _note_current_modules() -> None:
    """Note the modules that are imported now, and their attributes, in `_current_modules`."""
    _current_modules.clear()
    for name, attributes in _STAND_IN_ATTRIBUTES.items():
        if name in sys.modules:
            module = sys.modules[name]
            # Another version of torch may lack an attribute.
            _current_modules[name] = (
                module,
                {key: vars(module)[key] for key in attributes if key in vars(module)},
            )


def _import_real(name: str) -> ModuleType:
    """Remove all stand-ins, import the real module `name` of the compiler, and return it.

    What a submission has replaced is undone before that, so that it is not noted as what `restore` restores. If the
    import raises an exception, the stand-ins are put back before it is raised on.
    """
    _undo_replacements()
    if not any(isinstance(sys.modules.get(known), StandIn) for known in _STAND_IN_ATTRIBUTES):
        return importlib.import_module(name)  # an old stand-in was asked that a submission has kept
    for known in _STAND_IN_ATTRIBUTES:
        if isinstance(sys.modules.get(known), StandIn):
            del sys.modules[known]
    for attribute in [key for key, value in vars(torch).items() if isinstance(value, StandIn)]:
        delattr(torch, attribute)
    attributes_before = dict(vars(torch))  # without stand-ins, which the loop below would put back
    try:
        module = importlib.import_module(name)
    except BaseException:
        told = list(_undone)
        _undo_replacements()
        _undone[:] = told  # the stand-ins that were taken away here were replaced by nobody
        raise
    finally:
        # The import wraps functions of torch, such as `manual_seed`: to `originals`, a change by the submission.
        for attribute, value in attributes_before.items():
            if vars(torch)[attribute] is not value:
                setattr(torch, attribute, value)
    _note_current_modules()
    return module
