"""Hostile archives: nothing is written outside, nothing fills the disk, and nobody's work is lost in silence."""

import errno
import io
import os
import stat
import zipfile
import zlib
from pathlib import Path

import pytest

from grader.intake.archives import Quota, why_not
from grader.intake.class_archive import MAX_CLASS_BYTES, unpack_class
from grader.intake.handover import IntakeError
from grader.intake.receive import receive
from grader.submission.submission import Submission
from tests.intake import downloads

NAMES = ("train_step",)


def graded(tmp_path: Path, archive: bytes) -> Submission:
    """What is graded of a student whose upload this is, beside a neighbour who must stay as they are."""
    files = {"mal_1_10_hw.zip": archive, "neighbour_2_20_hw.py": downloads.CODE}
    before = sorted(os.listdir(tmp_path))
    found = receive(downloads.write(tmp_path / "class", files), None, NAMES)
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "class"])
    neighbour = next(s for s in found.submissions if s.student == "2_neighbour")
    assert neighbour.files[0].text.strip() == downloads.CODE.strip()
    return next(s for s in found.submissions if s.student == "1_mal")


def said(submission: Submission) -> str:
    return " ".join(u.message for u in submission.unreadable)


@pytest.mark.parametrize(
    "name", ["../../evil.py", "/tmp/hanstep-evil.py", "a/../../../evil.py", "..\\..\\evil.py", "C:\\evil.py"]
)
def test_no_path_leads_outside(name: str, tmp_path: Path) -> None:
    submission = graded(tmp_path, downloads.packed({name: downloads.CODE, "hw.py": downloads.CODE}))
    assert [f.name for f in submission.files] == ["hw/hw.py"]
    assert "폴더 밖으로 나가는 경로" in said(submission)
    assert not Path("/tmp/hanstep-evil.py").exists()


def test_links_in_an_archive_are_not_made(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        link = zipfile.ZipInfo("hw.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    submission = graded(tmp_path, file.getvalue())
    assert not submission.files
    assert "링크라서" in said(submission)


def test_links_in_a_folder_lead_nowhere_outside(tmp_path: Path) -> None:
    secret = tmp_path / "answers.py"
    secret.write_text("def train_step(): return 'secret'")
    folder = downloads.write(tmp_path / "class", {"김_7_assignsubmission_file/hw.py": downloads.CODE})
    (folder / "김_7_assignsubmission_file" / "more.py").symlink_to(secret)
    (folder / "이_8_assignsubmission_file").symlink_to(tmp_path)
    first, second = receive(folder, None, NAMES).submissions
    assert [f.name for f in first.files] == ["hw.py"]
    assert not second.files
    assert "링크" in said(first)
    assert "링크" in said(second)


def test_a_bomb_stops_at_the_limit(tmp_path: Path) -> None:
    """200 MB of zeros in 200 KB, and the size in the archive is a lie anyway."""
    bomb = downloads.packed({"hw.py": b"#" * (200 * 2**20)})
    assert len(bomb) < 2**20
    submission = graded(tmp_path, bomb)
    assert "MB가 넘어서" in said(submission)
    assert "train_step" not in {name for f in submission.files for name in f.defines}


def test_archives_within_archives_end(tmp_path: Path) -> None:
    inner = downloads.packed({"hw.py": downloads.CODE})
    for depth in range(6):
        inner = downloads.packed({f"{depth}.zip": inner})
    assert "겹보다 깊어요" in said(graded(tmp_path, inner))


def test_many_files_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = downloads.packed({f"{number}.txt": "" for number in range(21_000)})
    submission = graded(tmp_path, archive)
    assert "너무 많이" in said(submission)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 broken", b"no archive at all"])
def test_what_is_no_archive_is_unreadable(data: bytes, tmp_path: Path) -> None:
    assert "압축 파일을 열 수 없어요" in said(graded(tmp_path, data))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (zipfile.BadZipFile("File is not a zip file"), "zip이 아니거나 깨진 파일"),
        (zlib.error("Error -3 while decompressing data"), "깨진 내용"),
        (EOFError(), "중간에 끊긴 파일"),
        (NotImplementedError("That compression method is not supported"), "지원하지 않는 압축 방식"),
        (OSError(errno.ENAMETOOLONG, "File name too long"), "너무 긴 이름"),
        (FileExistsError(errno.EEXIST, "File exists"), "같은 이름의 파일이나 폴더가 있음"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory"), "같은 이름의 파일이나 폴더가 있음"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), "없는 파일"),
        (PermissionError(errno.EACCES, "Permission denied"), "읽거나 쓸 권한이 없음"),
        (ValueError("embedded null byte"), "쓸 수 없는 이름이나 값"),
        (OSError(errno.EPIPE, "Broken pipe"), "알 수 없는 오류: EPIPE"),
        (KeyError("x"), "알 수 없는 오류: KeyError"),
    ],
)
def test_why_a_file_cannot_be_read_is_told_in_korean(error: Exception, said: str) -> None:
    assert why_not(error) == said


def test_a_full_disk_is_no_fault_of_the_file() -> None:
    with pytest.raises(OSError, match="No space left"):
        why_not(OSError(errno.ENOSPC, "No space left on device"))


def test_a_broken_part_and_a_password(tmp_path: Path) -> None:
    whole = bytearray(downloads.packed({"hw.py": downloads.CODE * 50}))
    whole[60] ^= 0xFF
    assert "내용이 깨졌어요" in said(graded(tmp_path, bytes(whole)))
    locked = bytearray(downloads.packed({"hw.py": downloads.CODE}))
    for at in (locked.find(b"PK\x03\x04") + 6, locked.find(b"PK\x01\x02") + 8):
        locked[at] |= 1
    (tmp_path / "again").mkdir()
    assert "암호" in said(graded(tmp_path / "again", bytes(locked)))


def test_names_that_a_korean_windows_packed_are_read(tmp_path: Path) -> None:
    archive = downloads.packed({"XXXX.py": downloads.CODE}).replace(b"XXXX", "과제".encode("cp949"))
    assert [f.name for f in graded(tmp_path, archive).files] == ["hw/과제.py"]


def test_two_entries_of_one_name_are_both_kept(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("hw.py", downloads.CODE)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("hw.py", "x = 1\n")
    assert [f.name for f in graded(tmp_path, file.getvalue()).files] == ["hw/hw.py", "hw/hw (2).py"]


def test_a_file_and_a_folder_of_one_name(tmp_path: Path) -> None:
    submission = graded(
        tmp_path, downloads.packed({"a": "x", "a/hw.py": downloads.CODE, "b/hw.py": downloads.CODE})
    )
    assert "hw/b/hw.py" in [f.name for f in submission.files]
    assert "풀 수 없어요" in said(submission)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = downloads.write(tmp_path / "class", {"김_7_assignsubmission_file/hw.py": downloads.CODE})
    os.mkfifo(folder / "김_7_assignsubmission_file" / "pipe.py")
    (submission,) = receive(folder, None, NAMES).submissions
    assert "보통 파일이 아니에요" in said(submission)


def test_a_class_archive_keeps_whom_it_cannot_read(tmp_path: Path) -> None:
    """A student whose file is broken in the download is graded as unreadable, not forgotten."""
    packed = downloads.packed({"kim_1_10_hw.py": downloads.CODE * 50, "lee_2_20_hw.py": downloads.CODE})
    at = packed.index(b"hw.py") + 20
    path = tmp_path / "submissions.zip"
    path.write_bytes(packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :])
    found = receive(path, None, NAMES)
    assert [s.student for s in found.submissions] == ["1_kim", "2_lee"]
    assert "내용이 깨졌어요" in said(found.submissions[0])
    assert any("읽지 못한 것" in line for line in found.notes)


def test_an_archive_without_anything_is_refused(tmp_path: Path) -> None:
    for number, data in enumerate((b"no archive", downloads.packed({}))):
        path = tmp_path / f"{number}.zip"
        path.write_bytes(data)
        with pytest.raises(IntakeError, match="꺼낼 것이 없어요"):
            receive(path, None, NAMES)


def test_a_full_class_budget_stops(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(downloads.packed({f"{n}.py": b"#" * 1000 for n in range(10)}))
    unpack_class(archive, tmp_path / "out", Quota(5_500, 100))
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) == 5_000
    assert MAX_CLASS_BYTES > 2**30
