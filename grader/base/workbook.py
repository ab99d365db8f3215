"""Read the sheets of an Excel workbook as rows of text, as a CSV file of the same table would hold them."""

import io
from datetime import date, datetime, time
from typing import Any

from grader.base.decoding import ReadError, decode
from grader.base.web_tables import read_web_tables

_MOST_COLUMNS = 200
_MOST_ROWS = 200_001
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
"""First bytes of `.xls` files, and of workbooks that are locked by a password."""


class WorkbookError(ValueError):
    """A workbook cannot be read; the message is Korean and ends with the remedy."""


def is_workbook(data: bytes) -> bool:
    """Return True if these are the bytes of something that Excel opens and that is not text."""
    return data.startswith((b"PK\x03\x04", _OLD_EXCEL)) or _is_web_page(data)


def read_sheets(data: bytes) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    """Return the visible sheets by name: number and cells of each row.

    Raises:
        WorkbookError: it is no workbook of Excel 2007 or later, or it is damaged.
    """
    if data.startswith(_OLD_EXCEL):
        raise WorkbookError(
            "옛 Excel 형식(.xls)이거나 암호가 걸려 있어요. Excel에서 암호 없이 '.xlsx'나 'CSV UTF-8'로 다시 "
            "저장해 주세요."
        )
    if _is_web_page(data):
        return _tables_of_page(data)
    from openpyxl import load_workbook

    try:
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets = {}
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                continue
            sheet.reset_dimensions()  # some programs write a wrong size, and rows would be lost
            rows = sheet.iter_rows(max_row=_MOST_ROWS, max_col=_MOST_COLUMNS)
            sheets[sheet.title] = [
                (number, tuple(_text(cell.value, cell.number_format) for cell in row))
                for number, row in enumerate(rows, start=1)
            ]
    except Exception as error:  # whatever a damaged part of the file leads openpyxl to
        raise WorkbookError(
            f"Excel 파일이 깨져서 열 수 없어요({type(error).__name__}). 다시 내려받거나, Excel에서 'CSV UTF-8'로 "
            "저장해 주세요."
        ) from error
    return sheets


def _tables_of_page(data: bytes) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    """Return the tables of a web page that was saved as `.xls`, as portals do.

    Raises:
        WorkbookError: it cannot be decoded, or it holds no table.
    """
    try:
        tables = read_web_tables(decode(data))
    except ReadError as error:
        raise WorkbookError(str(error)) from error
    if not tables:
        raise WorkbookError(
            "표가 없는 웹 페이지(HTML)예요. 로그인이 풀린 채로 내려받았을 수 있으니, 다시 내려받아 'CSV UTF-8'로 "
            "저장해 주세요."
        )
    return tables


def _is_web_page(data: bytes) -> bool:
    begin = data[:1000]
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16
        begin = begin[2:].replace(b"\0", b"")
    begin = begin.lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    return begin.startswith((b"<html", b"<!doctype html", b"<table", b"<meta", b"<?xml", b"<style"))


def _text(value: Any, number_format: str | None) -> str:
    """Return a cell as people see it: whole numbers without `.0`, zeros in front if the cell's format asks for them."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        text = str(int(value)) if float(value).is_integer() else repr(value)
        zeros = number_format or ""
        return text.zfill(len(zeros)) if zeros and set(zeros) == {"0"} else text
    if isinstance(
        value, datetime
    ):  # a cell that shows the day alone holds midnight, which nobody has written
        shows_time = "h" in (number_format or "h").casefold()
        return value.isoformat(" ") if shows_time else value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value).strip()
