"""`grader site`: the lessons, the glossary and famous mistakes as static pages that need no network."""
