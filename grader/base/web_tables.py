"""Read the tables of a web page, or of Excel's XML of 2003, as sheets of rows: what portals save as `.xls`."""

from html.parser import HTMLParser

_ROWS, _CELLS = ("tr", "row"), ("td", "th", "cell")
_TABLES = ("table",)
_UNREAD = ("script", "style", "head", "title", "styles")
_BREAKS = ("br", "p", "div", "li")
_MOST_SPAN = 200
"""Maximum number of columns that one cell takes; a table may claim any number."""


def read_web_tables(text: str) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    """Return the tables by number ("1", "2" …): number and cells of each row.

    A cell that spans columns stands in the first of them, one that spans rows in all of them. Of a table inside a cell
    the rows belong to that table alone.
    """
    page = _Page()
    page.feed(text)
    page.close()
    tables = [_rows(table) for table in page.tables if table]
    return {str(number): rows for number, rows in enumerate(tables, start=1)}


_Cell = tuple[str, int, int, int]
"""Text, columns and rows that it takes, and the column (from 1) it is put into by `ss:Index`; 0 for the next one."""


def _rows(table: list[list[_Cell]]) -> list[tuple[int, tuple[str, ...]]]:
    """Lay out the cells of a table."""
    from_above: dict[int, tuple[str, int]] = {}
    found = []
    for number, cells in enumerate(table, start=1):
        row: dict[int, str] = {at: text for at, (text, _) in from_above.items()}
        from_above = {at: (text, left - 1) for at, (text, left) in from_above.items() if left > 1}
        at = 0
        for text, columns, rows, index in cells:
            at = index - 1 if index else at
            while at in row:
                at += 1
            if at >= _MOST_SPAN:
                break
            row[at] = text
            if rows > 1:
                from_above[at] = text, rows - 1
            at += columns
            row |= dict.fromkeys(range(at - columns + 1, min(at, _MOST_SPAN)), "")
        found.append((number, tuple(row.get(at, "") for at in range(max(row, default=-1) + 1))))
    return found


class _Page(HTMLParser):
    """Collects the cells of all tables, in the order in which the tables begin."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[_Cell]]] = []
        self._open: list[list[list[_Cell]]] = []
        """Tables that are open, the innermost last."""
        self._texts: list[list[str]] = []
        """Pieces of text of each open cell, the innermost last."""
        self._spans: list[tuple[int, int, int]] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _UNREAD:
            self._unread += 1
        elif tag in _TABLES:
            self._open.append([])
            self.tables.append(self._open[-1])
        elif tag in _ROWS and self._open:
            self._end_cells()
            self._open[-1].append([])
        elif tag in _CELLS and self._open:
            self._end_cells()
            if not self._open[-1]:
                self._open[-1].append([])
            given = {name: value or "" for name, value in attributes}
            merged = _number(given.get("ss:mergeacross", ""), 0) + 1
            self._spans.append(
                (
                    _number(given.get("colspan", ""), merged),
                    _number(given.get("rowspan", ""), 1),
                    _number(given.get("ss:index", ""), 0),
                )
            )
            self._texts.append([])
        elif tag in _BREAKS and self._texts:
            self._texts[-1].append(" ")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in _UNREAD:
            self.handle_starttag(tag, attributes)
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNREAD:
            self._unread = max(0, self._unread - 1)
        elif tag in (*_CELLS, *_ROWS):
            self._end_cells()
        elif tag in _TABLES and self._open:
            self._end_cells()
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._texts and not self._unread:
            self._texts[-1].append(data)

    def _end_cells(self) -> None:
        """End the innermost table's open cell, if there is one; a cell's own end is often left out."""
        if len(self._texts) < len(self._open) or not self._texts:
            return
        text = " ".join("".join(self._texts.pop()).split())
        self._open[-1][-1].append((text, *self._spans.pop()))


def _number(text: str, default: int) -> int:
    return min(int(text), _MOST_SPAN) if text.isascii() and text.isdigit() and int(text[:6]) > 0 else default
