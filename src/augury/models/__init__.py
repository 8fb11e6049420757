"""The kinds of network, and the checkpoints that come with Augury."""

DEFAULT_MODEL = "discrete"
"""The shipped network that `augury verify` proves exact."""
