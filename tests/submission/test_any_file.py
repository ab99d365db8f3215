"""Whatever bytes a student hands in, they become a program or a message."""

import ast
import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.submission.submission import read_submission
from tests.submission.samples import EXERCISES
from tests.submission.sources import FRAGMENTS, SOURCE

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | FRAGMENTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["cells", "cell_type", "source", "metadata", "tags", "worksheets"]), inner
        )
    ),
    max_leaves=10,
)
CELL = st.fixed_dictionaries(
    {
        "cell_type": st.sampled_from(["code", "code", "code", "markdown", "raw"]),
        "source": FRAGMENTS | FRAGMENTS.map(lambda text: text.splitlines(keepends=True)) | JSON,
        "metadata": st.just({"tags": ["exercise:train_step"]}) | JSON,
    }
)
NOTEBOOK = st.fixed_dictionaries({"cells": st.lists(CELL, max_size=4)}) | JSON


@given(
    (SOURCE | FRAGMENTS | st.text()).map(lambda t: t.encode("utf-8", "surrogatepass"))
    | st.binary()
    | NOTEBOOK.map(lambda n: json.dumps(n).encode()),
    st.sampled_from([".py", ".ipynb"]),
)
@settings(deadline=None)
@example(b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', ".ipynb")
def test_any_file_becomes_a_program_or_a_message(tmp_path_factory, content, suffix):
    """No bytes raise; what comes out parses, can be written, and every line of it has a place."""
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(content)
    submission = read_submission(path, EXERCISES)
    assert len(submission.files) + len(submission.unreadable) == 1
    for file in submission.files:
        body = ast.parse(file.text).body
        assert file.text.count("\n") == len(file.places)
        assert file.text.encode().decode() == file.text
        assert not body or set(file.defines.values()) <= set(range(1, body[-1].end_lineno + 1))
        assert all(1 <= problem.line <= len(file.places) for problem in file.problems)
