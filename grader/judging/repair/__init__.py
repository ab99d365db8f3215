"""Search for small edits that make a learner's own program right, to point where a tutor would.

This is tried after judging, if known mistakes leave something unexplained (`add_repair`). `small_edits` proposes
edits, the likeliest first; `search` plays the edited programs, in the sandbox or in a child process, and keeps what
helps. `kept_state` looks for another cause first: something that the program remembers from one call to the next.
"""
