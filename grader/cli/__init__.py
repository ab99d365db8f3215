"""The command line: reads arguments, calls the package that does the work, and prints the result in Korean."""
