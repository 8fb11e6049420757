"""What people start: the command line, and the page to watch an execution on."""
