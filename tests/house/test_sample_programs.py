"""Sample programs that are written as edits."""

import pytest

from tests.sample_programs import KINDS, edited, samples

BASE = "# mistakes: one\n# lines: 4\ndef f(x):\n    # twice: x\n    return x + x\n"


def test_an_edited_program_has_first_lines_of_its_own() -> None:
    text = edited(BASE, [["x + x", "2 * x"], ["2 *", "3 *"]], {"expect": "a+b"})
    assert text == "# expect: a+b\ndef f(x):\n    # twice: x\n    return 3 * x\n"


@pytest.mark.parametrize(("find", "times"), [("y", 0), ("return x + y", 0), ("x", 4)])
def test_an_edit_whose_text_does_not_stand_once_is_refused(find: str, times: int) -> None:
    with pytest.raises(ValueError, match=f"stands {times} times, not once"):
        edited(BASE, [[find, ""]], {})


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_programs_of_an_exercise_are_the_same(kind: str) -> None:
    """A second copy would count twice in what is measured of them."""
    seen: dict[tuple[str, str], str] = {}
    for sample in samples(kind):
        body = edited(sample.text, [], {})
        assert (sample.exercise, body) not in seen, (sample, seen[sample.exercise, body])
        seen[sample.exercise, body] = str(sample)
