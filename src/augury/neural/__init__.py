"""The learning side of Augury: networks that supply the subroutines of Ford-Fulkerson."""
