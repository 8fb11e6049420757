// What the kernels for matchings share: they run one after the other, and nothing leaves the device.
//
//   bits.cu      pack: bytes → the bits of each row; turn: these → the rows of each column
//   table.cu     match: words of one column → a matching and a cover, at most 64 nodes a side
//   matching.cu  match: the same for more nodes, a block for a graph
//   network.cu   run_network: the same as table.cu, with the network evaluated at each step
//   cover.cu     check: whether matching and cover prove each other, from the bits of the rows
//
// Given when a file is compiled: THREADS, those of a block; LANES, those that share a graph; `word`,
// an unsigned integer that holds rows of a column, and `narrow`, one that holds a column or −1.

typedef unsigned char byte;
#define WORD_BITS ((int)(8 * sizeof(word)))
#define NO_MATE (-1)

// All graphs, and what is found; see `Batch` in cuda_match.py.
struct Batch {
    const byte* adjacency;           // (graph, left, right): an edge is what is not 0
    byte* rows;                      // (graph, left, octet): the same as bits, the lowest first
    word* columns;                   // (graph, word, right): the rows of each column as bits
    narrow* mates;                   // (graph, left): the column of each row, −1 for none
    word *row_cover, *column_cover;  // (graph, word): bits of the nodes that meet every edge
    int* rounds;                     // (graph,): rounds that applied a path
    int* sizes;                      // (graph,): edges of the matching
    byte* is_proven;                 // (graph,): whether the cover proves it to be maximum
    const float* parameters;         // of a network; see `network_parameters` in cuda.py
    wide num_graphs;
    int num_left, num_right;
};

__device__ inline int words_of(int nodes) { return (nodes + WORD_BITS - 1) / WORD_BITS; }
__device__ inline int octets_of(int nodes) { return (nodes + 7) / 8; }
__device__ inline int lowest(unsigned int bits) { return __ffs((int)bits) - 1; }
__device__ inline int lowest(unsigned long long bits) { return __ffsll((long long)bits) - 1; }
