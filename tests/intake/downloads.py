"""Downloads as the systems write them, for the tests of `grader.intake`: names as in their own sources."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

CODE = "def train_step(model, opt, loss_fn, xb, yb):\n    return 0.0\n"
OLD = "def train_step(model, opt, loss_fn, xb, yb):\n    return 'the first attempt'\n"


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def packed(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


CANVAS: Mapping[str, str | bytes] = {
    "김하늘_10001_90001_hw1.py": CODE,
    "이서준_LATE_10002_90002_hw1.py": OLD,
    "이서준_LATE_10002_90007_hw1-1.py": CODE,
    "kimhaneul_10003_90003_homework.zip": packed(
        {"homework/hw1.py": CODE, "homework/more.zip": packed({"a.py": ""})}
    ),
    "박지우_10004_90004_part-1.py": CODE,
    "박지우_10004_90005_part-2.py": "def sgd_update(): ...\n",
    "최수아_10005_90006_essay.pdf": b"%PDF",
}
MOODLE: Mapping[str, str | bytes] = {
    "김하늘_20001_assignsubmission_file/hw1.py": CODE,
    "이 서준_20002_assignsubmission_file_/deep/hw1.py": CODE,
    "이 서준_20002_assignsubmission_onlinetext/onlinetext.html": "<p>",
    "박지우_20003_assignsubmission_file_hw1.py": CODE,
}
GOOGLE: Mapping[str, str | bytes] = {
    "김하늘 - hw1.py": OLD,
    "김하늘 - hw1 (1).py": CODE,
    "이서준 - 01_five_line_step.py": CODE,
    "Ha-neul Kim - hw1.py": CODE,
}
GITHUB: Mapping[str, str | bytes] = {
    "hw-1-submissions/hw-1-haneul/.git/HEAD": "ref",
    "hw-1-submissions/hw-1-haneul/hw1.py": CODE,
    "hw-1-submissions/hw-1-seo-jun/.git/HEAD": "ref",
    "hw-1-submissions/hw-1-seo-jun/hw1.py": CODE,
}
GRADESCOPE: Mapping[str, str | bytes] = {
    "assignment_42_export/submission_metadata.yml": """---
submission_1:
  :submitters:
  - :name: 김하늘
    :sid: '20240001'
    :email: haneul@example.com
  :created_at: 2026-03-21 08:30:00.123456789 Z
  :score: 3.0
  :results: !ruby/object:Gradescope::Results
    :tests: []
submission_2:
  :submitters:
  - :name: 이서준
    :sid: '20240002'
    :email: seojun@example.com
  - :name: 박지우
    :sid: '20240003'
    :email: jiwoo@example.com
""",
    "assignment_42_export/submission_1/hw1.py": CODE,
    "assignment_42_export/submission_2/hw1.py": CODE,
}
ROSTER = """학번,이름,분반,github
20240001,김하늘,A,haneul
20240002,이서준,A,seo-jun
20240003,박지우,B,
20240004,정도윤,B,
"""
