// Graphs as words become matchings, the discrete network evaluated at every step of every search.
//
// A warp has a graph of at most 64 nodes a side, and lane k has unit k of the network's 32. For each
// node in each step: the maximum over the kinds of message that reach it, its update, and the logits
// of "reached" and "changed"; a node that is new latches the link of the highest score. What depends
// on a kind alone (the message of each of the four, a link's score by two bits and its weight) is
// given, computed once by the network's own layers; see cuda.py for the order of the parameters.
// Only whole paths are applied, so the result is a matching whatever the network says.

#define SIDE 64
#define SOURCE_NODE 64  // in place of a column: reached from the source
#define SINK_NODE 64    // in place of a row: reached from the sink
#define NOBODY 255
#define FULL 0xffffffffu

struct Nodes {
    word columns[SIDE];      // the rows of each column
    word rows[SIDE];         // the columns of each row
    byte mate[SIDE];         // the column of each row
    byte mate_of[SIDE];      // the row of each column
    byte from_row[SIDE];     // the predecessor of each column
    byte from_column[SIDE];  // the predecessor of each row
};

struct Layers {  // this lane's share
    float kind[4], own_message[2], own_join[2], join[32], reached, changed;
};

struct Logits {
    float reached, changed;
};

__device__ inline float leaky(float x) { return x > 0 ? x : 0.01f * x; }
__device__ inline int bit_of(word set, int place) { return (int)(set >> place & 1); }
__device__ inline word all_of(int count) {
    return count ? (word)~(word)0 >> (SIDE - count) : (word)0;
}

// Which kinds (sender's bit, link's bit) are among senders with and without a usable link.
__device__ inline int kinds_of(word usable, word full, word reached) {
    return ((full & ~reached) != 0) | ((usable & ~reached) != 0) << 1 |
           ((full & reached) != 0) << 2 | ((usable & reached) != 0) << 3;
}
__device__ inline int kind_of(bool sender, bool usable) { return 1 << (2 * sender + usable); }

__device__ inline float sum_of(float value) {
    for (int with = 16; with; with >>= 1) value += __shfl_xor_sync(FULL, value, with);
    return value;
}

// One step of one node: its own bit and the kinds that reach it, its self loop among them.
__device__ inline Logits step(const Layers& own_share, const float* constant, int own, int kinds) {
    kinds |= kind_of(own, false);
    float largest = -3e38f;
#pragma unroll
    for (int kind = 0; kind < 4; ++kind)
        if (kinds >> kind & 1) largest = fmaxf(largest, own_share.kind[kind]);
    const float heard = leaky((own ? own_share.own_message[1] : own_share.own_message[0]) + largest);
    float joined = own ? own_share.own_join[1] : own_share.own_join[0];
#pragma unroll
    for (int j = 0; j < 32; ++j) joined += own_share.join[j] * __shfl_sync(FULL, heard, j);
    const float updated = leaky(joined);
    Logits logits;
    logits.reached = sum_of(own_share.reached * updated) + constant[own];
    logits.changed = sum_of(own_share.changed * updated) + constant[2 + own];
    return logits;
}

// The neighbour of the highest score, the lowest among equals; `score` is this lane's two.
__device__ inline int best_of(const float* score, float* highest) {
    const int lane = threadIdx.x & 31;
    float best = score[0];
    int place = lane;
    if (score[1] > best) best = score[1], place = lane + 32;
    for (int with = 16; with; with >>= 1) {
        const float other = __shfl_xor_sync(FULL, best, with);
        const int there = (int)__shfl_xor_sync(FULL, (float)place, with);
        if (other > best || (other == best && there < place)) best = other, place = there;
    }
    *highest = best;
    return place;
}

extern "C" __global__ void run_network(Batch all) {
    MEMORY
    const int lane = threadIdx.x & 31, num_left = all.num_left, num_right = all.num_right;
    const wide graph = ((wide)blockIdx.x * THREADS + threadIdx.x) / 32;
    if (graph >= all.num_graphs) return;
    Nodes& own = ((Nodes*)memory)[threadIdx.x / 32];
    Layers layers;
    const float* rest = all.parameters;
    for (int k = 0; k < 4; ++k, rest += 32) layers.kind[k] = rest[lane];
    for (int k = 0; k < 2; ++k, rest += 32) layers.own_message[k] = rest[lane];
    for (int k = 0; k < 2; ++k, rest += 32) layers.own_join[k] = rest[lane];
#pragma unroll
    for (int j = 0; j < 32; ++j, rest += 32) layers.join[j] = rest[lane];
    layers.reached = rest[lane];
    layers.changed = rest[32 + lane];
    const float* constant = rest + 64;  // reached and changed, each by the own bit
    const float* scores = constant + 4;  // (sender's bit, link's bit, weight)

    for (int k = 0; k < 2; ++k) {
        const int v = lane + 32 * k;
        own.columns[v] = v < num_right ? all.columns[graph * num_right + v] : (word)0;
        own.mate[v] = own.mate_of[v] = NOBODY;
    }
    __syncwarp(FULL);
    for (int k = 0; k < 2; ++k) {
        word bits = 0;
        for (int v = 0; v < num_right; ++v)
            bits |= (word)bit_of(own.columns[v], lane + 32 * k) << v;
        own.rows[lane + 32 * k] = bits;
    }
    const word every_row = all_of(num_left), every_column = all_of(num_right);
    word free_rows = every_row, free_columns = every_column;
    const int turn = (num_left * 5 / 8 + 1) % num_left;  // as small.turn
    int number = 0, shift = 0;
    word rows = 0, reached_columns = 0;  // at last those of a search that found no path
    while (true) {
        rows = reached_columns = 0;
        bool source = true, sink = false, goes_on = true;
        for (int k = 0; k < 2; ++k)
            own.from_row[lane + 32 * k] = own.from_column[lane + 32 * k] = NOBODY;
        __syncwarp(FULL);
        for (int steps = 1; goes_on; ++steps) {
            word rows_now = 0, columns_now = 0;
            Logits said = step(layers, constant, source,
                               kinds_of(every_row & ~free_rows, free_rows, rows));
            const bool source_now = said.reached > 0;
            goes_on = said.changed > 0;
            said = step(layers, constant, sink,
                        kinds_of(free_columns, every_column & ~free_columns, reached_columns));
            const bool sink_now = said.reached > 0;
            goes_on |= said.changed > 0;
            for (int u = 0; u < num_left; ++u) {
                const word near = own.rows[u];
                const bool is_free = bit_of(free_rows, u);
                const word mate = is_free ? (word)0 : (word)1 << own.mate[u];
                said = step(layers, constant, bit_of(rows, u),
                            kinds_of(near & mate, near & ~mate, reached_columns) |
                                kind_of(source, is_free));
                goes_on |= said.changed > 0;
                if (!(said.reached > 0)) continue;
                rows_now |= (word)1 << u;
                if (bit_of(rows, u)) continue;
                float score[2], highest;
                for (int k = 0; k < 2; ++k) {
                    const int v = lane + 32 * k;
                    const int link = (2 * bit_of(reached_columns, v) + bit_of(mate, v)) * 16 + 1;
                    score[k] = bit_of(near, v) ? scores[link] : -3e38f;
                }
                int from = best_of(score, &highest);
                const float first = scores[(2 * source + is_free) * 16 + 1];
                if (first >= highest) highest = first, from = SOURCE_NODE;  // the lower arc
                if (scores[0] > highest) from = NOBODY;  // the self loop of a node not yet reached
                if (lane == 0) own.from_column[u] = from;
            }
            for (int v = 0; v < num_right; ++v) {
                const word near = own.columns[v];
                const bool is_free = bit_of(free_columns, v);
                const word mate = is_free ? (word)0 : (word)1 << own.mate_of[v];
                said = step(layers, constant, bit_of(reached_columns, v),
                            kinds_of(near & ~mate, near & mate, rows) | kind_of(sink, !is_free));
                goes_on |= said.changed > 0;
                if (!(said.reached > 0)) continue;
                columns_now |= (word)1 << v;
                if (bit_of(reached_columns, v)) continue;
                const int offset = (v % num_left + shift) % num_left;
                float score[2], highest;
                for (int k = 0; k < 2; ++k) {
                    const int u = lane + 32 * k, weight = u >= offset ? 1 : 2;
                    const int link = (2 * bit_of(rows, u) + !bit_of(mate, u)) * 16 + weight;
                    score[k] = bit_of(near, u) ? scores[link] : -3e38f;
                }
                int from = best_of(score, &highest);
                const float last = scores[(2 * sink + !is_free) * 16 + 1];
                if (last > highest) highest = last, from = SINK_NODE;
                if (scores[0] > highest) from = NOBODY;
                if (lane == 0) own.from_row[v] = from;
            }
            rows = rows_now, reached_columns = columns_now, source = source_now, sink = sink_now;
            goes_on &= steps < num_left + num_right + 1;
        }
        if (!sink) break;
        __syncwarp(FULL);

        // Each free column follows its predecessors by itself; the nearest to the source count.
        int root[2];
        unsigned int depth[2], least = FULL;
        for (int k = 0; k < 2; ++k) {
            int v = lane + 32 * k;
            root[k] = -1, depth[k] = FULL;
            if (!bit_of(free_columns & reached_columns, v)) continue;
            for (unsigned int length = 0; length < SIDE; ++length) {
                const int u = own.from_row[v];
                if (u >= num_left) break;
                const int from = own.from_column[u];
                if (from == SOURCE_NODE && bit_of(free_rows, u)) root[k] = u, depth[k] = length;
                if (from >= num_right || from != own.mate[u]) break;
                v = from;
            }
            least = depth[k] < least ? depth[k] : least;
        }
        __syncwarp(FULL);  // all have found their roots before anyone changes a mate
        least = __reduce_min_sync(FULL, least);
        if (least == FULL) break;  // no path is legal: the run ends with what it has
        word roots = 0, ends = 0;
        for (int k = 0; k < 2; ++k) {
            const bool asks = depth[k] == least && !bit_of(roots, root[k]);
            const unsigned int same = __match_any_sync(FULL, asks ? root[k] : -1);
            const bool wins = asks && lowest(same) == lane;
            const word bit = wins ? (word)1 << root[k] : (word)0;
            roots |= (word)__reduce_or_sync(FULL, (unsigned int)bit) |
                     (word)__reduce_or_sync(FULL, (unsigned int)(bit >> 32)) << 32;
            ends |= (word)__reduce_or_sync(FULL, wins ? 1u << lane : 0u) << (32 * k);
            if (!wins) continue;
            int v = lane + 32 * k;
            for (unsigned int length = 0; length <= least; ++length) {  // nobody else is here
                const int u = own.from_row[v];
                own.mate[u] = v;
                own.mate_of[v] = u;
                v = own.from_column[u];
            }
        }
        __syncwarp(FULL);
        free_rows &= ~roots;
        free_columns &= ~ends;
        ++number;
        shift += turn;
        if (shift >= num_left) shift -= num_left;
    }
    __syncwarp(FULL);
    for (int u = lane; u < num_left; u += 32)
        all.mates[graph * num_left + u] = own.mate[u] == NOBODY ? NO_MATE : own.mate[u];
    if (lane != 0) return;
    all.row_cover[graph] = every_row & ~rows;
    all.column_cover[graph] = reached_columns;
    all.rounds[graph] = number;
}
