// Graphs as words become matchings, many at a time: the loops of words.py for a GPU, same decisions.
//
// LANES neighbouring lanes of a warp share one graph of at most SIZE nodes a side; lane i holds the
// columns i, i + LANES, ... A step of the search is one AND for each column and one OR over the
// lanes. Each lane whose column ends a path walks that path by itself. With LANES = 1 a thread has
// a graph to itself, with 32 a warp has. SIZE is given as well; a word has SIZE bits or more.
//
// Lanes that share a graph take every branch together, so a mask of these lanes is all that any
// exchange between them needs.

#define EACH (SIZE / LANES)  // columns, and rows, of a lane
#define NOBODY 255

struct Graph {
    word columns[SIZE];   // the rows of each column
    word levels[SIZE + 1];  // the rows first reached at each level
    byte likes[SIZE];     // the number of each column modulo the rows
    byte mate[SIZE];      // the column of each row
    byte mate_of[SIZE];   // the row of each column
};

// The OR over the lanes of a graph.
__device__ inline unsigned int any_of(unsigned int bits) {
    if (LANES == 1) return bits;
    return __reduce_or_sync(mask, bits);
}
__device__ inline unsigned long long any_of(unsigned long long bits) {
    if (LANES == 1) return bits;
    unsigned int low = __reduce_or_sync(mask, (unsigned int)bits);
    unsigned int high = __reduce_or_sync(mask, (unsigned int)(bits >> 32));
    return ((unsigned long long)high << 32) | low;
}

// Whether this lane is the lowest of those in the mask that hold the same key; all must call it.
__device__ inline bool is_first(int lane, int key) {
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

extern "C" __global__ void match(Batch all) {
    MEMORY
    const int thread = threadIdx.x, num_left = all.num_left, num_right = all.num_right;
    const wide graph = ((wide)blockIdx.x * THREADS + thread) / LANES;
    if (graph >= all.num_graphs) return;
    Graph& own = ((Graph*)memory)[thread / LANES];
    const int lane = thread & 31, first = thread % LANES;
    word column[EACH], mate_bit[EACH];
    bool is_free[EACH], flag[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int v = first + k * LANES;
        column[k] = v < num_right ? all.columns[graph * num_right + v] : 0;
        mate_bit[k] = 0;
        is_free[k] = flag[k] = column[k] != 0;
        own.columns[v] = column[k];
        own.likes[v] = v % num_left;
        own.mate[v] = own.mate_of[v] = NOBODY;
    }
    __syncwarp(mask);
    word free_rows = (word)~(word)0 >> (8 * sizeof(word) - num_left);
    const int step = (num_left * 5 / 8 + 1) % num_left;  // as small.turn
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
            const bool wins = is_first(lane, asks ? u : -1) && asks;
            if (wins) {
                mate_bit[k] = (word)1 << u;
                own.mate[u] = v;
                own.mate_of[v] = u;
                is_free[k] = flag[k] = false;
            }
            taken |= any_of(wins ? (word)1 << u : (word)0);
        }
        if (!taken) break;
        free_rows &= ~taken;
        ++number;
        shift += step;
        if (shift >= num_left) shift -= num_left;
    }

    // Longer ones: levels of rows, until a free column is adjacent to the last of them.
    word reached = 0;
    while (true) {
        reached = free_rows;
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
            const word after = reached | any_of(more);
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
            const bool wins = is_first(lane, asks ? root[k] : -1) && asks;
            roots |= any_of(wins ? (word)1 << root[k] : (word)0);
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
            mate_bit[k] = u == NOBODY ? (word)0 : (word)1 << u;
        }
        free_rows &= ~roots;
        ++number;
        shift += step;
        if (shift >= num_left) shift -= num_left;
    }
    // The last search failed: the rows that it did not reach and the columns that it did are a cover.
    word heard = 0;
    for (int k = 0; k < EACH; ++k)
        if (column[k] & reached) heard |= (word)1 << (first + k * LANES);
    heard = any_of(heard);
    __syncwarp(mask);
    for (int u = first; u < num_left; u += LANES)
        all.mates[graph * num_left + u] = own.mate[u] == NOBODY ? NO_MATE : own.mate[u];
    if (first != 0) return;
    all.row_cover[graph] = ~reached & (word)~(word)0 >> (WORD_BITS - num_left);
    all.column_cover[graph] = heard;
    all.rounds[graph] = number;
}
