"""A large class is not read and written in silence."""

from pathlib import Path

import pytest

from grader.cli.progress_shown import announced, reading_shown
from tests.report import samples


def test_a_large_class_is_announced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    announced(samples.large_class(199))
    assert capsys.readouterr().err == ""
    announced(samples.large_class(200))
    assert capsys.readouterr().err == "200명의 페이지를 쓰고 있어요.\n"
    archive = tmp_path / "class.zip"
    archive.write_bytes(bytes(20 * 2**20))
    with reading_shown(archive) as progress:
        progress("제출물 읽기", 1, 2)
    assert "(20 MB). 사람이 많으면 몇 분 걸려요." in capsys.readouterr().err
