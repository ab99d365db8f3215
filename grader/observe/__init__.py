"""Runs a program and writes down what it does: goes into the sandbox, and knows no answers."""
