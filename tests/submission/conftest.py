"""A single file as a whole submission."""

import pytest

from grader.submission.submission import read_submission
from tests.submission.samples import EXERCISES, notebook, read


@pytest.fixture
def py(tmp_path):
    return lambda content: read(tmp_path / "hw.py", content)


@pytest.fixture
def ipynb(tmp_path):
    return lambda *cells: read(tmp_path / "hw.ipynb", notebook(*cells))


@pytest.fixture
def refused(tmp_path):
    """Message of a file that cannot be read."""

    def message(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        submission = read_submission(path, EXERCISES)
        assert submission.files == ()
        (unreadable,) = submission.unreadable
        assert unreadable.name == name
        return unreadable.message

    return message
