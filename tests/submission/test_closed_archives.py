"""An archive that is not opened is said to be one: it was 「제출물에 이 함수가 없어요」."""

import io
import zipfile
from pathlib import Path

import pytest

from grader.cli.main import run
from grader.submission.submission import read_submission
from tests.submission.samples import EXERCISES

KINDS = {
    "hw.tar.gz": "tar 압축 파일이에요",
    "HW.TGZ": "tar 압축 파일이에요",
    "hw.7z": "7-Zip 압축 파일이에요",
    "a/hw.rar": "RAR 압축 파일이에요",
    "hw.alz": "알집 압축 파일이에요",
    "hw.ipynb.gz": "gzip 압축 파일이에요",
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("alone", [False, True])
def test_it_is_said_what_it_is_and_what_to_do(name: str, alone: bool, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"x")
    found = read_submission(file if alone else tmp_path, EXERCISES)
    message = found.unreadable_message()
    assert Path(name).name in message
    assert KINDS[name] in message
    assert "zip으로 묶어 다시 내 주세요" in message


def test_beside_an_answer_it_is_a_note(tmp_path: Path) -> None:
    """It may hold data; an exercise that is not in the files is still missing."""
    (tmp_path / "data.tar.gz").write_bytes(b"x")
    (tmp_path / "hw.py").write_text("def train_step(): ...\n", encoding="utf-8")
    found = read_submission(tmp_path, EXERCISES)
    assert found.unreadable == ()
    (note,) = found.notes
    assert "data.tar.gz" in note
    assert "이대로는 열 수 없어요" in note


@pytest.mark.parametrize("packed", [False, True])
def test_a_download_of_moodle_says_so(
    packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "김하늘_1234_assignsubmission_file_/hw.7z": "x",
        "이서준_1235_assignsubmission_file_/hw.py": "import torch\n",
    }
    if packed:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        given = tmp_path / "class.zip"
        given.write_bytes(data.getvalue())
    else:
        given = tmp_path / "class"
        for name, text in files.items():
            (given / name).parent.mkdir(parents=True)
            (given / name).write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    run(["grade", str(given), "--out", str(out), "--lesson", "01", "--sandbox", "none"])
    capsys.readouterr()
    (page,) = (path for path in (out / "feedback").iterdir() if "1234" in path.name)
    assert "hw.7z: 7-Zip 압축 파일이에요" in page.read_text(encoding="utf-8")
    assert "이 함수가 없어요" not in page.read_text(encoding="utf-8")
