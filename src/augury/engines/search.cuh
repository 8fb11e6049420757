// Tables of units become assignments of least cost, with prices; see problem.cuh.
//
// The method is the one of assignments.py: columns are priced at their least cost, which may be less what rows pay
// (soften.cuh), free rows bid for them, and the rows left over are assigned along shortest augmenting paths. Where a problem has
// several crews, each reads the row of another bidder; and a search goes on from the nearest column of
// each of them at once. So it may go through a column before its distance is the least, and does it
// again when it gets less; what it finds in the end is the same.
//
// All is doubled, and a column that has a row has an odd price: 2 · price − 1. So of equally near
// columns a free one comes first, and the lowest bit of a distance says what was found.
//
// A `unit` is an int where all costs are below C = 2^TABLE_BITS, which takes half the instructions and
// half the memory: as long as a row is free, so is a column, at its first price. That is from 0 to C, for no row begins
// with a price above 0, and one with 0. So no price leaves -2 C … C, and no sum here exceeds 7 C, which doubled is below
// 2^31.

#define BIDS (CREWS > 1 ? 6 : 2)                  // times the free rows
#define EACH ((SPAN + CREWS - 1) / CREWS)         // columns that a lane keeps the distances of
#define FAR(unit) ((unit)(sizeof(unit) == 4 ? 0x7fffffff : (wide)1 << 62))  // no way there

// A column and a row in one number.
#define PAIR(column, row) ((column) | (row) << 16)

// The least over a crew; none of 64 bits is negative.
__device__ inline int least_of(int own) {
#if LANES >= 32
    return __reduce_min_sync(mask, own);
#else
    for (int step = CREW / 2; step; step /= 2) own = min(own, __shfl_xor_sync(mask, own, step));
    return own;
#endif
}
__device__ inline wide least_of(wide own) {
#if LANES >= 32
    const bits high = (bits)(own >> 32), least_high = __reduce_min_sync(mask, high);
    const bits low = high == least_high ? (bits)own : 0xffffffffu;
    return (wide)least_high << 32 | __reduce_min_sync(mask, low);
#else
    for (int step = CREW / 2; step; step /= 2) own = min(own, __shfl_xor_sync(mask, own, step));
    return own;
#endif
}
// And what comes with it: of equals, that of the first lane from `turn` on.
template <class unit> __device__ inline unit least_of(unit own, int& tag, int turn = 0) {
    const unit least = least_of(own);
    bits those = asked(own == least);
    if (CREWS > 1) those = __funnelshift_r(those, those, turn);
    tag = told_by(tag, __ffs((int)those) - 1 + (CREWS > 1 ? turn : 0));
    return least;
}

#if LANES > 32
#define PRICE(k) prices[lane + (k) * CREW]   // of column k of a row that a lane reads
#define KEPT(k) prices[min(thread + (k) * LANES, FULL - 1)]  // of column k of those that it keeps
#else
#define PRICE(k) prices[k]
#define KEPT(k) prices[k]
#endif
#define LOAD(costs, row) \
    _Pragma("unroll") for (int k = 0; k < SPAN; ++k) cost[k] = costs.cell(row, lane + k * CREW); \
    READS_ARE_UNDER_WAY

// Columns are priced, where there are as many as rows, and those rows that get none are put into the queue. How many?
// `prices` are those of a lane or of all, and behind these is room for offers of the crews.
template <class unit, class Costs>
__device__ inline int priced(
    const Costs& costs, int few, int many, const Shared& shared, const int* row_price, int* lowest, unit* prices) {
    const int thread = threadIdx.x % LANES, lane = thread % CREW, crew = thread / CREW;
    short *mate = shared.mate, *row_of = shared.row_of, *parent = shared.parent, *queue = shared.queue;
    for (int column = thread; column < many; column += LANES) row_of[column] = NONE;
    for (int row = thread; row < few; row += LANES) mate[row] = NONE, lowest[row] = many;
    meet();

    if (few == many) {  // a free column must cost nothing, so they are priced only if none will be
        unit least[SPAN], cost[SPAN];
        int cheapest[SPAN];
#pragma unroll
        for (int k = 0; k < SPAN; ++k) {  // of equals about their own row first, lest one be best for all
            const int column = lane + k * CREW;
            cheapest[k] = column / CREWS * CREWS + crew;
            const bool is_there = column < many && cheapest[k] < few;
            least[k] = is_there ? costs.cell(cheapest[k], column) - row_price[cheapest[k]] : FAR(unit);
        }
        for (int row = crew; row < few; row += CREWS) {
            LOAD(costs, row)
            const int paid = row_price[row];
#pragma unroll
            for (int k = 0; k < SPAN; ++k)
                if (cost[k] - paid < least[k]) least[k] = cost[k] - paid, cheapest[k] = row;
        }
#if LANES > 32
        unit* offers = prices + FULL;  // (crew, FULL)
#pragma unroll
        for (int k = 0; k < SPAN; ++k) offers[crew * FULL + lane + k * CREW] = least[k];
        meet();
        for (int column = thread; column < many; column += LANES) {
            int best = column % CREWS;
            for (int other = 1; other < CREWS; ++other) {
                const int who = (column + other) % CREWS;
                if (offers[who * FULL + column] < offers[best * FULL + column]) best = who;
            }
            prices[column] = offers[best * FULL + column];
            parent[column] = best;
        }
        meet();
#endif
        if (LANES <= 32) meet();
        bits gets = 0;
#pragma unroll
        for (int k = 0; k < SPAN; ++k) {
            const int column = lane + k * CREW;
#if LANES > 32
            if (column >= many || parent[column] != crew) continue;
#else
            if (column >= many) continue;
            prices[k] = least[k];
#endif
            gets |= 1u << k;
            atomicMin(&lowest[cheapest[k]], column);
        }
        meet();
#pragma unroll
        for (int k = 0; k < SPAN; ++k) {
            const int column = lane + k * CREW;
            if (!(gets >> k & 1) || lowest[cheapest[k]] != column) continue;
            mate[cheapest[k]] = column;
            row_of[column] = cheapest[k];
            PRICE(k) -= 1;
        }
        meet();
    }
    together();
    int num_free = 0;  // the first of the queue are free, the last have no bid to make
    for (int from = 0; from < few; from += CREW) {
        const int row = from + lane;
        const bool is_free = row < few && mate[row] == NONE;
        const bits all = asked(is_free);
        if (is_free && crew == 0) queue[num_free + __popc(all & ((1u << lane) - 1))] = row;
        num_free += __popc(all);
    }
    meet();
    return num_free;
}

// Here `room` is for the prices and offers of many crews.
template <class unit, class Costs>
__device__ inline void searched(
    const Costs& costs, int few, int many, const Shared& shared, unit* room) {
    const int thread = threadIdx.x % LANES, lane = thread % CREW, crew = thread / CREW;
    wide* due = shared.few_price;  // what each assigned row pays, less the price; doubled, and 1
    short *mate = shared.mate, *row_of = shared.row_of, *parent = shared.parent, *queue = shared.queue;
    unit cost[SPAN];
#if LANES > 32
    struct alignas(16) Bid { unit rise, pays; int pair, loser; };
    // The nearest column of a crew: how far it is if it ends a path, or goes on; what the row that it goes on
    // from adds to its costs; and that row, or the column where it ends.
    struct alignas(16) Step { unit ends, goes_on, base; int place; };
    __shared__ Bid bids[CREWS];
    __shared__ Step steps[2][CREWS];
    unit* prices = room;  // (FULL,)
    for (int column = thread; column < FULL; column += LANES) prices[column] = 0;
#else
    unit prices[SPAN];
#pragma unroll
    for (int k = 0; k < SPAN; ++k) prices[k] = 0;
#endif

    int *row_price = (int*)due, *lowest = row_price + few;  // until something is due
    for (int row = thread; row < few; row += LANES) row_price[row] = 0;
    int num_free;
    bool is_soft = false;
    while (true) {
        num_free = priced(costs, few, many, shared, row_price, lowest, prices);
        if (is_soft || few < many) break;
        if constexpr (LANES >= 32 && sizeof(unit) == sizeof(int)) {
            float* soft = (float*)due;
#pragma unroll
            for (int k = 0; k < EACH; ++k) {
                const int column = thread + k * LANES;
                if (column < many) soft[few + column] = (float)((KEPT(k) + 1) & ~1);
            }
            meet();
            is_soft = softened(costs, few, num_free, soft);
        }
        if (!is_soft) break;
    }
    int begins[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int row = thread + k * LANES;
        begins[k] = is_soft && row < few && mate[row] != NONE ? row_price[row] : 0;
    }
    meet();
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (thread + k * LANES < few) due[thread + k * LANES] = begins[k] + 1;
    meet();

    // Each free row takes its best column, at a price that makes the second best as good. Who is
    // driven out bids again. Rows could outbid each other by one for ever, so bids are counted.
    int num_kept = 0, num_bids = BIDS * num_free + (CREWS > 1 ? 8 * CREWS : 0);
    while (num_free > 0 && num_bids > 0) {
        const int num_bidders = min(CREWS, num_free);
        num_bids -= num_bidders;
        int row = 0, best = 0, loser = NONE;
        bool has_loser = false;
        unit rise = 0, pays = 0;
        if (crew < num_bidders) {
            unit least = FAR(unit), second = FAR(unit);
            row = queue[num_free - 1 - crew];
            LOAD(costs, row)
#pragma unroll
            for (int k = 0; k < SPAN; ++k) {
                const unit reduced = cost[k] - PRICE(k);
                const bool is_least = reduced < least;
                second = is_least ? least : min(second, reduced);
                best = is_least ? lane + k * CREW : best;
                least = is_least ? reduced : least;
            }
            const unit own = least;
            least = least_of(least, best, CREWS > 1 ? crew * (32 / CREWS) : 0);
            second = least_of(lane == best % CREW ? second : own);
            if (second < PAD(unit)) rise = (second & ~(unit)1) - (least & ~(unit)1);
            pays = (least | 1) + rise;
            has_loser = least & 1;
            if (lane == 0 && has_loser) loser = row_of[best];  // which only this lane overwrites
        }
#if LANES > 32
        if (lane == 0) {
            bids[crew] = {rise, pays, PAIR(best, row), loser};
        }
        meet();
        const bool is_bidder = lane < num_bidders;
        if (is_bidder) {  // of all crews, each sees to the bid of its lane's number
            const Bid own = bids[lane];
            rise = own.rise, pays = own.pays, loser = own.loser;
            best = own.pair & 0xffff, row = own.pair >> 16;
        }
        bool is_beaten = false;
#pragma unroll
        for (int other = 0; other < CREWS; ++other) {
            const unit rival = bids[other].rise;
            const bool is_rival = other < num_bidders && other != lane && (bids[other].pair & 0xffff) == best;
            is_beaten |= is_rival && (rival > rise || (rival == rise && other < lane));
        }
        const bool wins = is_bidder && !is_beaten && (rise > 0 || loser == NONE);
        const bool returns = is_bidder && (is_beaten || (wins && loser != NONE));
        const bits all = asked(returns), others = asked(is_bidder && !wins && !is_beaten);
        const bits before = (1u << lane) - 1;
        num_free -= num_bidders;
        if (crew == 0) {
            if (returns) queue[num_free + __popc(all & before)] = is_beaten ? row : loser;
            else if (is_bidder && !wins) queue[few - 1 - num_kept - __popc(others & before)] = row;
            if (wins) {
                mate[row] = best, row_of[best] = row, due[row] = pays;
                prices[best] -= rise + (loser == NONE);
            }
        }
        num_free += __popc(all), num_kept += __popc(others);
#else
        const bool wins = rise > 0 || !has_loser;
        if (wins)
#pragma unroll
            for (int k = 0; k < SPAN; ++k)
                if (lane + k * CREW == best) prices[k] -= rise + !has_loser;
        if (!wins || !has_loser) --num_free;
        if (lane == 0) {
            if (!wins) queue[few - 1 - num_kept] = row;
            else {
                mate[row] = best, row_of[best] = row, due[row] = pays;
                if (has_loser) queue[num_free - 1] = loser;
            }
        }
        num_kept += !wins;
#endif
        meet();
    }

    together();
    for (int number_of = 0; number_of < num_free + num_kept; ++number_of) {  // shortest paths
        const int free_row = queue[number_of < num_free ? number_of : few - 1 + num_free - number_of];
        bits is_done = 0;
        unit distance[EACH], price[EACH];
        int pair[EACH], before[EACH];
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const int column = min(thread + k * LANES, many - 1);
            distance[k] = costs.cell(free_row, column);
            pair[k] = PAIR(column, row_of[column] & 0xffff);
            before[k] = free_row;
            price[k] = KEPT(k);
        }
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const bool is_there = thread + k * LANES < many;
            distance[k] = is_there ? distance[k] - price[k] : -FAR(unit);
            is_done |= (bits)!is_there << k;
        }
        unit least;
        int last = 0;
        for (bool turn = false;; turn = !turn) {
            unit nearest = FAR(unit);
            int found = 0;
#pragma unroll
            for (int k = 0; k < EACH; ++k)
                if (!(is_done >> k & 1) && distance[k] < nearest) nearest = distance[k], found = pair[k];
#if LANES > 32
            const bool is_own = lane == __ffs((int)asked(nearest == least_of(nearest))) - 1;
            if (is_own) {
                const bool goes_on = nearest & 1;
                const int row = found >> 16;
                steps[turn][crew] = {goes_on ? FAR(unit) : nearest, goes_on ? nearest : FAR(unit),
                                     goes_on ? nearest - (unit)due[row] : 0, goes_on ? row : found & 0xffff};
            }
            meet();
            const Step* step = steps[turn];
            unit next = FAR(unit);
            least = FAR(unit);
#pragma unroll
            for (int one = 0; one < CREWS; ++one) least = min(least, step[one].ends), next = min(next, step[one].goes_on);
            if (next >= least) {
                for (int one = CREWS; one--;)
                    if (step[one].ends == least) last = step[one].place;
                break;
            }
            if (is_own && (nearest & 1) && nearest < least) is_done |= 1u << (found & 0xffff) / LANES;
#else
            least = least_of(nearest, found);
            last = found & 0xffff;
            if (!(least & 1)) break;
            const struct { unit goes_on, base; int place; } step[1] = {{least - 1, least - (unit)due[found >> 16], found >> 16}};
            if (thread == last % LANES) is_done |= 1u << last / LANES;
#endif
            unit base[CREWS], cost[CREWS][EACH];
            int row[CREWS];
            bool is_nearer[CREWS];
#pragma unroll
            for (int one = 0; one < CREWS; ++one) {
                base[one] = step[one].base, row[one] = step[one].place;
                is_nearer[one] = step[one].goes_on < least;
                if (is_nearer[one])
#pragma unroll
                    for (int k = 0; k < EACH; ++k)
                        cost[one][k] = costs.cell(row[one], min(thread + k * LANES, many - 1));
            }
            READS_ARE_UNDER_WAY
#pragma unroll
            for (int one = 0; one < CREWS; ++one)
#pragma unroll
                for (int k = 0; k < EACH; ++k) {
                    const unit there = base[one] + cost[one][k] - price[k];
                    if (is_nearer[one] && there < distance[k]) {
                        distance[k] = there, before[k] = row[one];
                        is_done &= ~(1u << k);
                    }
                }
        }
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const int column = thread + k * LANES;
            if (column >= many) continue;
            if (distance[k] < least) {
                const unit shorter = least + 1 - distance[k];
                price[k] -= shorter;
                due[pair[k] >> 16] += shorter;
            }
            KEPT(k) = price[k] - (column == last);
            parent[column] = before[k];
        }
        meet();
        if (thread == 0) {
            due[free_row] = least + 1;
            for (int column = last, at = NONE; at != free_row;) {
                at = parent[column];
                const int next = mate[at];
                row_of[column] = at;
                mate[at] = column;
                column = next;
            }
        }
        meet();
    }

    together();
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (thread + k * LANES < many) shared.many_price[thread + k * LANES] = (wide)(KEPT(k) + 1) >> 1;
    for (int row = thread; row < few; row += LANES) due[row] >>= 1;
    meet();
}
