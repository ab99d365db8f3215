"""Files are written whole or not at all."""

from pathlib import Path

import pytest

from grader.files import write_whole


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """A full disk or a kill in the middle must not cost the results that were there."""
    path = tmp_path / "results.json"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "new \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_whole(path, "new")
    assert path.read_text() == "new"
