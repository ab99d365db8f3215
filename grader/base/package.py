"""Facts about the package: its version, its folder, and the functions that notebooks import from `grader`."""

from pathlib import Path

VERSION = "0.2.0"
FOLDER = Path(__file__).resolve().parent.parent

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
