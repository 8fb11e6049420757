"""What every kind of network is built from: tensors, layers, and how they are computed."""
