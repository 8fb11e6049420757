"""Options become calls of the package: the commands, one file for each kind of work."""
