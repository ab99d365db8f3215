"""A plain class folder as people keep it: folders, files and archives side by side."""

import zipfile
from pathlib import Path

from grader.intake.receive import receive

PROGRAM = "def train_step(model, opt, loss_fn, xb, yb):\n    return 0.0\n"


def test_archives_in_a_plain_class_are_opened_or_told(tmp_path: Path) -> None:
    """Beside folders and files; one that is no zip is nobody's work lost in silence."""
    folder = tmp_path / "class"
    (folder / "나정직").mkdir(parents=True)
    (folder / "김하나.py").write_text(PROGRAM, encoding="utf-8")
    for path in (folder / "다정직.zip", folder / "나정직" / "과제.zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("hw/answer.py", PROGRAM)
    (folder / "깨짐.zip").write_bytes(b"PK\x03\x04 no archive")
    (folder / "라정직.tar.gz").write_bytes(b"\x1f\x8b")
    received = receive(folder, None, ("train_step",))
    files = {s.student: [file.name for file in s.files] for s in received.submissions}
    assert files == {
        "김하나": ["김하나.py"],
        "깨짐": [],
        "나정직": ["과제/hw/answer.py"],
        "다정직": ["다정직/hw/answer.py"],
    }
    (broken,) = (s for s in received.submissions if s.student == "깨짐")
    assert [problem.name for problem in broken.unreadable] == ["깨짐.zip"]
    assert "라정직.tar.gz" in received.notes[0]
