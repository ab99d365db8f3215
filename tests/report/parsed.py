"""HTML taken apart, for the tests of cards and pages."""

from html.parser import HTMLParser

from grader.report.plain_text import JOINER


class Parsed(HTMLParser):
    """Tags, attributes, style declarations and visible text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.declarations: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        """In one line, without what only keeps a line from breaking."""
        return " ".join("".join(self.words).replace(JOINER, "").split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("br", "meta", "input", "col", "wbr"):
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "style":
                for declaration in (value or "").split(";"):
                    if declaration.strip():
                        key, _, of = declaration.partition(":")
                        self.declarations.append((key.strip(), of.strip()))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a beginning"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
