"""One bipartite graph in every supported form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch

from augury import BipartiteGraph

EDGES = np.array([[0, 0, 1, 2], [0, 1, 1, 1]])
GRAPH = BipartiteGraph(3, 2, EDGES[0], EDGES[1])

SAME_GRAPHS: dict[str, Any] = {
    "own": GRAPH,
    "array": GRAPH.to_dense(),
    "counts": GRAPH.to_dense().astype(np.float32) * 7,
    "0 and 1": GRAPH.to_dense().astype(np.uint8),
    "bfloat16": torch.tensor(GRAPH.to_dense()).bfloat16(),
    "tensor": torch.tensor(GRAPH.to_dense()),
    "sparse tensor": torch.tensor(GRAPH.to_dense()).float().to_sparse(),
    "coalesced tensor": torch.tensor(GRAPH.to_dense()).float().to_sparse_coo().coalesce(),
    "csr_array": GRAPH.to_scipy(),
    "coo_matrix": scipy.sparse.coo_matrix(GRAPH.to_dense()),
    "pairs": list(zip(*EDGES.tolist(), strict=True)),
    "pairs in a tuple, one twice": (*zip(*EDGES.tolist(), strict=True), (0, 0)),
    "dict": {0: [0, 1], 1: [1], 2: (1,)},
    "DataFrame": pd.DataFrame({"n": "x", "Left": EDGES[0], "note": "", "RIGHT": EDGES[1]}),
}
