"""What the browser tests of the desk share."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Route, expect

Opened = Callable[..., Any]
"""Opens a desk over a class and returns its page; see the fixture `opened`."""


def wait(page: Any, text: str) -> None:
    """Wait until the page says this in its line at the bottom."""
    expect(page.locator("#told")).to_contain_text(text)


class Held:
    """Keeps back what a page asks for, as a slow server does, until it is let go."""

    def __init__(self, page: Any, pattern: str) -> None:
        self._routes: list[Route] = []
        self._is_open = False
        page.route(pattern, self._keep)

    def _keep(self, route: Route) -> None:
        if self._is_open:
            route.continue_()
        else:
            self._routes.append(route)

    def let_go(self) -> None:
        """Answer what was kept back, and from now on everything at once."""
        self._is_open = True
        for route in self._routes:
            route.continue_()

    def fail(self) -> None:
        """Let what was kept back fail, and answer everything from now on."""
        self._is_open = True
        for route in self._routes:
            route.abort()


def answer(page: Any, label: str) -> str:
    """Press a button of the question on the page, and return what was asked."""
    expect(page.locator("#question")).to_be_visible()
    asked = page.inner_text("#asked")
    page.locator("#choices").get_by_role("button", name=label).click()
    return str(asked)


def write(page: Any, score: str, text: str) -> None:
    """Type points and a reason, and write them by keys, as a person does."""
    page.get_by_label("점수 s").fill(score)
    page.get_by_label("까닭이나 코멘트").fill(text)
    page.keyboard.press("Control+Enter")
