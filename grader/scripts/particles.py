"""Let Korean particles follow numbers, and code that ends in a value: what a sentence fills in."""

import re

from grader.observe.wording import particle

_FORMS = ("으로/로", "이었/였", "이에요/예요", "을/를", "은/는", "이/가", "과/와")
_OF = {form: forms for forms in _FORMS for form in forms.split("/")}
_BEHIND = re.compile(
    r"(`[^`]*[\d'\"]`|(?<![\w.,+-])-?\d[\d.,]*(?:e[+-]?\d+)?)"
    r"(이었|였|(?:이에요|예요|으로|로|을|를|은|는|이|가|과|와)(?![가-힣]))"
)


def with_particles(text: str) -> str:
    """Return a text whose particles behind numbers and code are the right ones: `0.0889였고`, `0으로`."""
    return _BEHIND.sub(lambda found: found[1] + particle(found[1].strip("`"), _OF[found[2]]), text)
