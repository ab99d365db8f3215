"""Attach to each program the modules of the student's own that it imports and that were handed in along with it.

Example: `hw.ipynb` has `from helper import twice`, and `helper.py` lies beside it. Then `SourceFile.modules` of the
notebook has the text of `helper`, and a note tells the student that it was used.

`submission.py` calls `with_siblings` for all files of a student; `grading/own_file.py` calls `with_neighbours` for one
file that is read alone. `observe/attached_modules.py` carries the modules and lets the program import them. Another
form of import goes into `_imports`, another place where a module may lie into `_StudentFiles._script_of`.
"""

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
    code need; its demos do not run. Only `.py` files count as modules.

    Args:
        files: all readable files of the student.
        root: as in `read_source`.
    """
    scripts = {file.name: file for file in files if file.name.endswith(".py")}
    if not scripts or len(files) == 1:
        return list(files)
    imports = {file.name: list(_imports(file.text)) for file in files}
    last_parts = {_last_part(name) for name in scripts}
    names_taken: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for imported in imports[file.name]:
            if (module := _last_part(imported.module)) in last_parts:
                names_taken[module] |= _names_taken(imported, file.text)
    if not names_taken:  # nobody imports a module of the student's own
        return list(files)
    student = _StudentFiles(scripts, imports, names_taken, root)
    return [student.with_modules(file) for file in files]


def with_neighbours(file: SourceFile) -> SourceFile:
    """Return a learner's own file with the modules that it imports from its folder, though it is read alone.

    Only the files of such modules are read, and no packages.
    """
    found = {file.name: file}
    to_search = [file]
    while to_search and len(found) <= _MAX_MODULES:
        for imported in _imports(to_search.pop().text):
            name = f"{imported.module}.py"
            path = file.path.parent / name
            if name in found or not imported.module.isidentifier() or not path.is_file():
                continue
            try:
                found[name] = read_source(path, name, ())
            except ReadError:
                continue
            to_search.append(found[name])
    return with_siblings(list(found.values()))[0]


def _last_part(path: str) -> str:
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


def _names_taken(imported: _Import, text: str) -> set[str]:
    """Return the names that the program `text` takes from a module: by its import, or as `helper.twice` later."""
    if not imported.known_as:
        return {*imported.names}
    return {*imported.names, *re.findall(rf"\b{re.escape(imported.known_as)}\.(\w+)", text)}


@dataclass(frozen=True)
class _StudentFiles:
    """The files of one student, as far as programs import each other."""

    scripts: Mapping[str, SourceFile]
    """The `.py` files, by name within the student's folder (`SourceFile.name`)."""
    imports: Mapping[str, Sequence[_Import]]
    """What each file imports, by its name; notebooks are among them."""
    names_taken: Mapping[str, set[str]]
    """Names that any program takes from a module, by the last part of the module's name (`_last_part`)."""
    root: Path | None
    """As in `read_source`."""

    def with_modules(self, file: SourceFile) -> SourceFile:
        """Attach the modules that a file imports, directly or through others."""
        folder = file.name.rpartition("/")[0]
        modules: dict[str, str] = {}
        used_scripts: list[str] = []
        to_attach = [imported.module for imported in self.imports[file.name]]
        size = 0
        while to_attach and len(modules) < _MAX_MODULES:
            module = to_attach.pop()
            script = self._script_of(module, folder)
            if script is None or script is file or module in modules:
                continue
            try:
                # These names count as those of exercises do in a script: what they need is kept.
                kept = {*script.defines, *self.names_taken.get(_last_part(module), ())}
                text = read_source(script.path, script.name, kept, self.root).text
            except ReadError:
                continue
            size += len(text)
            if size > MAX_CODE_CHARS:
                break
            modules[module] = text
            used_scripts.append(script.name)
            package = module if script.name.endswith("/__init__.py") else module.rpartition(".")[0]
            to_attach += [_absolute(imported.module, package) for imported in self.imports[script.name]]
        if not modules:
            return file
        note = f"함께 낸 {with_particle(listed(sorted(set(used_scripts))), '을/를')} 불러와서 채점했어요."
        return replace(file, modules=modules, notes=(*file.notes, note))

    def _script_of(self, module: str, folder: str) -> SourceFile | None:
        """Return the file that a module's name means: beside the importing program, or in the student's folder."""
        path = module.replace(".", "/")
        for base in dict.fromkeys((folder, "")):
            for name in (f"{path}.py", f"{path}/__init__.py"):
                if found := self.scripts.get(f"{base}/{name}".lstrip("/")):
                    return found
        return None


def _absolute(module: str, package: str) -> str:
    """Return a module's absolute name, as a module of this package imports it: `src.more` for `.more` in `src`."""
    rest = module.lstrip(".")
    if rest == module:
        return module
    parts = package.split(".")
    above = parts[: len(parts) - (len(module) - len(rest)) + 1]
    return ".".join([*filter(None, above), *filter(None, [rest])])


def _imports(text: str) -> Iterator[_Import]:
    """Yield the modules that a program may import, also inside its functions."""
    for node in ast.walk(ast.Module(list(parse(text)), [])):
        if isinstance(node, ast.Import):
            yield from (_Import(alias.name, known_as=alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = f"{'.' * node.level}{node.module or ''}"
            yield _Import(base, frozenset(alias.name for alias in node.names))
            between = "" if base.endswith(".") or not base else "."
            for alias in node.names:  # `from package import module`
                yield _Import(f"{base}{between}{alias.name}", known_as=alias.asname or alias.name)
