"""README's picture shows what a learner sees: its page is made of the card that `check` makes."""

from tests import readme_picture


def test_the_picture_is_drawn_from_the_live_card() -> None:
    """It showed other points, other words, and everything unfolded."""
    drawn = readme_picture.page()
    assert "def train_step(" in drawn
    assert "를 부르지 않았어요" in drawn
    assert "<details" in drawn
    assert "<details open" not in drawn
