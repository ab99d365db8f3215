"""Zip the students' pages under the names by which Canvas and Moodle find whose feedback a file is.

Moodle (`assign/feedback/file/importziplib.php`) splits a name at underscores: full name, the participant's number, type
and name of the plugin, file name. Canvas (`generate_comments_from_files`) takes the first two numbers between
underscores for the user's and the handed-in file's id; the file must be one that the user handed in, so the names of
the download are needed.
"""

import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.base.file_names import file_names
from grader.course.feedback import ClassResult
from grader.gradebook.export.rows import ExportError
from grader.intake.canvas import handed_in_files

_WHEN = (2020, 1, 1, 0, 0, 0)
"""Time of the files in the archive: the same pages give the same bytes."""
_NOT_IN_NAMES = str.maketrans(dict.fromkeys('_/\\:*?"<>|\n\r\t', " "))


@dataclass(frozen=True)
class FeedbackZip:
    """An archive and whom it leaves out."""

    data: bytes
    pages: int
    left_out: tuple[str, ...]
    """Students whom the learning system could not find by number, or who share a number with others."""


def moodle_feedback(report: Path, result: ClassResult) -> FeedbackZip:
    """Return the archive for "Upload multiple feedback files in a zip".

    Args:
        report: the report's folder.
        result: the class.

    Raises:
        ExportError: no student has a number of Moodle's.
        OSError: a page is missing.
    """
    numbers = {s.student: s.person.moodle_id for s in result.submissions if s.person and s.person.moodle_id}
    if not numbers:
        raise ExportError(
            "Moodle의 참가자 번호가 있는 학생이 없어요. Moodle에서 받은 제출물을 채점하거나, "
            "참가자 번호가 있는 채점표를 --roster로 주고 다시 채점해 주세요."
        )
    names = {
        student: f"{_plain_name(student)}_{number}_assignfeedback_file_feedback.html"
        for student, number in numbers.items()
        if number.isdigit()
    }
    return _zipped(report, result, names, numbers)


def canvas_feedback(report: Path, result: ClassResult, download: Path) -> FeedbackZip:
    """Return the archive for "Upload submissions" in the gradebook.

    Args:
        report: the report's folder.
        result: the class.
        download: what Canvas' "Download submissions" gave, packed or unpacked.

    Raises:
        ExportError: the download is none of Canvas', or holds nobody of the class.
        OSError: a page is missing.
    """
    files = handed_in_files(_names_in(download))
    if not files:
        raise ExportError(
            f"Canvas의 「제출물 다운로드」로 받은 것이 아니에요: {download}. "
            "채점한 제출물의 zip이나 폴더를 --template으로 주세요."
        )
    numbers = {s.student: s.person.canvas_id for s in result.submissions if s.person and s.person.canvas_id}
    names = {
        student: f"{_plain_name(student, digits=False)}_{number}_{files[number]}_feedback.html"
        for student, number in numbers.items()
        if number in files
    }
    if not names:
        raise ExportError(
            f"{download}에서 이 반의 학생을 찾지 못했어요. "
            "Canvas의 번호가 있는 명단을 --roster로 주고 다시 채점하거나, 채점한 "
            "제출물을 --template으로 주세요."
        )
    return _zipped(report, result, names, numbers)


def _zipped(
    report: Path, result: ClassResult, names: Mapping[str, str], numbers: Mapping[str, str]
) -> FeedbackZip:
    """Zip the pages. A number that several students have is a group's: whose page all of them read is not guessed."""
    shared = {number for number, times in Counter(numbers.values()).items() if times > 1}
    pages = file_names([submission.student for submission in result.submissions])
    packed = io.BytesIO()
    left_out = []
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for submission, page in zip(result.submissions, pages, strict=True):
            name = names.get(submission.student)
            if name is None or numbers[submission.student] in shared:
                left_out.append(submission.student)
                continue
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (report / "feedback" / f"{page}.html").read_bytes())
    return FeedbackZip(packed.getvalue(), len(result.submissions) - len(left_out), tuple(left_out))


def _names_in(download: Path) -> Iterable[str]:
    try:
        if download.is_dir():
            return [path.name for path in download.rglob("*") if path.is_file()]
        with zipfile.ZipFile(download) as archive:
            return [Path(name).name for name in archive.namelist() if not name.endswith("/")]
    except (OSError, zipfile.BadZipFile) as error:
        raise ExportError(f"열 수 없는 파일이에요: {download}. 경로와 파일을 확인해 주세요.") from error


def _plain_name(student: str, *, digits: bool = True) -> str:
    """Return the student's name without what separates the parts of a file name; never hidden, never empty.

    Args:
        student: name in the results.
        digits: False to leave no part that is a number, which Canvas would take for an id.
    """
    plain = " ".join(student.translate(_NOT_IN_NAMES).split()).lstrip(".~ ") or "student"
    return plain if digits or not plain.isdigit() else f"student {plain}"
