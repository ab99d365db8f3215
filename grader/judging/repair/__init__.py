"""Search for small edits that make a learner's own program right, to point where a tutor would.

The search is made after judging, if known mistakes leave something unexplained (`add_repair`). `small_edits` proposes
edits, the likeliest first. `search` plays the edited programs, called attempts, in a process of their own, and chooses
the edits that help. Before that, `remembered_state` looks for another cause: something that the program remembers from
one call to the next.

How an edit comes about: `definition_text` reads the learner's text, `translated_solution` puts the solution into the
learner's names, `line_insertions`, `line_edits` and `expression_edits` draft edits from both, and `small_edits` sorts
the drafts.
"""
