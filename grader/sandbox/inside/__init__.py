"""The side of the sandbox that stands inside it: server, isolation, and the frames both sides speak."""
