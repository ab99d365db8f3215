"""The code that runs inside the sandbox: server, child, isolation, and the protocol between them and the grader."""
