"""The command line: reads arguments, calls one room for each command, says in Korean what came of it."""
