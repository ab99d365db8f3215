"""What enters the sandbox: traces, recording, running. Nothing here knows an answer."""
