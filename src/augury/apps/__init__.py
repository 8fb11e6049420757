"""What users start: the command line, and the page on which to watch an execution."""
