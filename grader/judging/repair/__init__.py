"""Search for small edits that make a learner's own program right, to point where a tutor would.

The search is made after judging, if known mistakes leave something unexplained (`add_repair`). `small_edits` proposes
edits, the likeliest first; `search` plays the edited programs, called attempts, in a process of their own and chooses
those that help. Before that, `remembered_state` looks for another cause: what the program remembers from one call to
the next.
"""
