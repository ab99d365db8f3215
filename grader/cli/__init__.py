"""Provide the command line: read arguments, call the package that does the work, print the result in Korean."""
