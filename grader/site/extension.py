"""Sphinx extension of the site: ids of sections, table cells, notes on terms, meta tags, formulas, the search index.

`setup` lists them. What adds another kind of node also tells the search index how to read it (`search_index.py`), and
the notes on terms whether to look into it (`terms.py`).
"""

import html
import re
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes

from grader.site.mathml import mathml
from grader.site.search_index import FILE as SEARCH_INDEX
from grader.site.search_index import index_script
from grader.site.settings import Addresses, PageFacts
from grader.site.terms import PAGE as GLOSSARY
from grader.site.terms import glossary, note_first_uses

PICTURES = "_static/pictures"
"""Folder of the pages' preview pictures, below the site's."""
_NUMBERED = re.compile(r"id\d+")
_BRIEF_CHARACTERS = 8
"""Cells with at most this many characters are kept on one line, such as `756 µs`."""
_CLASS_BEYOND = {24: "long", 60: "longest"}
"""Style class of cells with more characters than this; a cell may get both."""


def setup(app: Any) -> dict[str, bool]:
    """Register the extension; called by Sphinx."""
    app.add_config_value("hanstep_facts", {}, "", types=[dict])
    app.add_config_value("hanstep_addresses", Addresses(), "", types=[Addresses])
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_block_formula, None))
    # Early (the default is 500), because Sphinx makes tables of contents from the ids.
    app.connect("doctree-read", _name_sections, priority=100)
    app.connect("builder-inited", _disable_sphinx_search)
    app.connect("doctree-resolved", _add_notes)
    app.connect("doctree-resolved", _classify_cells)
    app.connect("html-page-context", _fill_context)
    app.connect("build-finished", _write_search_index)
    return {"parallel_read_safe": True, "parallel_write_safe": False}


def _disable_sphinx_search(app: Any) -> None:
    app.builder.search = False  # Sphinx's search splits Korean at spaces only; ours replaces it


def _name_sections(app: Any, document: nodes.document) -> None:
    """Give a section with a numbered id one made from its title, unless another section has it; both ids stay.

    Docutils only numbers sections with Korean titles: a link that somebody shared may point elsewhere after the next
    edition.
    """
    for section in document.findall(nodes.section):
        title = next(section.findall(nodes.title), None)
        if title is None or not _NUMBERED.fullmatch(section["ids"][0]):
            continue
        slug = re.sub(r"\W+", "-", title.astext().lower()).strip("-")
        if slug and slug not in document.ids:
            document.ids[slug] = section
            section["ids"].insert(0, slug)


def _classify_cells(app: Any, document: nodes.document, name: str) -> None:
    """Give cells a style class by their length: a sentence must not be squeezed into a column one word wide."""
    for cell in document.findall(nodes.entry):
        length = len(cell.astext())
        cell["classes"] += [style for most, style in _CLASS_BEYOND.items() if length > most]
        if length <= _BRIEF_CHARACTERS:
            cell["classes"].append("brief")


def _add_notes(app: Any, document: nodes.document, name: str) -> None:
    """Note terms at their first use on a Korean page, but neither on the front page nor in the glossary itself."""
    facts: PageFacts | None = app.config.hanstep_facts.get(name)
    if facts is not None and facts.language == "ko" and name not in (GLOSSARY, "index"):
        note_first_uses(document, glossary(), app.builder.get_relative_uri(name, GLOSSARY))


def _fill_context(app: Any, name: str, template: str, context: dict[str, Any], document: Any) -> None:
    """Add what our templates need: language, link for reports, meta tags, a short name of the English page."""
    addresses: Addresses = app.config.hanstep_addresses
    facts: PageFacts = app.config.hanstep_facts.get(name) or PageFacts(context.get("title", name), "")
    context["language"] = facts.language
    context["in_english"] = facts.language == "en"
    for link in (context.get("prev"), context.get("next")):
        if link and PurePosixPath(link["link"]).name == "en.html":
            # The English page's title is long; the sidebar calls it this, too.
            link["title"] = "In English"
    context["report_link"] = addresses.report(f"{name}.html")
    context["metatags"] = context.get("metatags", "") + "".join(
        f'\n<meta {attribute}="{key}" content="{html.escape(content)}">'
        for attribute, key, content in _meta_tags(name, facts, addresses, app.config.project)
        if content
    )


def _meta_tags(name: str, facts: PageFacts, addresses: Addresses, project: str) -> list[tuple[str, str, str]]:
    """Return attribute, key and content of each meta tag; the caller leaves out those without content."""
    picture = addresses.page(f"{PICTURES}/{name}.png")
    return [
        ("name", "description", facts.description),
        ("property", "og:type", "article" if facts.lines else "website"),
        ("property", "og:site_name", project),
        ("property", "og:title", facts.title),
        ("property", "og:description", facts.description),
        ("property", "og:locale", "ko_KR" if facts.language == "ko" else "en_US"),
        ("property", "og:url", addresses.page(f"{name}.html")),
        ("property", "og:image", picture),
        ("property", "og:image:width", "1200" if picture else ""),
        ("property", "og:image:height", "630" if picture else ""),
        ("property", "og:image:alt", f"{project}: {facts.title}" if picture else ""),
        ("name", "twitter:card", "summary_large_image" if picture else "summary"),
    ]


def _write_search_index(app: Any, error: Exception | None) -> None:
    if error is None:
        pages = [
            (name, app.env.get_doctree(name)) for name in app.config.hanstep_facts if name in app.env.all_docs
        ]
        Path(app.outdir, "_static", SEARCH_INDEX).write_text(
            index_script(pages, glossary()), encoding="utf-8"
        )


def _inline_formula(translator: Any, node: nodes.math) -> None:
    translator.body.append(f'<span class="formula">{mathml(node.astext())}</span>')
    raise nodes.SkipNode  # the node is written: docutils shall not write its text, too


def _block_formula(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{mathml(node.astext().strip(), display="block")}</div>')
    raise nodes.SkipNode
