"""Search for small edits that make a learner's own program right, to point where a tutor would.

`small_edits` proposes edits, the likeliest first. `search` has the edited programs, called attempts, played in a
process of their own, and chooses the edits that help. `add_repair` searches where judging leaves something unexplained.
Before that, it looks for another cause: something that the program remembers from one call to the next
(`remembered_state`). For the hints on a known mistake, `judging/own_edit.py` uses the same search.

How an edit comes about: `definition_text` reads the learner's text, `translated_solution` puts the solution into the
learner's names, `line_insertions`, `line_edits` (both with `places`) and `expression_edits` (with `mutations`,
`edit_material`, `differing_pairs` and `edit_kinds`) draft edits from both, and `small_edits` sorts the drafts. "A kind
of edit" in `grader/ADDING.md` says where a new kind goes.
"""
