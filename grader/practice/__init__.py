"""클리닉 (the clinic) and the drill: mend broken functions, and write functions from memory.

The clinic draws a broken function from the known mistakes (`case`), shows it (`visit`, in a notebook through
`clinic_cell`), asks for its symptom (`symptoms`), and lets a mistake come back days later (`schedule`, `today`). The
drill times a learner who writes an exercise's function from memory.
"""
