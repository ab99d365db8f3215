"""What only IPython understands: magics, shell and help lines go, and no line of Python with them."""

import ast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from grader.submission.cells import as_python, without_magics
from tests.submission.samples import STEP, code
from tests.submission.sources import MAGICS, PYTHON


@pytest.mark.parametrize("magic", ["time", "timeit -n 1", "capture out"])
def test_measuring_magics_lose_their_line_only(ipynb, magic):
    """`%%time` above an exercise does not take the exercise away."""
    file = ipynb(code(f"\n%%{magic}\n%%time\n{STEP}"))
    assert file.defines == {"train_step": 4}


@pytest.mark.parametrize("magic", ["bash", "html", "writefile notes.txt", "script false --no-raise-error"])
def test_cells_in_other_languages_are_dropped(ipynb, magic):
    """A cell that IPython does not run as Python defines nothing, here as there."""
    file = ipynb(code(f"# note\n%%{magic}\n{STEP}"), code("LR = 1"))
    assert file.text == "\n" * 5 + "LR = 1\n"
    assert file.problems == ()


def test_shell_lines_in_a_downloaded_file_are_dropped(py):
    """Colab writes `!pip install` into the .py file it lets one download."""
    assert py("!pip install torch\nimport torch\n" + STEP).defines == {"train_step": 3}


@pytest.mark.parametrize("line", ["!echo it's", "files = !echo (", '%cd """', "!ls [ \\\n ]'", "x?"])
def test_brackets_and_quotes_of_magics_do_not_swallow_code(ipynb, line):
    """What follows a shell line is read, whatever the shell line leaves open, and keeps its line number."""
    file = ipynb(code(f"{line}\n{STEP}"))
    assert file.problems == ()
    assert file.defines == {"train_step": line.count("\n") + 2}


class WithoutMagics(ast.NodeTransformer):
    """Takes out what IPython makes of a magic, and the `0` that we do."""

    def visit_Expr(self, node):
        return None if ast.unparse(node) == "0" or "get_ipython" in ast.dump(node) else node

    def visit_Assign(self, node):
        return None if "get_ipython" in ast.dump(node) else node


def statements_of(source: str) -> str:
    """The statements that are Python's own."""
    return ast.dump(WithoutMagics().visit(ast.parse(source)))


@given(
    st.lists(st.sampled_from(MAGICS + PYTHON), min_size=1).map("\n".join), st.sampled_from(["", "  ", "\t"])
)
@settings(deadline=None)
@example(">>> A = 1\n>>> def f():\n...     !ls\n...     return 1\n", "")
def test_ipython_reads_cells_the_same_way(source, indent):
    """IPython itself is the oracle: magics go, everything else is what the learner's kernel ran."""
    if "'''\n" not in source and "\\\n" not in source:  # lines whose indentation is no indentation
        source = "\n".join(indent + line for line in source.split("\n"))
    ours = as_python(source)
    assert ours.count("\n") == source.count("\n")
    assert statements_of(ours) == statements_of(TransformerManager().transform_cell(source))


@given(st.lists(st.sampled_from(PYTHON)).map("\n".join))
def test_python_is_not_mistaken_for_magics(source):
    """A line that happens to begin with `%`, inside brackets or a string, stays."""
    assert without_magics(source) == source
