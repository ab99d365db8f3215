"""Judge answers by hand in the browser: a server on this machine over the folder of a graded class."""
