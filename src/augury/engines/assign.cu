// Tables of units become assignments of least cost, with prices; see problem.cuh.
//
// The method is the one of assignments.py: columns are priced at their least cost, free rows bid for
// them, and the rows left over are assigned along shortest augmenting paths. Also given: EACH, the
// columns of a lane, at most 32; and CELLS, those of a table, if LANES is 1.

//
// A `unit` is an int where all costs are below C = 2^NARROW_BITS, which takes half the instructions:
// as long as a row is free, so is a column, at its first price; so no price leaves -2 C … C, no sum
// here exceeds 5 C, and twice that and 1 is below 2^31.

#define BIDS 3                               // times the free rows
#define ROWS (EACH < 8 ? 16 / (EACH + 1) + 1 : 2)  // that are read at a time for the least costs
#define BEYOND(unit) ((unit)(sizeof(unit) == 4 ? 0x3fffffff : FAR))  // no way there
#if LANES == 1  // the tables are in shared memory
#undef ROWS
#define ROWS 1
#define STRIDE (GROUPS | 1)
#define AT(row) (table + (row) * many * STRIDE + group)
#define READ(place, k) (place)[(k) * STRIDE]
#define AHEAD(row)
#else
#define AT(row) (table + (row) * many + lane)  // where a lane's costs of a row begin
#define READ(place, k) __ldg((place) + (k) * LANES)  // its k-th; others may be read before it is used
#ifdef __CUDACC__
#define AHEAD(row) /* have a row brought nearer */                                 \
    for (int k = 16 * lane; k < many; k += 16 * LANES)                             \
        asm volatile("prefetch.global.L1 [%0];" ::"l"(table + (row) * many + k));
#else
#define AHEAD(row)
#endif
#endif

// A column and the row that it has, in one number.
#define PAIR(column, row) ((column) | (row) << 16)

// The costs of a row: all are read before the first is used, for they come from far away. Where there
// is no column, what is read is no cost; it lies in memory of ours, and is not used.
#define LOAD(row)                                                                  \
    {                                                                              \
        const unit* there = AT(row);                                               \
        _Pragma("unroll") for (int k = 0; k < EACH; ++k) cost[k] = READ(there, k); \
    }

// The least over the lanes of a warp, none negative, and what comes with it.
__device__ inline int least_of_warp(int own, int& tag) {
    const int least = (int)__reduce_min_sync(mask, (bits)own);
    tag = told_by(tag, __ffs((int)asked(own == least)) - 1);
    return least;
}
__device__ inline wide least_of_warp(wide own, int& tag) {
    const bits high = (bits)(own >> 32), least_high = __reduce_min_sync(mask, high);
    const bits low = high == least_high ? (bits)own : 0xffffffffu;
    const bits least_low = __reduce_min_sync(mask, low);
    tag = told_by(tag, __ffs((int)asked(high == least_high && low == least_low)) - 1);
    return (wide)least_high << 32 | least_low;
}

// The same over all lanes, which must not differ in calls.
template <class unit> __device__ inline unit least_of(unit own, int& tag, int& turn) {
    if (LANES == 1) return own;
    unit least = least_of_warp(own, tag);
#if LANES > 32
    __shared__ unit least_there[2][LANES / 32];
    __shared__ int tag_there[2][LANES / 32];
    turn ^= 1;  // who is quick writes into the other half while the slow still read
    if (threadIdx.x % 32 == 0) {
        least_there[turn][threadIdx.x / 32] = least;
        tag_there[turn][threadIdx.x / 32] = tag;
    }
    __syncthreads();
    int who = 0;
    least = least_there[turn][0];
#pragma unroll
    for (int warp = 1; warp < LANES / 32; ++warp)
        if (least_there[turn][warp] < least) least = least_there[turn][warp], who = warp;
    tag = tag_there[turn][who];
#endif
    return least;
}

template <class unit>
__device__ inline void assigned(const Batch& batch, const unit* __restrict__ table, short* lists) {
    const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const wide number_of = (wide)blockIdx.x * GROUPS + group;
    const int num_left = batch.num_left, num_right = batch.num_right;
    const int length = max(num_left, num_right);
    const Problem own = batch.problems[number_of];
    const int few = min(own.num_left, own.num_right), many = max(own.num_left, own.num_right);
    wide* due = (wide*)lists;                        // what each assigned row pays, less the price
    short* mate = (short*)(due + GROUPS * length);   // the column of each row
    short* row_of = mate + GROUPS * length;          // the row of each column
    short* parent = row_of + GROUPS * length;  // the row before each column on its shortest path
    short* queue = parent + GROUPS * length;   // rows that are free
    int turn = 0, none;

    unit price[EACH], cost[EACH];
    bits is_column = 0, is_owned = 0;  // bit k: column lane + k · LANES
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int column = lane + k * LANES;
        is_column |= (bits)(column < many) << k;
        price[k] = 0;
        if (column < many) ENTRY(row_of, column) = NONE;
    }
    for (int row = lane; row < few; row += LANES) ENTRY(mate, row) = NONE, ENTRY(due, row) = FAR;
    meet();

    if (few == many) {  // a free column must cost nothing, so they are priced only if none will be
        int cheapest[EACH];
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const int column = lane + k * LANES;
            cheapest[k] = column;  // of equals their own row first, lest one row be best for all
            if (is_column >> k & 1) price[k] = READ(AT(column), k);
        }
        for (int from = 0; from < few; from += ROWS) {
            unit several[ROWS][EACH];  // read before the first is used
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const unit* there = AT(min(from + r, few - 1));
#pragma unroll
                for (int k = 0; k < EACH; ++k) several[r][k] = READ(there, k);
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int k = 0; k < EACH; ++k)
                    if ((is_column >> k & 1) && several[r][k] < price[k])
                        price[k] = several[r][k], cheapest[k] = min(from + r, few - 1);
        }
        // Of the columns that a row is cheapest for, it gets the lowest.
#pragma unroll
        for (int k = 0; k < EACH; ++k)
            if (is_column >> k & 1) atomicMin(&ENTRY(due, cheapest[k]), (wide)(lane + k * LANES));
        meet();
#pragma unroll
        for (int k = 0; k < EACH; ++k)
            if ((is_column >> k & 1) && ENTRY(due, cheapest[k]) == lane + k * LANES) {
                ENTRY(mate, cheapest[k]) = lane + k * LANES;
                ENTRY(row_of, lane + k * LANES) = cheapest[k];
                is_owned |= 1u << k;
            }
        meet();
    }
    for (int row = lane; row < few; row += LANES) ENTRY(due, row) = 0;
    int num_free = 0;
    if (lane < 32)
        for (int from = 0; from < few; from += min(LANES, 32)) {
            const int row = from + lane;
            const bool is_free = row < few && ENTRY(mate, row) == NONE;
            const bits all = asked(is_free);
            if (is_free) ENTRY(queue, num_free + __popc(all & ((1u << lane) - 1))) = row;
            num_free += __popc(all);
        }
#if LANES > 32
    __shared__ int shared_free;
    if (lane == 0) shared_free = num_free;
    meet();
    num_free = shared_free;
#endif
    meet();

    // Each free row takes its best column, at a price that makes the second best as good. Who is
    // driven out bids again. Rows could outbid each other by one for ever, so bids are counted.
    int num_kept = 0, num_bids = BIDS * num_free;
    for (int next = 0; next < num_free;) {
        const int row = ENTRY(queue, next++);
        unit least = BEYOND(unit), second = BEYOND(unit);
        int best = 0;
        LOAD(row)
        if (next < num_free) { AHEAD(ENTRY(queue, next)) }
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const unit reduced = is_column >> k & 1 ? cost[k] - price[k] : BEYOND(unit);
            const bool is_least = reduced < least;
            second = is_least ? least : min(second, reduced);
            best = is_least ? lane + k * LANES : best;
            least = is_least ? reduced : least;
        }
        const unit group_least = least_of(least, best, turn);
        second = least_of(lane == best % LANES ? second : least, none, turn);
        const int loser = ENTRY(row_of, best);
        const bool bids = num_bids > 0 && second < BEYOND(unit) && (group_least < second || loser == NONE);
        meet();
        if (lane == 0) {
            if (!bids) ENTRY(queue, num_kept) = row;
            else {
                ENTRY(mate, row) = best;
                ENTRY(row_of, best) = row;
                ENTRY(due, row) = second;
                if (loser != NONE) ENTRY(mate, loser) = NONE, ENTRY(queue, next - 1) = loser;
            }
        }
        if (bids) {
            --num_bids;
            if (loser != NONE) --next;
#pragma unroll
            for (int k = 0; k < EACH; ++k)
                if (lane + k * LANES == best) price[k] -= second - group_least, is_owned |= 1u << k;
        } else ++num_kept;
        meet();
    }

    for (int k_free = 0; k_free < num_kept; ++k_free) {  // along shortest augmenting paths
        const int free_row = ENTRY(queue, k_free);
        bits is_done = ~is_column;
        unit distance[EACH];
        int pair[EACH];
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            distance[k] = BEYOND(unit);
            pair[k] = PAIR(lane + k * LANES, is_owned >> k & 1 ? ENTRY(row_of, lane + k * LANES) : 0);
        }
        int row = free_row, last;
        unit offset = 0, least;
        while (true) {
            unit nearest = 2 * BEYOND(unit);  // twice the distance, and 1 if the column has a row
            int found = 0;
            LOAD(row)
#pragma unroll
            for (int k = 0; k < EACH; ++k) {
                const bool is_open = !(is_done >> k & 1);
                const unit there = cost[k] - price[k] + offset;
                if (is_open && there < distance[k]) {
                    distance[k] = there;
                    ENTRY(parent, lane + k * LANES) = row;
                }
                const unit key = 2 * distance[k] + (is_owned >> k & 1);
                if (is_open && key < nearest) nearest = key, found = pair[k];
            }
            nearest = least_of(nearest, found, turn);
            last = found & 0xffff;
            least = nearest >> 1;
            if (!(nearest & 1)) break;
            row = found >> 16;
            offset = least - (unit)ENTRY(due, row);
            if (lane == last % LANES) is_done |= 1u << last / LANES;
        }
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            if ((is_column & is_done) >> k & 1) {
                const unit shorter = least - distance[k];
                price[k] -= shorter;
                ENTRY(due, pair[k] >> 16) += shorter;
            }
            if (lane + k * LANES == last) is_owned |= 1u << k;
        }
        meet();
        if (lane == 0) ENTRY(due, free_row) = least;
        if (lane == 0)
            for (int column = last, at = NONE; at != free_row;) {
                at = ENTRY(parent, column);
                const int before = ENTRY(mate, at);
                ENTRY(row_of, column) = at;
                ENTRY(mate, at) = column;
                column = before;
            }
        meet();
    }

    const bool is_turned = own.num_left > own.num_right;
    wide* left_price = batch.left_price + number_of * num_left;
    wide* right_price = batch.right_price + number_of * num_right;
    wide* few_price = is_turned ? right_price : left_price;
    wide* many_price = is_turned ? left_price : right_price;
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (is_column >> k & 1) many_price[lane + k * LANES] = price[k];
    for (int row = lane; row < few; row += LANES) {
        batch.mates[number_of * length + row] = ENTRY(mate, row);
        few_price[row] = ENTRY(due, row);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) assign(const Batch batch) {
    MEMORY
    const wide number_of = (wide)blockIdx.x * GROUPS + threadIdx.x / LANES;
    const int cells = batch.num_left * batch.num_right;
#if LANES == 1
    const wide first = (wide)blockIdx.x * GROUPS * CELLS;
    const int num_held = (int)min((wide)CELLS * GROUPS, batch.num_problems * CELLS - first);
    for (int k = threadIdx.x; k < num_held; k += THREADS)
        memory[k % CELLS * STRIDE + k / CELLS] = batch.tables[first + k];
    __syncthreads();
    if (number_of < batch.num_problems) assigned(batch, memory, (short*)(memory + cells * STRIDE));
#else
    if (number_of >= batch.num_problems) return;
    const wide* table = batch.tables + number_of * cells;
    if (batch.problems[number_of].is_narrow) assigned(batch, (const int*)table, (short*)memory);
    else assigned(batch, table, (short*)memory);
#endif
}
