"""Facts about the package: its version, its folders, and the functions that notebooks import from `grader`."""

from pathlib import Path

VERSION = "0.2.0"
FOLDER = Path(__file__).resolve().parent.parent
TEMPORARY_PREFIX = "hanstep-"
"""Beginning of the names of temporary folders. Those that a killed process left behind are known by it
(`classroom/own_temporary_folder.py`). It is here because drivers need it, too, and only this module of `base` enters
the sandbox."""

NOTEBOOK_FUNCTIONS = {
    "check": "notebook.check",
    "clinic": "practice.clinic_cell",
    "drill": "practice.drill_cell",
    "hint": "notebook.check",
    "microscope": "notebook.microscope",
    "predict": "notebook.predictions",
    "progress": "practice.progress_page",
    "reveal": "notebook.predictions",
    "xray": "scripts.with_block",
}
"""Name of each function that `grader` offers to notebooks -> module that holds it. No room of `grader` may have one of
these names, because the room's module would hide the function."""
