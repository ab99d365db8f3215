"""Run a program and record what it does. This room goes into the sandbox, so it knows no answers."""
