"""Turn a card's HTML into a tree of plain data, which the desk's script builds node by node.

The desk sets no HTML anywhere: the browser refuses it (Trusted Types), and inline styles too. Tags and attributes that
cards do not use are left out here, so a hole in a template could carry no more than text.
"""

from html.parser import HTMLParser
from typing import Any

TAGS = frozenset(
    {
        "div",
        "span",
        "p",
        "b",
        "strong",
        "code",
        "pre",
        "details",
        "summary",
        "ul",
        "ol",
        "li",
        "br",
        "wbr",
        "h3",
        "h4",
    }
)
"""Tags that may be built."""
_VOID = frozenset({"br", "wbr"})
_SKIPPED = frozenset({"script", "style", "template", "iframe", "object", "svg", "math"})
"""Tags whose content is left out too."""


def card_tree(html: str) -> list[Any]:
    """Return the children: a string for text, [tag, style, children] for an element."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return parser.root


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root: list[Any] = []
        self._open: list[tuple[str, list[Any]]] = [("", self.root)]
        self._skipping = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self._skipping += 1
        if self._skipping or tag not in TAGS:
            return
        children: list[Any] = []
        style = next((value or "" for name, value in attributes if name == "style"), "")
        self._open[-1][1].append([tag, style, children])
        if tag not in _VOID:
            self._open.append((tag, children))

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipping = max(0, self._skipping - 1)
        elif not self._skipping and any(name == tag for name, _ in self._open[1:]):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._skipping:
            return
        is_layout = not data.strip() and "\n" in data and not any(name == "pre" for name, _ in self._open)
        if not is_layout:
            self._open[-1][1].append(data)
