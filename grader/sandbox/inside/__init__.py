"""The code that runs inside the sandbox: server, child, isolation, and the protocol between them and the grader.

Nothing here may hold an answer. The list of the sandbox's processes in grader/README.md says which module acts where.
"""
