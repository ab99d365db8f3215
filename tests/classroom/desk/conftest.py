"""A browser, and desks opened in it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.course.feedback import ClassResult
from tests.browser import running_browser
from tests.classroom.desk.pages import Opened
from tests.classroom.desk.running import PROGRAM, desk_over, running_desk, write_class


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as running:
        yield running


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Opens a desk over a class; what the console says of it is in `page.told`, its folder in `page.report`."""
    ends: list[Callable[[], object]] = []

    def open_desk(
        result: ClassResult,
        *,
        width: int = 1280,
        scheme: str = "light",
        anonymous: bool = False,
        program: str = PROGRAM,
    ) -> Any:
        report = tmp_path / "report"
        write_class(report, result, tmp_path / "work", program)
        served = running_desk(desk_over(report, anonymous=anonymous), report)
        running = served.__enter__()
        ends.append(lambda: served.__exit__(None, None, None))
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        ends.append(context.close)
        page = context.new_page()
        page.told, page.report, page.address = [], report, running.address
        page.on("console", lambda message: page.told.append(message.text))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        page.goto(running.address)
        page.wait_for_selector("#programs article")
        return page

    yield open_desk
    for end in reversed(ends):
        end()
