"""Draw README's picture anew, the card after a first wrong check: python -m tests.readme_picture."""

import html
import linecache
import os
import tempfile

from tests.browser import running_browser
from tests.places import ROOT

PICTURE = ROOT / "assets" / "figures" / "feedback.png"
CODE = """\
def train_step(model, opt, loss_fn, xb, yb) -> float:
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    opt.step()
    return loss.item()
"""
"""What the learner wrote: `opt.zero_grad()` is missing."""
_WIDTH = 800
_PAGE = """<!doctype html><html lang="ko"><meta charset="utf-8"><style>
body {{ margin: 0; padding: 16px; background: #fff; color: #1c2024; width: {width}px; box-sizing: border-box;
  font: 15px/1.6 "Noto Sans CJK KR", "Noto Sans KR", NanumGothic, sans-serif; word-break: keep-all; }}
.cell {{ font: 14px/1.55 "DejaVu Sans Mono", "Noto Sans Mono", "NanumGothicCoding", monospace;
  margin: 0 0 10px; padding: 10px 14px;
  border: 1px solid #cfd3d8; border-radius: 4px; background: #f5f6f8; white-space: pre-wrap; }}
</style><body><pre class="cell">{code}</pre><pre class="cell">check(train_step)</pre>{card}</body></html>"""


def page() -> str:
    """A page with two cells, the learner's function and its check, and below them the card as `check` makes it."""
    from grader import check

    name = "<cell 1>"
    linecache.cache[name] = (len(CODE), None, CODE.splitlines(keepends=True), name)
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(CODE, name, "exec"), names)
    card = check(names["train_step"]).html  # type: ignore[arg-type]
    return _PAGE.format(width=_WIDTH, code=html.escape(CODE.rstrip()), card=card)


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as home, running_browser() as browser:
        os.environ["HANSTEP_HOME"] = home  # a learner who has checked nothing yet
        shown = browser.new_page(viewport={"width": _WIDTH, "height": 300}, device_scale_factor=1.5)
        shown.set_content(page())
        shown.screenshot(path=PICTURE, full_page=True)


if __name__ == "__main__":
    main()
