"""Turn the trace of a submission into feedback, by comparing it with the solution and the known mistakes.

This room knows the answers, so it runs outside the sandbox only. `assess.assess` calls the steps one after the other:
`judge` decides which checks pass, `explain` finds the known mistakes that behave as the submission does, `locate` finds
the learner's line for each of them, and `gather_evidence` finds what else shows that something is wrong. Then, if known
mistakes do not explain everything, the package `repair` searches for an edit of the learner's code that makes it right.
If they do, and the learner can ask for hints, `own_edit` searches in a similar way for the edit that mends each of the
first mistakes.
"""
