"""Build the public site (`grader site`): lessons, glossary and famous mistakes as static pages that need no network."""
