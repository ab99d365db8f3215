"""The code that runs inside the sandbox: server, child, isolation, and the protocol between them and the grader.

Nothing here may hold an answer. The docstring of `grader/sandbox/` says which module acts where.

A submission can replace `len` or `setattr` in the dict of builtins that all modules share, and put them back before
anybody looks. So each module whose code runs in a child beside a submission has a copy of its own, made when it is
imported and before its functions are made, which keep the builtins that their module has then.
"""
