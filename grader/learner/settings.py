"""Read and write the settings of a learner, and those that an instructor puts into a folder of notebooks.

Both are a file `hanstep.toml`: the learner's lies beside the progress, the other one in the folder. The learner's own
choice comes first, then the folder's, then the default. A file that cannot be read counts as empty: no setting may stop
a check.
"""

import tomllib
from pathlib import Path
from typing import Literal, get_args

from grader.base.errors import HanstepError
from grader.base.files import write_whole
from grader.course.feedback import Feedback, Repair
from grader.paths import user_folder
from grader.report.hold_back import without_repair

FILE = "hanstep.toml"
REPAIR: tuple[Repair, ...] = get_args(Repair)
"""Values of the setting `repair`; the first one is the default."""
Source = Literal["mine", "folder", "default"]
"""Who chose a value."""
_MOST_PARENTS = 3
"""Number of folders above the notebook's in which a folder's file is looked for, too."""


class SettingError(HanstepError):
    """A setting or its value does not exist."""


def repair_setting(folder: Path) -> tuple[Repair, Source]:
    """Return when the repair of a named mistake is told to whoever works in this folder, and who chose it."""
    if (mine := _read(user_folder() / FILE)) is not None:
        return mine, "mine"
    here = folder.absolute()
    for place in (here, *here.parents[:_MOST_PARENTS]):
        if (chosen := _read(place / FILE)) is not None:
            return chosen, "folder"
    return REPAIR[0], "default"


def as_chosen(feedback: Feedback, folder: Path) -> Feedback:
    """Return the feedback as it is told to whoever works in this folder: with the repair, or with it held back."""
    return feedback if repair_setting(folder)[0] == "at-once" else without_repair(feedback)


def choose_repair(value: str, folder: Path | None = None) -> Path:
    """Write the setting and return its file.

    Args:
        value: one of `REPAIR`, or `default` to choose nothing.
        folder: a folder of notebooks; None: the learner's own setting.

    Raises:
        SettingError: there is no such value, or no such folder.
        OSError: the file cannot be written.
    """
    if value not in (*REPAIR, "default"):
        raise SettingError(
            f"repair에는 {', '.join(REPAIR)}, default 가운데 하나를 주세요. 받은 값: '{value}'"
        )
    if folder is not None and not folder.is_dir():
        raise SettingError(f"폴더가 없어요: {folder}. 노트북이 있는 폴더를 주세요: --folder hanstep")
    path = (user_folder() if folder is None else folder) / FILE
    if value == "default":
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, f'repair = "{value}"\n')
    return path


def _read(path: Path) -> Repair | None:
    """Return the value in a file; None if there is none that is known."""
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8")).get("repair")
    except (OSError, ValueError, RecursionError):
        return None
    return next((known for known in REPAIR if known == value), None)
