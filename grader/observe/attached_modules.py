"""Carry a learner's own modules along with the program that imports them, as a comment in the program's last line.

So a program with its modules stays one text, which is sent, edited and compared like any other. Only an import that
would fail without them finds them: no module of Python, of torch or of the grader can be replaced.

`submission/siblings.py` finds the modules, `submission/source_file.py` attaches them by `with_modules`. Before
`program.py` executes the program, it lets imports find them (`modules_of`, `offer`).
"""

import importlib.abc
import importlib.machinery
import json
import linecache
import sys
import types
from collections.abc import Mapping, Sequence

_MARK = "#: modules "
"""Beginning of the comment; the modules follow as JSON."""


def with_modules(text: str, modules: Mapping[str, str]) -> str:
    """Return a program's text with modules attached in one more line.

    Args:
        text: the program.
        modules: text by name, `helper` or `package.helper`.
    """
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{text}{end}{_MARK}{json.dumps(modules)}\n"


def without_modules(text: str) -> str:
    """Return a program's text as it was before modules were attached."""
    body, json_of_modules = _split_off_modules(text)
    return text if json_of_modules is None else body


def modules_of(text: str) -> dict[str, str]:
    """Return the modules that are attached to a program; empty if there are none."""
    _, json_of_modules = _split_off_modules(text)
    try:
        found = {} if json_of_modules is None else json.loads(json_of_modules)
    except (ValueError, RecursionError):  # a comment of the learner's own
        return {}
    texts = found if isinstance(found, dict) else {}
    return {name: module for name, module in texts.items() if isinstance(module, str)}


def offer(modules: Mapping[str, str], program: str) -> None:
    """Let imports find these modules from now on, instead of those offered before.

    Args:
        modules: text by name; empty: none.
        program: file name of the program in stack frames, `<submission>`; a module's is `<submission/helper>`.
    """
    for finder in [finder for finder in sys.meta_path if isinstance(finder, _Finder)]:
        sys.meta_path.remove(finder)
        for name in finder.loaded:
            sys.modules.pop(name, None)
    if modules:
        sys.meta_path.append(_Finder(modules, program))


def _split_off_modules(text: str) -> tuple[str, str | None]:
    """Return the program without its attached modules, and their JSON; None in its place if none are attached."""
    before, line_end, last = text.rstrip("\n").rpartition("\n")
    if not last.startswith(_MARK):
        return text, None
    return before + line_end, last.removeprefix(_MARK)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads modules that are given as texts; packages need no text of their own."""

    def __init__(self, modules: Mapping[str, str], program: str) -> None:
        self._modules, self._program = dict(modules), program.rstrip(">")
        self.loaded: list[str] = []
        """Names of the modules that were imported so far."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how to load a module; None if it is not attached. Python calls this for an import."""
        is_package = any(other.startswith(f"{name}.") for other in self._modules)
        if name not in self._modules and not is_package:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute a module's text; what it raises fails the import, as in Python."""
        name = module.__name__
        self.loaded.append(name)
        text = self._modules.get(name, "")
        filename = f"{self._program}/{name}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        exec(compile(text, filename, "exec", dont_inherit=True), module.__dict__)
