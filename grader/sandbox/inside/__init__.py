"""The code that runs inside the sandbox: server, child, isolation, and the frames that both sides exchange."""
