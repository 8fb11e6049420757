"""The paper's networks, in all their forms."""
