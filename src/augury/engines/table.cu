// Graphs as words become matchings, many at a time: the loops of cpu.py for a GPU, same decisions.
//
// LANES neighbouring lanes of a warp share one graph of at most SIZE nodes a side; lane i holds the
// columns i, i + LANES, ... A step of the search is one AND for each column and one OR over the
// lanes. Each lane whose column ends a path walks that path by itself. With LANES = 1 a thread has
// a graph to itself, with 32 a warp has. LANES, SIZE and the type word (SIZE bits or more) are
// given when the file is compiled.
//
// Lanes that share a graph take every branch together, so a mask of these lanes is all that any
// exchange between them needs.

typedef unsigned char byte;
#define EACH (SIZE / LANES)  // columns, and rows, of a lane
#define NONE 255

struct Graph {
    word columns[SIZE];   // the rows of each column
    word levels[SIZE + 1];  // the rows first reached at each level
    byte likes[SIZE];     // the number of each column modulo the rows
    byte mate[SIZE];      // the column of each row
    byte mate_of[SIZE];   // the row of each column
};

__device__ inline int lowest(unsigned int bits) { return __ffs((int)bits) - 1; }
__device__ inline int lowest(unsigned long long bits) { return __ffsll((long long)bits) - 1; }

// The OR over the lanes of a graph.
__device__ inline unsigned int any_of(unsigned int mask, unsigned int bits) {
    if (LANES == 1) return bits;
    return __reduce_or_sync(mask, bits);
}
__device__ inline unsigned long long any_of(unsigned int mask, unsigned long long bits) {
    if (LANES == 1) return bits;
    unsigned int low = __reduce_or_sync(mask, (unsigned int)bits);
    unsigned int high = __reduce_or_sync(mask, (unsigned int)(bits >> 32));
    return ((unsigned long long)high << 32) | low;
}

// Whether this lane is the lowest of those in the mask that hold the same key; all must call it.
__device__ inline bool is_first(unsigned int mask, int lane, int key) {
    if (LANES == 1) return true;
    return lowest(__match_any_sync(mask, key)) == lane;
}

// The row that a column prefers: the lowest from its offset on, or else the lowest; there is one.
__device__ inline int chosen(word rows, int likes, int shift, int num_left) {
    int offset = likes + shift;
    if (offset >= num_left) offset -= num_left;
    word later = rows & ((word)~(word)0 << offset);
    return lowest(later ? later : rows);
}

// (graph, right) words → (graph, left) mates or −1, and (graph,) rounds that applied a path.
extern "C" __global__ void match(
    const word* columns, int* mates, int* rounds, long long num_graphs, int num_left, int num_right
) {
    extern __shared__ word memory[];
    const int thread = threadIdx.x;
    const long long graph = ((long long)blockIdx.x * blockDim.x + thread) / LANES;
    if (graph >= num_graphs) return;
    Graph& own = ((Graph*)memory)[thread / LANES];
    const int lane = thread & 31, first = thread % LANES;
    const unsigned int mask = LANES == 32 ? 0xffffffffu
                                          : ((1u << (LANES & 31)) - 1) << (lane / LANES * LANES);
    word column[EACH], mate_bit[EACH];
    bool is_free[EACH], flag[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int v = first + k * LANES;
        column[k] = v < num_right ? columns[graph * num_right + v] : 0;
        mate_bit[k] = 0;
        is_free[k] = flag[k] = column[k] != 0;
        own.columns[v] = column[k];
        own.likes[v] = v % num_left;
        own.mate[v] = own.mate_of[v] = NONE;
    }
    __syncwarp(mask);
    word free_rows = (word)~(word)0 >> (8 * sizeof(word) - num_left);
    const int step = (num_left * 5 / 8 + 1) % num_left;  // as ties.turn
    int number = 0, shift = 0;

    // Rounds of paths of three arcs: every free column, while it is flagged, chooses a free row.
    while (true) {
        word taken = 0;
        for (int k = 0; k < EACH; ++k) {
            const int v = first + k * LANES;
            const word rows = flag[k] ? column[k] & free_rows : 0;
            flag[k] = rows != 0;  // or else never again, for free rows only get fewer
            int u = rows ? chosen(rows, own.likes[v], shift, num_left) : -1;
            // Lower columns come first, and those of a smaller k are all lower.
            const bool asks = rows && !(taken >> u & 1);
            const bool wins = is_first(mask, lane, asks ? u : -1) && asks;
            if (wins) {
                mate_bit[k] = (word)1 << u;
                own.mate[u] = v;
                own.mate_of[v] = u;
                is_free[k] = flag[k] = false;
            }
            taken |= any_of(mask, wins ? (word)1 << u : (word)0);
        }
        if (!taken) break;
        free_rows &= ~taken;
        ++number;
        shift += step;
        if (shift >= num_left) shift -= num_left;
    }

    // Longer ones: levels of rows, until a free column is adjacent to the last of them.
    while (free_rows) {
        word reached = free_rows;
        int level = 0;
        bool is_hit = false;
        if (first == 0) own.levels[0] = reached;
        while (true) {
            word more = 0;
            bool hits = false;
            for (int k = 0; k < EACH; ++k) {
                const bool hears = (column[k] & reached) != 0;
                flag[k] = hears && is_free[k];
                hits |= flag[k];
                more |= hears ? mate_bit[k] : (word)0;
            }
            is_hit = LANES == 1 ? hits : __any_sync(mask, hits);
            const word after = reached | any_of(mask, more);
            if (is_hit || after == reached) break;
            ++level;
            if (first == 0) own.levels[level] = after & ~reached;
            reached = after;
        }
        if (!is_hit) break;
        __syncwarp(mask);
        int root[EACH];
        for (int k = 0; k < EACH; ++k) {
            int v = first + k * LANES, u = -1;
            if (flag[k])
                for (int l = level; l >= 0; --l) {
                    u = chosen(own.columns[v] & own.levels[l], own.likes[v], shift, num_left);
                    v = own.mate[u];
                }
            root[k] = u;
        }
        __syncwarp(mask);  // all have found their roots before anyone changes a mate
        word roots = 0;
        for (int k = 0; k < EACH; ++k) {  // the lowest column of each subtree wins
            const bool asks = flag[k] && !(roots >> root[k] & 1);
            const bool wins = is_first(mask, lane, asks ? root[k] : -1) && asks;
            roots |= any_of(mask, wins ? (word)1 << root[k] : (word)0);
            if (!wins) continue;
            is_free[k] = false;
            int v = first + k * LANES;
            for (int l = level; l >= 0; --l) {  // subtrees are disjoint, so nobody else is here
                const int u = chosen(own.columns[v] & own.levels[l], own.likes[v], shift, num_left);
                const int before = own.mate[u];
                own.mate[u] = v;
                own.mate_of[v] = u;
                v = before;
            }
        }
        __syncwarp(mask);
        for (int k = 0; k < EACH; ++k) {
            const int u = own.mate_of[first + k * LANES];
            mate_bit[k] = u == NONE ? (word)0 : (word)1 << u;
        }
        free_rows &= ~roots;
        ++number;
        shift += step;
        if (shift >= num_left) shift -= num_left;
    }
    __syncwarp(mask);
    for (int u = first; u < num_left; u += LANES)
        mates[graph * num_left + u] = own.mate[u] == NONE ? -1 : own.mate[u];
    if (first == 0) rounds[graph] = number;
}

// (graph, left, right) bytes of 0 and 1 → (graph, right) words; a thread makes one word.
extern "C" __global__ void pack(
    const byte* adjacency, word* columns, long long num_graphs, int num_left, int num_right
) {
    const long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= num_graphs * num_right) return;
    const long long graph = place / num_right;
    const byte* cell = adjacency + graph * num_left * num_right + place % num_right;
    word bits = 0;
    for (int u = 0; u < num_left; ++u) bits |= (word)(cell[u * num_right] != 0) << u;
    columns[place] = bits;
}

// Each of four bytes becomes 1 unless it is 0: the bytes of a Boolean array need not be 0 or 1.
__device__ inline unsigned int ones(unsigned int octets) {
    octets = (octets | octets >> 4) & 0x0f0f0f0fu;
    octets = (octets | octets >> 2) & 0x03030303u;
    return (octets | octets >> 1) & 0x01010101u;
}

// The same where the columns are a multiple of 4: a thread makes four.
extern "C" __global__ void pack_four(
    const unsigned int* adjacency, word* columns, long long num_graphs, int num_left, int num_right
) {
    const int width = num_right / 4;
    const long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= num_graphs * width) return;
    const long long graph = place / width;
    const unsigned int* cells = adjacency + graph * num_left * width + place % width;
    word bits[4] = {0, 0, 0, 0};
    for (int low = 0; low < num_left; low += 8) {
        unsigned int octets = 0;  // eight rows of four columns, a byte each
        for (int u = min(low + 8, num_left) - 1; u >= low; --u)
            octets = octets + octets + ones(cells[u * width]);
        for (int k = 0; k < 4; ++k) bits[k] |= (word)(octets >> (8 * k) & 255) << low;
    }
    for (int k = 0; k < 4; ++k) columns[4 * place + k] = bits[k];
}
