"""Local rules: declared once, then enumerated, learnt, proven, compiled and looked up."""
