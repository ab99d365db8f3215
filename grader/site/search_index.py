"""Write the site's search index: the text of every section, and groups of words that mean the same.

The text of all pages is half a megabyte, so the browser scans all of it for each query: any part of a Korean word is
found, with or without particles, and Korean need not be split into words. The index is a script instead of JSON because
a page opened as a local file may not fetch JSON.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from docutils import nodes
from msgspec import Struct

from grader.course.reading import read_typed
from grader.paths import asset_path
from grader.site.mathml import readable
from grader.site.terms import Term

FILE = "search-index.js"
_HOW_LONG_AND_HARD = re.compile(r"((약 )?\d+분 · |\d+분 )?[★☆]{3}(–[★☆]{3})?\s*")
"""The line below a heading and its place in lists of parts: no sentence of the text that an excerpt shows."""
_INVISIBLE_NODES = (nodes.raw, nodes.comment, nodes.system_message, nodes.target)


class _Group(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of `assets/site/search.toml`, which describes it."""

    same: tuple[str, ...]


class _Groups(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `search.toml`."""

    group: tuple[_Group, ...]


def index_script(pages: Iterable[tuple[str, nodes.document]], terms: Sequence[Term]) -> str:
    """Return the script that the search page loads.

    Args:
        pages: name and document of each page.
        terms: the glossary.
    """
    sections = [entry for name, document in pages for entry in _sections(name, document)]
    content = {"sections": sections, "same": _synonym_groups(terms)}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return f"window.SEARCH_INDEX={text};\n"


def _synonym_groups(terms: Sequence[Term]) -> list[list[str]]:
    """Return groups of words that mean the same, starting with each term's words.

    Compound terms also get the other names of their parts.
    """
    groups = [list(term.words) for term in terms]
    for term, group in zip(terms, groups, strict=True):
        for part in terms:  # e.g. 그라디언트 클리핑, because 그라디언트 is another name of 그레이디언트
            if re.search(rf"\b{part.korean} ", term.korean):
                group += [term.korean.replace(part.korean, name) for name in part.words[2:]]
    for more in read_typed(asset_path("site", "search.toml"), _Groups).group:
        known = next((group for group in groups if group[0] == more.same[0]), None)
        if known is None:
            groups.append(list(more.same))
        else:
            known += more.same
    return [list(dict.fromkeys(group)) for group in groups]


def _sections(name: str, document: nodes.document) -> Iterator[dict[str, str]]:
    top = next(iter(document.findall(nodes.title)), None)
    page = top.astext() if top is not None else name
    for section in document.findall(nodes.section):
        title = next((child for child in section.children if isinstance(child, nodes.title)), None)
        own = [child for child in section.children if not isinstance(child, nodes.section)]
        text = " ".join(filter(None, (_text(child) for child in own if child is not title)))
        yield {
            "url": f"{name}.html#{section['ids'][0]}",
            "page": page,
            "title": title.astext() if title is not None else page,
            "text": _HOW_LONG_AND_HARD.sub("", text),
        }


def _text(node: nodes.Node) -> str:
    """Return all readable text of a node in one line, including outputs and code, but not the code of folded cells."""
    if isinstance(node, _INVISIBLE_NODES):
        return ""
    if _is_source(node) and "tag_hide-input" in node.parent["classes"]:
        return ""
    if isinstance(node, nodes.Text):
        return " ".join(str(node).split())
    if isinstance(node, nodes.TextElement):
        unseen = any(isinstance(part, _INVISIBLE_NODES) for part in node.findall())
        if not unseen:
            return " ".join(_in_line(node).split())
    return " ".join(filter(None, (_text(child) for child in node.children)))


def _is_source(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code_source"


def _in_line(node: nodes.Node) -> str:
    """Return the text of a paragraph, with formulas as they are displayed instead of their TeX."""
    if isinstance(node, nodes.math | nodes.math_block):
        return readable(node.astext())
    return "".join(map(_in_line, node.children)) if node.children else node.astext()
