"""What a notebook's run leaves in its outputs: no path of the machine."""

from grader.authoring.execute import _neutral


def test_a_cells_file_is_named_without_its_place() -> None:
    assert (
        _neutral("/tmp/ipykernel_12/345.py:3: UserWarning (/a/b/ipykernel_1/2.py)")
        == "<셀>:3: UserWarning (<셀>)"
    )
