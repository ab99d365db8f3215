"""Let long lines of code wrap with an indent, so that no code on a page is cut off.

A style sheet can indent the wrapped part only if each line is an element of its own that carries its indentation.
"""

import html
import re

from grader.report.plain_text import SHORT_CODE

_BLOCK = re.compile(r'(<div class="highlight"><pre>)(.*?)(</pre>)', re.DOTALL)
_BEFORE = re.compile(r'(<span class="o">\.</span>)')
_AFTER = re.compile(r'(<span class="p">[^<]*[(\[{,]</span>|<span class="o">=</span>)(?!\n)')
"""Matches places where a line of code may wrap without a space: after a bracket, a comma or an equals sign.

`_BEFORE` matches the other places: before a dot.
"""
_UNBROKEN = re.compile(
    r'<span class="o">-</span><span class="(?!w")[^"]*">[^<]*</span>|<span class="s[12]">(?=[^<]*-)[^<\s]{1,40}</span>'
)
"""Matches code that a browser would break after a hyphen: a sign with its operand, or a string such as "utf-8"."""
_TAG = re.compile(r"(</?span\b[^>]*>)")
_ANY_TAG = re.compile(r"<[^>]+>")
_INLINE = re.compile(r'<code class="([^"]*\bliteral\b[^"]*)">(.*?)</code>', re.DOTALL)
_SLASH = re.compile(r"(?<=\w)/(?=\w)")
"""Matches places where a path in inline code may wrap."""


def with_whole_code(page: str) -> str:
    """Return the page with every line of its code blocks as an element, and short inline code marked as short."""
    lined = _BLOCK.sub(lambda block: block[1] + _in_lines(_breakable(block[2])) + block[3], page)
    return _INLINE.sub(_marked, lined)


def _breakable(code: str) -> str:
    kept = _UNBROKEN.sub(r'<span class="whole">\g<0></span>', code)
    return _AFTER.sub(r"\1<wbr>", _BEFORE.sub(r"<wbr>\1", kept))


def _in_lines(code: str) -> str:
    """Wrap each line in an element that carries its indentation; reopen the tags that span several lines."""
    made: list[str] = []
    line = ""
    open_tags: list[str] = []

    def end_line() -> None:
        nonlocal line
        text = html.unescape(_ANY_TAG.sub("", line))
        inset = len(text) - len(text.lstrip(" "))
        style = f' style="--in:{inset}"' if inset else ""
        made.append(f'<span class="line"{style}>{line}{"</span>" * len(open_tags)}\n</span>')
        line = "".join(open_tags)

    for part in _TAG.split(code):
        if part.startswith("</span"):
            open_tags.pop()
            line += part
        elif part.startswith("<span"):
            open_tags.append(part)
            line += part
        else:
            first, *others = part.split("\n")
            line += first
            for other in others:
                end_line()
                line += other
    return "".join(made) + line


def _marked(found: re.Match[str]) -> str:
    names, code = found.groups()
    is_short = len(html.unescape(_ANY_TAG.sub("", code))) <= SHORT_CODE
    return f'<code class="{names} short">{code}</code>' if is_short else _SLASH.sub("/<wbr>", found[0])
