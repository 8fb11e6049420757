"""The kinds of network, and the checkpoints that come with Augury."""
