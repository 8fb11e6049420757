// The kernels for matchings on a simulated warp. Compile with -DSOURCE="<file.cu>" and what that file
// wants to have defined.

#include "warps.h"

WORD memory[1 << 16];
typedef WORD word;
#undef __shared__
#define __shared__
#include SOURCE

static const WORD* given;
static const byte* bytes;
static WORD* packed;
static int *found, *counted;
static long long graphs;
static int left, right;

#ifdef NETWORK
static const float* layers;
extern "C" int graph_bytes() { return (int)sizeof(Nodes); }
extern "C" void run(const WORD* columns, const float* parameters, int* mates, int* rounds,
                    long long num_graphs, int num_left, int num_right, int threads) {
    given = columns, layers = parameters, found = mates, counted = rounds;
    graphs = num_graphs, left = num_left, right = num_right;
    const long long blocks = (num_graphs * 32 + threads - 1) / threads;
    launch([] { run_network(given, layers, found, counted, graphs, left, right); }, blocks, threads);
}
#else
extern "C" int graph_bytes() { return (int)sizeof(Graph); }
extern "C" void run_match(const WORD* columns, int* mates, int* rounds, long long num_graphs,
                          int num_left, int num_right, int threads) {
    given = columns, found = mates, counted = rounds;
    graphs = num_graphs, left = num_left, right = num_right;
    const long long blocks = (num_graphs * LANES + threads - 1) / threads;
    launch([] { match(given, found, counted, graphs, left, right); }, blocks, threads);
}
extern "C" void run_pack(const byte* adjacency, WORD* columns, long long num_graphs, int num_left,
                         int num_right, int four) {
    bytes = adjacency, packed = columns;
    graphs = num_graphs, left = num_left, right = num_right;
    const long long blocks = (num_graphs * num_right + 63) / 64;
    if (four)
        launch([] { pack_four((const unsigned int*)bytes, packed, graphs, left, right); }, blocks, 64);
    else
        launch([] { pack(bytes, packed, graphs, left, right); }, blocks, 64);
}
#endif
