"""The page on which a run can be watched: served, in a file of its own, or in a notebook."""
