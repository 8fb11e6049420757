// Of all assignments of least cost the first in order is found; see problem.cuh.
//
// Rows and columns are the left and the right here. A plane of bits has WORDS words for each row.
//
// Assignments are compared as the columns of their rows in order, where any column is before none.
// A row in turn takes the lowest column from which those driven out can move on, over exact pairs
// alone, until the last takes what this row had. The row of a free column is nobody, and the column
// of a free row is nowhere: any may move there whose price is 0. A column is live while its row
// could move on to another live one: if none is, there is no other assignment.
//
// A search goes backwards, a step at a time, and all lanes take part: from what the row has to the columns whose rows can
// take that, to those whose rows can take one of these, and so on. So it tells of all columns whether the row can have
// them.

struct Planes {
    bits *exact, *barred;  // see `weighed`
    bits* columns;         // (WORDS,): a set of them
};

__device__ inline bool has_bit(const bits* set, int place) {
    return set[place / 32] >> (place & 31) & 1;
}
__device__ inline bits bit_of(int place, int word) {  // in this word of a set; 0 of NONE
    return place >> 5 == word ? 1u << (place & 31) : 0;
}
__device__ inline bits below(int column, int from) {  // of a word that begins there
    const int count = column - from;
    return count <= 0 ? 0 : count >= 32 ? ~0u : (1u << count) - 1;
}

#define NOWHERE (-3)
#define NOT_FOUND (~0u)  // of rows and pairs as bits
#define ALL_OWN ((2u << (EACH - 1)) - 1)  // a bit for each row that a lane sees to
#define LOOKS_AHEAD (LANES > 128)  // before a search, which takes longer there
#define MOST_HELD 16  // words of its rows that a lane keeps
#define SETS (WORDS < (FULL + 31) / 32 ? WORDS : (FULL + 31) / 32)  // words that have columns

// Where a row may move: one that is settled only among pairs that must not be assigned.
struct Ways {
    const Planes& planes;
    bool has_barred;
    __device__ bits word(int row, int k, bool is_settled) const {
        bits found = planes.exact[row * WORDS + k];
        if (BARS && has_barred) found = (is_settled ? 0 : found) | planes.barred[row * WORDS + k];
        return found;
    }
    __device__ bool has(int row, int column, bool is_settled) const {
        return word(row, column / 32, is_settled) >> (column & 31) & 1;
    }
    // Whether there is one in this set of columns, other than its own.
    __device__ bool any(int row, const bits* set, int own) const {
        for (int k = 0; k < SETS; ++k)
            if (word(row, k, false) & set[k] & ~bit_of(own, k)) return true;
        return false;
    }
};

// A set of columns as words, one in each of the first lanes of a crew: those that are so.
template <class Is> __device__ inline bits set_of(int count, Is is_so) {
    const int lane = threadIdx.x % CREW;
    bits own = 0;
    for (int from = 0; from < count; from += CREW) {
        const bits some = asked(from + lane < count && is_so(from + lane));
        if (from / 32 == lane) own |= some << (from & 31);
    }
    return own;
}
__device__ inline int lowest_of(bits own) {
    const bits some = asked(own != 0);
    if (!some) return NONE;
    const int word = __ffs((int)some) - 1;
    return 32 * word + __ffs((int)told_by(own, word)) - 1;
}

// Finds which columns are live: a word of them in each of the first lanes of a crew.
struct Living {
    const Problem& own;
    const Ways& ways;
    const wide *left, *right;  // prices
    const short *column_of, *row_of;
    bits* live;  // (WORDS,)
    bool is_nobody_live, is_nowhere_live;

    // Each crew has all rows in registers.
    __device__ bits held() {
        const int lane = threadIdx.x % CREW, num_left = own.num_left, num_right = own.num_right;
        bits ways_of[SPAN][SETS], sets[SETS], stays = 0;  // bit k: the row may move nowhere
        int column[SPAN];
#pragma unroll
        for (int k = 0; k < SPAN; ++k) {
            const int row = lane + k * CREW;
            const bool is_row = row < num_left;
            column[k] = is_row ? column_of[row] : NONE;
            if (column[k] != NONE && is_nowhere_live) stays |= (bits)(left[row] == 0) << k;
#pragma unroll
            for (int w = 0; w < SETS; ++w) {
                ways_of[k][w] = is_row ? ways.word(row, w, false) : 0;
                if (column[k] >> 5 == w) ways_of[k][w] &= ~(1u << (column[k] & 31));
            }
        }
        bits to_nobody = 0, nobodys = 0;  // columns to which nobody moves, and nobody's
        if (is_nobody_live) {
            to_nobody = set_of(num_right, [&](int one) { return right[one] == 0 && row_of[one] != NONE; });
            nobodys = set_of(num_right, [&](int one) { return row_of[one] == NONE; });
        }
#pragma unroll
        for (int w = 0; w < SETS; ++w) sets[w] = below(num_right, 32 * w);
        for (bool changes = true; changes;) {
            bits dead[SETS] = {};
            bool moves = false, nobody_moves = false;  // a free row; nobody
            changes = false;
#pragma unroll
            for (int k = 0; k < SPAN; ++k) {
                bits some = stays >> k & 1;
#pragma unroll
                for (int w = 0; w < SETS; ++w) some |= ways_of[k][w] & sets[w];
                if (column[k] == NONE) moves |= some != 0;
#pragma unroll
                for (int w = 0; w < SETS; ++w)
                    if (!some && column[k] >> 5 == w) dead[w] |= 1u << (column[k] & 31);
            }
#pragma unroll
            for (int w = 0; w < SETS; ++w) {
                if (is_nobody_live) nobody_moves |= told_by(to_nobody, w) & sets[w];
                dead[w] = any_bits(dead[w]) & sets[w];
                sets[w] ^= dead[w];
                changes |= dead[w] != 0;
            }
            if (is_nobody_live && !nobody_moves) {
                is_nobody_live = false, changes = true;
#pragma unroll
                for (int w = 0; w < SETS; ++w) sets[w] &= ~told_by(nobodys, w);
            }
            if (is_nowhere_live && !asked(moves)) is_nowhere_live = false, changes = true, stays = 0;
        }
#pragma unroll
        for (int w = 0; w < SETS; ++w)
            if (threadIdx.x % LANES == w) live[w] = sets[w];
        meet();
        return lane < SETS ? live[lane] : 0;
    }

    // All lanes look at rows in shared memory.
    __device__ bits shared() {
        const int thread = threadIdx.x % LANES, lane = thread % CREW;
        const int num_left = own.num_left, num_right = own.num_right;
        for (int k = thread; k < WORDS; k += LANES) live[k] = below(num_right, 32 * k);
        meet();
        for (bool changes = true; changes;) {
            bits dead = 0;  // bit k: the column of row thread + k · LANES
            bool free_moves = false;
            for (int row = thread, k = 0; row < num_left; row += LANES, ++k) {
                const int column = column_of[row];
                if (column == NONE) free_moves |= is_nowhere_live && ways.any(row, live, NONE);
                else if (has_bit(live, column) && !(is_nowhere_live && left[row] == 0))
                    dead |= (bits)!ways.any(row, live, column) << k;
            }
            // Nobody moves only to a column that has a row.
            bool nobody_moves = false;
            if (is_nobody_live)
                for (int column = thread; column < num_right; column += LANES)
                    nobody_moves |= right[column] == 0 && row_of[column] != NONE && has_bit(live, column);
            const bool kills_nobody = is_nobody_live && !any_of_all(nobody_moves);
            const bool kills_nowhere = is_nowhere_live && !any_of_all(free_moves);
            changes = any_of_all(dead != 0) || kills_nobody || kills_nowhere;
            is_nobody_live &= !kills_nobody;
            is_nowhere_live &= !kills_nowhere;
            for (int row = thread, k = 0; row < num_left; row += LANES, ++k)
                if (dead >> k & 1) atomicAnd(live + column_of[row] / 32, ~(1u << (column_of[row] & 31)));
            if (kills_nobody)
                for (int column = thread; column < num_right; column += LANES)
                    if (row_of[column] == NONE) atomicAnd(live + column / 32, ~(1u << (column & 31)));
            meet();
        }
        return lane < WORDS ? live[lane] : 0;
    }
};

// Who can exchange columns. A lane sees to rows and columns thread + k · LANES; of a set of columns each of the
// first lanes of a crew has a word.
struct Exchange {
    const Ways& ways;
    const wide *left, *right;  // prices
    short *column_of, *row_of;
    short* next;  // (many,): what the row of a column takes if it is driven out
    int num_left, num_right;
    bool has_nobody, has_nowhere;  // and they are live
    bits open;      // columns that may change hands
    bits ends;      // those whose price is 0, if nobody may move there
    bits* helpers;  // (2,), by turns: see `at_once`
    bits closed = 0;  // bit k: this row keeps what it has
    bool turn = false;

    // Rows keep what they have if that is not live.
    __device__ void close(const bits* live) {
        const int thread = threadIdx.x % LANES;
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const int row = thread + k * LANES, had = row < num_left ? column_of[row] : NONE;
            const bool is_live = had != NONE ? has_bit(live, had) && row_of[had] == row : row < num_left && has_nowhere;
            closed |= (bits)!is_live << k;
        }
    }

    // A row takes the lowest of these columns that it can have, which is returned, or NONE.
    __device__ int moved(int row, int had, bits wanted) {
        const int lowest = lowest_of(wanted);
        if (LOOKS_AHEAD && at_once(row, had, lowest)) return lowest;
        return by_search(row, had, wanted, lowest);
    }

    // Whether it can have this column, and then it takes it, without a search: the row of the column takes what the row
    // had, or what another one has, who then takes that. Of those that could, the lowest does.
    __device__ bool at_once(int row, int had, int column) {
        const int thread = threadIdx.x % LANES, driven_out = row_of[column];
        const bool is_end = had == NONE || driven_out == NONE;  // of nothing, or nobody
        int last = driven_out;
        if (is_end) {
            const bool moves = had != NONE ? right[had] == 0 : driven_out != NONE && left[driven_out] == 0;
            if (!moves) return false;
        } else {
            bits own = NOT_FOUND;
#pragma unroll
            for (int k = EACH; k--;) {
                const int one = min(thread + k * LANES, num_left - 1), has = column_of[one];
                if (closed >> k & 1 || one == row || has == NONE) continue;
                if (ways.has(one, had, one < row) && ways.has(driven_out, has, driven_out < row)) own = one;
            }
            if (own != NOT_FOUND) atomicMin(helpers + turn, own);
            if (thread == 0) helpers[!turn] = NOT_FOUND;
        }
        meet();
        if (!is_end) {
            last = helpers[turn];
            turn = !turn;
            if (last == NONE) return false;
        }
        if (thread == 0) {
            if (last != driven_out) {
                const int next = column_of[last];
                column_of[driven_out] = next, row_of[next] = driven_out;
            }
            if (last != NONE) column_of[last] = had;
            if (had != NONE) row_of[had] = last;
            column_of[row] = column, row_of[column] = row;
        }
        meet();
        return true;
    }

    // As `moved`, by a search that is over once the lowest of them is reached.
    __device__ int by_search(int row, int had, bits wanted, int lowest) {
        const int thread = threadIdx.x % LANES, lane = thread % CREW;
        // Columns that were reached in one step after the other, by turns; and behind them, by which pair nowhere was.
        __shared__ bits all_sets[GROUPS][3][SETS + 1];
        bits(*sets)[SETS + 1] = all_sets[threadIdx.x / LANES];
        const auto clear = [&](bits* set) {
            if (thread <= SETS) set[thread] = thread < SETS ? 0 : NOT_FOUND;
        };
        bits done = closed | (row % LANES == thread ? 1u << row / LANES : 0);
        bits fresh = bit_of(had, lane), reached = fresh;
        bool asks_nobody = has_nobody, asks_nowhere = has_nowhere && had != NONE, is_nowhere_fresh = had == NONE;
        int from_nowhere = 0;
        clear(sets[1]);
        if (thread < SETS) sets[0][thread] = fresh;
        meet();
        for (int at = 0;; at = (at + 1) % 3) {
            const bits* now = sets[at];
            bits* then = sets[(at + 1) % 3];
            const auto reach = [&](int column, int to) {
                next[column] = to;
                atomicOr(then + column / 32, 1u << (column & 31));
            };
            clear(sets[(at + 2) % 3]);
            if (done != ALL_OWN) {
                bits found[EACH] = {};
                int from[EACH] = {};
#pragma unroll 8
                for (int w = 0; w < SETS; ++w) {
                    const bits taken = now[w];
#pragma unroll
                    for (int k = 0; k < EACH; ++k) {
                        const int one = min(thread + k * LANES, num_left - 1);
                        const bits some = ways.word(one, w, one < row) & taken;
                        if (some) found[k] = some, from[k] = 32 * w;
                    }
                }
#pragma unroll
                for (int k = 0; k < EACH; ++k) {
                    const int one = thread + k * LANES;
                    if (done >> k & 1 || !(found[k] || (is_nowhere_fresh && left[one] == 0))) continue;
                    const int column = column_of[one], to = found[k] ? from[k] + __ffs((int)found[k]) - 1 : NOWHERE;
                    if (column != NONE) reach(column, to);
                    else if (asks_nowhere) atomicMin(then + SETS, (bits)PAIR(to, one));
                    done |= 1u << k;
                }
            }
            if (asks_nobody && asked(fresh & ends)) {
                const int to = lowest_of(fresh & ends);
                for (int column = thread; column < num_right; column += LANES)
                    if (row_of[column] == NONE) reach(column, to);
                asks_nobody = false;
            }
            meet();
            fresh = lane < SETS ? then[lane] : 0;
            reached |= fresh;
            is_nowhere_fresh = asks_nowhere && then[SETS] != NOT_FOUND;
            if (is_nowhere_fresh) from_nowhere = then[SETS], asks_nowhere = false;
            if (asked(fresh & bit_of(lowest, lane)) || !(asked(fresh) || is_nowhere_fresh)) break;
        }
        const int best = lowest_of(wanted & reached);
        if (best == NONE) forget(done & ~closed, row, reached);
        else if (thread == 0) exchange(row, best, had, from_nowhere);
        meet();
        return best;
    }

    // The row takes this column, whose row takes the next one, until one takes what the first had. One lane does it.
    __device__ void exchange(int row, int column, int had, int from_nowhere) const {
        while (true) {
            if (row != NONE) column_of[row] = column == NOWHERE ? NONE : column;
            if (column == NOWHERE) {
                if (had == NONE) return;
                row = from_nowhere >> 16, column = from_nowhere & 0xffff;
            } else {
                const int driven_out = row_of[column];
                row_of[column] = row;
                if (column == had) return;
                row = driven_out, column = next[column];
            }
        }
    }

    // Rows whose columns were reached need no way to others: from there none leads back.
    __device__ void forget(bits those, int row, bits reached) const {
        const int thread = threadIdx.x % LANES;
#pragma unroll 4
        for (int w = 0; w < SETS; ++w) {
            const bits some = told_by(reached, w);
#pragma unroll
            for (int k = 0; k < EACH; ++k) {
                const int one = thread + k * LANES;
                if (those >> k & 1 && one != row) ways.planes.exact[one * WORDS + w] &= some;
            }
        }
    }
};

__device__ inline void settled(const Problem& own, bool has_barred, const Shared& shared, const Planes& planes,
    short* column_of, short* row_of) {
    const int thread = threadIdx.x % LANES, lane = thread % CREW;
    const int num_left = own.num_left, num_right = own.num_right;
    const bool is_turned = own.is_turned();
    const wide* left = is_turned ? shared.many_price : shared.few_price;
    const wide* right = is_turned ? shared.few_price : shared.many_price;
    const Ways ways = {planes, has_barred};
    __shared__ bits helpers[GROUPS][2];
    if (thread == 0) helpers[threadIdx.x / LANES][0] = NOT_FOUND;  // seen by all once it is known what is live
    Living living = {own, ways, left, right, column_of, row_of, planes.columns, num_left < num_right, is_turned};
    const bits open = SETS * SPAN <= MOST_HELD ? living.held() : living.shared();
    const bool has_nobody = living.is_nobody_live, has_nowhere = living.is_nowhere_live;
    together();
    if (!asked(open) && !has_nowhere) return;
    const bits ends = has_nobody ? set_of(num_right, [&](int column) { return right[column] == 0; }) : 0;
    Exchange those = {ways, left, right, column_of, row_of, shared.parent, num_left, num_right,
                      has_nobody, has_nowhere, open, ends, helpers[threadIdx.x / LANES]};
    those.close(living.live);
    for (int row = 0; row < num_left; ++row) {
        const int had = column_of[row];
        const bits exact = lane < SETS ? planes.exact[row * WORDS + lane] : 0;
        const bool is_real = had != NONE && (!BARS || !has_barred || asked(exact & bit_of(had, lane)));
        bits wanted = exact & those.open;
        if (is_real) wanted &= below(had, 32 * lane);
        int has = NONE;
        if (asked(wanted)) has = those.moved(row, had, wanted);
        if (has == NONE && is_real) has = had;
        those.open &= ~bit_of(has, lane);
        if (row % LANES == thread && (has != NONE || !has_barred)) those.closed |= 1u << row / LANES;
    }
    meet();
}
