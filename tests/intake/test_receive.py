"""A plain class folder as people keep it: folders, files and archives side by side."""

import zipfile
from pathlib import Path

from grader.intake.receive import receive

PROGRAM = "def train_step(model, opt, loss_fn, xb, yb):\n    return 0.0\n"


def test_archives_in_a_plain_class_are_opened_or_told(tmp_path: Path) -> None:
    """Beside folders and files; one that is not opened is nobody's work lost in silence."""
    folder = tmp_path / "class"
    (folder / "나정직").mkdir(parents=True)
    (folder / "김하나.py").write_text(PROGRAM, encoding="utf-8")
    for path in (folder / "다정직.zip", folder / "나정직" / "과제.zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("hw/answer.py", PROGRAM)
    (folder / "깨짐.zip").write_bytes(b"PK\x03\x04 no archive")
    (folder / "라정직.7z").write_bytes(b"7z")
    received = receive(folder, None, ("train_step",))
    files = {s.student: [file.name for file in s.files] for s in received.submissions}
    assert files == {
        "김하나": ["김하나.py"],
        "깨짐": [],
        "나정직": ["과제/hw/answer.py"],
        "다정직": ["다정직/hw/answer.py"],
        "라정직": [],
    }
    unread = {
        s.student: [problem.name for problem in s.unreadable] for s in received.submissions if s.unreadable
    }
    assert unread == {"깨짐": ["깨짐.zip"], "라정직": ["라정직.7z"]}
