"""Attach to each program the modules of the student's own that it imports and that were handed in along with it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base.decoding import ReadError
from grader.base.names import listed
from grader.observe.wording import with_particle
from grader.submission.cells import MAX_CODE_CHARS
from grader.submission.source_file import SourceFile, read_source
from grader.submission.syntax import parse

_MAX_MODULES = 20
"""Maximum number of modules attached to one program."""


def with_siblings(files: Sequence[SourceFile], root: Path | None = None) -> list[SourceFile]:
    """Return a student's files, each with the modules that it imports.

    Of a module the same is kept as of a script that is graded: imports, definitions, and what these and the importing
    code need; its demos do not run.

    Args:
        files: all readable files of the student.
        root: as in `read_source`.
    """
    scripts = {file.name: file for file in files if file.name.endswith(".py")}
    imports = {file.name: list(_imports(file.text)) for file in files} if scripts and len(files) > 1 else {}
    stems = {_stem(name) for name in scripts}
    if not any(_stem(one.module) in stems for own in imports.values() for one in own):
        return list(files)
    wanted: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for one in imports[file.name]:
            if (stem := _stem(one.module)) in stems:
                read = re.findall(rf"\b{re.escape(one.known_as)}\.(\w+)", file.text) if one.known_as else ()
                wanted[stem] |= {*one.names, *read}
    student = _Student(scripts, imports, wanted, root)
    return [student.with_modules(file) for file in files]


def with_neighbours(file: SourceFile) -> SourceFile:
    """Return a learner's own file with the modules that it imports from its folder, though it is read alone."""
    found = {file.name: file}
    waiting = [file]
    while waiting and len(found) <= _MAX_MODULES:
        for one in _imports(waiting.pop().text):
            name = f"{one.module}.py"
            path = file.path.parent / name
            if name in found or not one.module.isidentifier() or not path.is_file():
                continue
            try:
                found[name] = read_source(path, name, ())
            except ReadError:
                continue
            waiting.append(found[name])
    return with_siblings(list(found.values()))[0]


def _stem(path: str) -> str:
    """Return the last part of a module's name or of a script's path; of a package, its folder's."""
    return re.split("[./]", path.removesuffix(".py").removesuffix("/__init__"))[-1]


@dataclass(frozen=True)
class _Import:
    """A module that a program imports, or may import."""

    module: str
    """Absolute name, or relative with dots in front."""
    names: frozenset[str] = frozenset()
    """Names that are taken from it."""
    known_as: str = ""
    """Name by which the program uses it; empty if it takes names only."""


@dataclass(frozen=True)
class _Student:
    """The files of one student, as far as programs import each other."""

    scripts: Mapping[str, SourceFile]
    """By name within the student's folder."""
    imports: Mapping[str, Sequence[_Import]]
    """By the file's name."""
    wanted: Mapping[str, set[str]]
    """Names that any program takes from a module, by the module's last part."""
    root: Path | None

    def with_modules(self, file: SourceFile) -> SourceFile:
        """Attach the modules that a file imports, directly or through others."""
        folder = file.name.rpartition("/")[0]
        modules: dict[str, str] = {}
        names: list[str] = []
        waiting = [one.module for one in self.imports[file.name]]
        size = 0
        while waiting and len(modules) < _MAX_MODULES:
            module = waiting.pop()
            script = self._script(module, folder)
            if script is None or script is file or module in modules:
                continue
            try:
                # These names count as those of exercises do in a script: what they need is kept.
                kept = {*script.defines, *self.wanted.get(_stem(module), ())}
                text = read_source(script.path, script.name, kept, self.root).text
            except ReadError:
                continue
            size += len(text)
            if size > MAX_CODE_CHARS:
                break
            modules[module] = text
            names.append(script.name)
            package = module if script.name.endswith("/__init__.py") else module.rpartition(".")[0]
            waiting += [_absolute(one.module, package) for one in self.imports[script.name]]
        if not modules:
            return file
        note = f"함께 낸 {with_particle(listed(sorted(set(names))), '을/를')} 불러와서 채점했어요."
        return replace(file, modules=modules, notes=(*file.notes, note))

    def _script(self, module: str, folder: str) -> SourceFile | None:
        """Return the file that a module's name means: beside the importing program, or in the student's folder."""
        path = module.replace(".", "/")
        for base in dict.fromkeys((folder, "")):
            for name in (f"{path}.py", f"{path}/__init__.py"):
                if found := self.scripts.get(f"{base}/{name}".lstrip("/")):
                    return found
        return None


def _absolute(module: str, package: str) -> str:
    """Return a module's absolute name, for a program in this package."""
    rest = module.lstrip(".")
    if rest == module:
        return module
    parts = package.split(".")
    above = parts[: len(parts) - (len(module) - len(rest)) + 1]
    return ".".join([*filter(None, above), *filter(None, [rest])])


def _imports(text: str) -> Iterator[_Import]:
    """Yield the modules that a program may import."""
    for node in ast.walk(ast.Module(list(parse(text)), [])):
        if isinstance(node, ast.Import):
            yield from (_Import(alias.name, known_as=alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = f"{'.' * node.level}{node.module or ''}"
            yield _Import(base, frozenset(alias.name for alias in node.names))
            between = "" if base.endswith(".") or not base else "."
            for alias in node.names:  # `from package import module`
                yield _Import(f"{base}{between}{alias.name}", known_as=alias.asname or alias.name)
