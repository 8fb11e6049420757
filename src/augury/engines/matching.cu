// Graphs of more than 64 nodes a side become matchings: the rounds of table.cu, a block for a graph.
//
// A thread holds the columns i, i + LANES, … A column that is reached chooses its row at once, so a
// search leaves a tree and needs no levels; the rows are several words. A row that any column asks
// for is taken by the lowest of these, and is never free again: `owner` is set once for each row.

#define UNHEARD (-2)

// The row that a column prefers: the lowest from `offset` on, or else the lowest; −1 if there is none.
__device__ inline int chosen(const word* column, const word* rows, int offset, Batch& all) {
    const int num_words = words_of(all.num_left), start = offset / WORD_BITS;
    word some = rows[start] & (word)~(word)0 << offset % WORD_BITS;
    for (int k = 0, w = start; k <= num_words; ++k) {  // the first word twice
        if (some && (some &= column[(wide)w * all.num_right])) return w * WORD_BITS + lowest(some);
        if (++w == num_words) w = 0;
        some = rows[w];
    }
    return -1;
}

extern "C" __global__ void match(Batch all) {
    MEMORY
    const int num_left = all.num_left, num_right = all.num_right, first = threadIdx.x;
    const int num_words = words_of(num_left);
    const wide graph = blockIdx.x;
    const word* columns = all.columns + graph * num_words * num_right;
    word* free_rows = (word*)memory;
    word* frontier = free_rows + num_words;  // the rows first reached at this level
    word* next = frontier + num_words;
    int* owner = (int*)(next + num_words);   // the column that a row is taken by
    short* mate = (short*)(owner + num_left);  // the column of each row
    short* mate_of = mate + num_left;          // the row of each column
    short* parent = mate_of + num_right;       // the row by which it is reached
    short* root = parent + num_right;          // the free row that its path begins with
    const int step = (num_left * 5 / 8 + 1) % num_left;  // as small.turn
    int number = 0, shift = 0;
#define OFFSET(v) (((v) % num_left + shift) % num_left)
#define EACH_COLUMN for (int v = first; v < num_right; v += LANES)
#define NEXT_ROUND ++number, shift = (shift + step) % num_left
    for (int u = first; u < num_left; u += LANES) {
        mate[u] = NO_MATE;
        owner[u] = num_right;
    }
    for (int w = first; w < num_words; w += LANES)
        free_rows[w] = (word)~(word)0 >> max(0, (w + 1) * WORD_BITS - num_left);
    EACH_COLUMN mate_of[v] = root[v] = NO_MATE;
    __syncthreads();

    // Rounds of paths of three arcs: free columns choose free rows.
    while (true) {
        bool is_any = false;
        EACH_COLUMN {
            if (mate_of[v] != NO_MATE || root[v] == UNHEARD) continue;
            const int u = chosen(columns + v, free_rows, OFFSET(v), all);
            root[v] = u < 0 ? UNHEARD : u;  // then never again, for free rows only get fewer
            if (u >= 0) atomicMin(&owner[u], v), is_any = true;
        }
        if (!__syncthreads_or(is_any)) break;
        EACH_COLUMN {
            const int u = root[v];
            if (mate_of[v] != NO_MATE || u < 0 || owner[u] != v) continue;
            mate[u] = v;
            mate_of[v] = u;
            atomicAnd(&free_rows[u / WORD_BITS], ~((word)1 << u % WORD_BITS));
        }
        __syncthreads();
        NEXT_ROUND;
    }

    // Longer ones: from the free rows on, level by level, until a free column is reached.
    while (true) {
        EACH_COLUMN parent[v] = UNHEARD;
        for (int w = first; w < num_words; w += LANES) frontier[w] = free_rows[w], next[w] = 0;
        __syncthreads();
        bool is_hit = false;
        while (true) {
            bool hits = false, goes_on = false;
            EACH_COLUMN {
                if (parent[v] != UNHEARD) continue;
                const int u = chosen(columns + v, frontier, OFFSET(v), all);
                if (u < 0) continue;
                parent[v] = u;
                const int after = mate_of[v];
                if (after == NO_MATE) hits = true;
                else atomicOr(&next[after / WORD_BITS], (word)1 << after % WORD_BITS), goes_on = true;
            }
            is_hit = __syncthreads_or(hits);
            for (int w = first; w < num_words; w += LANES) frontier[w] = 0;  // all have read it
            if (!__syncthreads_or(goes_on) || is_hit) break;
            word* empty = frontier;
            frontier = next, next = empty;
        }
        if (!is_hit) break;
        bits ends = 0;  // bit k: a path ends in column first + k · LANES
        EACH_COLUMN {
            if (mate_of[v] != NO_MATE || parent[v] == UNHEARD) continue;
            int u = parent[v];
            while (mate[u] != NO_MATE) u = parent[mate[u]];
            root[v] = u;
            ends |= 1u << v / LANES;
            atomicMin(&owner[u], v);
        }
        __syncthreads();  // all have found their roots before anyone changes a mate
        EACH_COLUMN {
            if (!(ends >> v / LANES & 1) || owner[root[v]] != v) continue;
            const int end = root[v];
            for (int own = v, u = -1; u != end;) {  // subtrees are disjoint, so nobody else is here
                u = parent[own];
                const int before = mate[u];
                mate[u] = own;
                mate_of[own] = u;
                own = before;
            }
            atomicAnd(&free_rows[end / WORD_BITS], ~((word)1 << end % WORD_BITS));
        }
        __syncthreads();
        NEXT_ROUND;
    }

    // The last search failed: the rows that it did not reach and the columns that it did are a cover.
    for (int w = first; w < num_words; w += LANES) {
        word bits = 0;
        for (int u = w * WORD_BITS; u < min((w + 1) * WORD_BITS, num_left); ++u)
            if (mate[u] != NO_MATE && parent[mate[u]] == UNHEARD) bits |= (word)1 << u % WORD_BITS;
        all.row_cover[graph * num_words + w] = bits;
    }
    for (int w = first; w < words_of(num_right); w += LANES) {
        word bits = 0;
        for (int v = w * WORD_BITS; v < min((w + 1) * WORD_BITS, num_right); ++v)
            if (parent[v] != UNHEARD) bits |= (word)1 << v % WORD_BITS;
        all.column_cover[graph * words_of(num_right) + w] = bits;
    }
    for (int u = first; u < num_left; u += LANES) all.mates[graph * num_left + u] = mate[u];
    if (first == 0) all.rounds[graph] = number;
}
