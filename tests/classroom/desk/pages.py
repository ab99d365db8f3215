"""What the browser tests of the desk share."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

Opened = Callable[..., Any]
"""Opens a desk over a class and returns its page; see the fixture `opened`."""


def wait(page: Any, text: str) -> None:
    """Wait until the page says this in its line at the bottom."""
    expect(page.locator("#told")).to_contain_text(text)


def write(page: Any, score: str, text: str) -> None:
    """Type points and a reason, and write them by keys, as a person does."""
    page.get_by_label("점수 s").fill(score)
    page.get_by_label("까닭이나 코멘트").fill(text)
    page.keyboard.press("Control+Enter")
