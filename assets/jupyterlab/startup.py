"""Run by each kernel that `grader start` opens, before the first cell; it leaves no name behind."""

try:
    from grader.notebook.missing_names import explain_missing_names
except ImportError:  # a kernel of another environment
    pass
else:
    explain_missing_names()
    del explain_missing_names
