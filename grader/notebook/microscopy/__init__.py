"""The microscope: one real update of a learner's function beside the solution's, line by line.

`situations` builds a small model with data, `recording` runs a program on it, `gradient_shares` works out what each
`.grad` is made of, `compare` aligns the two recordings, and `drawing` turns the result into HTML or text.
"""
