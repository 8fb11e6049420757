"""Other forms of the networks' steps, each tested equal to the plain one."""
