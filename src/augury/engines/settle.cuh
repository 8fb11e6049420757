// Of all assignments of least cost the first in order is found; see problem.cuh.
//
// Rows and columns are the left and the right here. A plane of bits has WORDS words for each row.
//
// Assignments are compared as the columns of their rows in order, where any column is before none.
// A row in turn takes the lowest column from which those driven out can move on, over exact pairs
// alone, until the last takes what this row had. The row of a free column is nobody, and the column
// of a free row is nowhere: any may move there whose price is 0. A column is live while its row
// could move on to another live one: if none is, there is no other assignment.

struct Planes {
    bits *exact, *barred;  // see `weighed`
    bits* columns;         // (WORDS,): a set of them
};

__device__ inline bool has_bit(const bits* set, int place) {
    return set[place / 32] >> (place & 31) & 1;
}
__device__ inline bits below(int column, int from) {  // of a word that begins there
    const int count = column - from;
    return count <= 0 ? 0 : count >= 32 ? ~0u : (1u << count) - 1;
}

// Where a row may move: one that is settled only among pairs that must not be assigned.
struct Ways {
    const Planes& planes;
    bool has_barred;
    __device__ bits word(int row, int k, bool is_settled) const {
        bits found = is_settled ? 0 : planes.exact[row * WORDS + k];
        if (has_barred) found |= planes.barred[row * WORDS + k];
        return found;
    }
    __device__ bool has(int row, int column, bool is_settled) const {
        return word(row, column / 32, is_settled) >> (column & 31) & 1;
    }
    // Whether there is one in this set of columns, other than its own.
    __device__ bool any(int row, const bits* set, int own) const {
        for (int k = 0; k < WORDS; ++k) {
            bits found = word(row, k, false) & set[k];
            if (own >> 5 == k) found &= ~(1u << (own & 31));
            if (found) return true;
        }
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

#define NOWHERE (-3)
#define FEW 8  // one row in this many may be without a column
#define MOST_HELD 16  // words of its rows that a lane keeps
#define SETS (WORDS < (SPAN * CREW + 31) / 32 ? WORDS : (SPAN * CREW + 31) / 32)  // words that have columns
// Lanes for each of them: as many as there are for the next power of two.
#define PARTS (CREW / (SETS > 16 ? 32 : SETS > 8 ? 16 : SETS > 4 ? 8 : SETS > 2 ? 4 : SETS))

struct Chain {
    const Ways& ways;
    const wide *left, *right;  // prices
    short *column_of, *row_of;
    short *queue, *before;  // columns whose rows are driven out, and where those come from
    int num_left, num_right;

    // The words of all free rows together.
    __device__ bits of_free_rows(int row) const {
        const int lane = threadIdx.x % CREW;
        bits own = 0;
        for (int k = 0; k < WORDS; ++k) {
            bits some = 0;
            for (int one = lane; one < num_left; one += CREW)
                if (one != row && column_of[one] == NONE) some |= ways.word(one, k, one < row);
            some = any_bits(some);
            if (k == lane) own = some;
        }
        return own;
    }
    __device__ int free_row_to(int column, int row) const {
        const int lane = threadIdx.x % CREW;
        for (int from = 0; from < num_left; from += CREW) {
            const int one = from + lane;
            const bool is_so = one < num_left && one != row && column_of[one] == NONE;
            const bits some = asked(is_so && ways.has(one, column, one < row));
            if (some) return from + __ffs((int)some) - 1;
        }
        return NONE;
    }

    // Whether the row of this column can take what another one had, the target.
    __device__ bool can_end(int column, int target, int row) const {
        const int holder = row_of[column];
        if (holder == NONE) return target >= 0 && right[target] == 0;
        return target == NOWHERE ? left[holder] == 0 : ways.has(holder, target, holder < row);
    }

    // The row takes the lowest wanted column that it can have, which is returned, or NONE. `open` are the
    // columns that may change hands, and at last those of them that were not reached. One crew does it.
    __device__ int moved(int row, int had, bits wanted, bits& open, bool has_nowhere) const {
        const int lane = threadIdx.x % CREW, target = had == NONE ? NOWHERE : had;
        const bool has_word = lane < WORDS;
        open &= ~(target / 32 == lane && target >= 0 ? 1u << (target & 31) : 0);
        bits nobodys = 0;
        bool has_nobodys = false, saw_nowhere = !has_nowhere || had == NONE;
        int before_nowhere = NONE;
        while (true) {
            const int source = lowest_of(wanted & open);
            if (source == NONE) return NONE;
            int count = 1, last = NONE;
            if (source / 32 == lane) open &= ~(1u << (source & 31));
            if (lane == 0) queue[0] = source;
            crew_meets();
            if (can_end(source, target, row)) last = source;
            for (int at = 0; at < count && last == NONE; ++at) {
                const int column = queue[at];
                bits found = 0;
                if (column == NOWHERE) found = of_free_rows(row);
                else if (row_of[column] == NONE) {
                    if (!has_nobodys) nobodys = set_of(num_right, [&](int one) { return right[one] == 0; });
                    has_nobodys = true;
                    found = nobodys;
                } else {
                    const int holder = row_of[column];
                    if (has_word) found = ways.word(holder, lane, holder < row);
                    if (!saw_nowhere && left[holder] == 0) {
                        saw_nowhere = true, before_nowhere = column;
                        if (lane == 0) queue[count] = NOWHERE;
                        ++count;
                    }
                }
                if (column == NOWHERE && asked(target / 32 == lane && found >> (target & 31) & 1)) {
                    last = NOWHERE;
                    break;
                }
                found &= open;
                open &= ~found;
                // So that all lanes have some to look at: each a part of a word.
                found = told_by(found, lane / PARTS) >> lane % PARTS * (32 / PARTS) & ((2u << (32 / PARTS - 1)) - 1);
                for (bits some; last == NONE && (some = asked(found != 0)); found &= found - 1) {
                    const int one = lane * (32 / PARTS) + __ffs((int)found) - 1;
                    const bits ends = asked(found && can_end(one, target, row));
                    if (found) queue[count + __popc(some & ((1u << lane) - 1))] = one, before[one] = column;
                    count += __popc(some);
                    if (ends) last = told_by(one, __ffs((int)ends) - 1);
                }
                crew_meets();
            }
            if (last == NONE) continue;
            crew_meets();
            for (int column = last, to = target;; column = column == NOWHERE ? before_nowhere : before[column]) {
                const int holder = column == NOWHERE ? free_row_to(to, row) : row_of[column];
                crew_meets();
                if (lane == 0) {
                    if (holder != NONE) column_of[holder] = to == NOWHERE ? NONE : to;
                    if (to != NOWHERE) row_of[to] = holder;
                }
                crew_meets();
                to = column;
                if (column == source) break;
            }
            if (lane == 0) column_of[row] = source, row_of[source] = row;
            crew_meets();
            return source;
        }
    }
};

// Where there are as many rows as columns, and all may be assigned: what saves searches.
struct Square {
    const Ways& ways;
    short *column_of, *row_of;
    short *queue, *before;  // columns that a search has reached, and where from
    int size;

    // Each row in turn takes the lowest column that is left, and the few without one take one over; unless they
    // are many, then all stays as it is. With many ties this is nearly the first assignment. One crew does it.
    __device__ void begin(const bits* live, bits open) const {
        const int lane = threadIdx.x % CREW;
        bits left = open;
        int num_without = 0;
        for (int row = 0; row < size; ++row) {
            int column = column_of[row];
            if (has_bit(live, column)) {
                column = lowest_of(lane < WORDS ? ways.word(row, lane, false) & left : 0);
                if (column == NONE) ++num_without;
                else if (column / 32 == lane) left ^= 1u << (column & 31);
            }
            if (lane == 0) queue[row] = column;
        }
        if (num_without * FEW > size) return;
        crew_meets();
        for (int row = lane; row < size; row += CREW) {
            column_of[row] = queue[row];
            if (queue[row] != NONE) row_of[queue[row]] = row;
        }
        crew_meets();
        for (int row = 0; row < size; ++row)
            if (column_of[row] == NONE) complete(row, open, left);
    }

    // A row gets a column that is left: along a path on which each row takes that of the next.
    __device__ void complete(int row, bits open, bits& left) const {
        const int lane = threadIdx.x % CREW;
        int to, from = NONE, holder = row;
        for (int at = 0, count = 0;; ++at) {
            bits found = lane < WORDS ? ways.word(holder, lane, false) & open : 0;
            to = lowest_of(found & left);
            if (to != NONE) break;
            open &= ~found;
            for (bits some; (some = asked(found != 0)); found &= found - 1) {
                const int one = 32 * lane + __ffs((int)found) - 1;
                if (found) queue[count + __popc(some & ((1u << lane) - 1))] = one, before[one] = from;
                count += __popc(some);
            }
            crew_meets();
            from = queue[at], holder = row_of[from];
        }
        if (to / 32 == lane) left ^= 1u << (to & 31);
        for (; from != NONE; to = from, from = before[from]) {
            holder = row_of[from];
            if (lane == 0) column_of[holder] = to, row_of[to] = holder;
            crew_meets();
        }
        if (lane == 0) column_of[row] = to, row_of[to] = row;
        crew_meets();
    }

    // Forget the ways into what a search has reached in vain: they lead in no circle among what is open. The
    // column that the search could not reach counts as well, for its row keeps it.
    __device__ void part(bits seen) const {
        const int lane = threadIdx.x % CREW;
        for (int from = 0; from < size; from += CREW) {
            const int row = from + lane, column = row < size ? column_of[row] : 0;
            const bits own = told_by(seen, column / 32);
            const bool is_outside = row < size && !(own >> (column & 31) & 1);
            for (int k = 0; k < SETS; ++k) {
                const bits some = told_by(seen, k);
                if (is_outside) ways.planes.exact[row * WORDS + k] &= ~some;
            }
        }
        crew_meets();
    }
};

// Finds which columns are live: a word of them in each of the first lanes of a crew, or of the first one.
struct Living {
    const Problem& own;
    const Ways& ways;
    const wide *left, *right;  // prices
    const short *column_of, *row_of;
    bits* live;  // (WORDS,)
    bool is_nobody_live, is_nowhere_live;

    // One crew has all rows in registers.
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
        bits open = 0;
#pragma unroll
        for (int w = 0; w < SETS; ++w)
            if (lane == w) live[w] = open = sets[w];
        crew_meets();
        return open;
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

__device__ inline void settled(const Problem& own, bool has_barred, const Shared& shared, const Planes& planes,
    short* column_of, short* row_of) {
    const int thread = threadIdx.x % LANES, lane = thread % CREW;
    const int num_left = own.num_left, num_right = own.num_right;
    const bool is_turned = own.is_turned(), has_word = lane < WORDS;
    const wide* left = is_turned ? shared.many_price : shared.few_price;
    const wide* right = is_turned ? shared.few_price : shared.many_price;
    const Ways ways = {planes, has_barred};
    Living living = {own, ways, left, right, column_of, row_of, planes.columns, num_left < num_right, is_turned};
    constexpr bool IS_HELD = SETS * SPAN <= MOST_HELD;
    bits open = 0;  // live, and not taken by a settled row
    if (!IS_HELD) open = living.shared();
    else if (thread < CREW) open = living.held();
    const bool has_choice = asked(open != 0) || living.is_nowhere_live;
    together();
    if (has_choice && thread < CREW) {
        const bool is_square = CREW == 32 && num_left == num_right && !has_barred;
        const Square square = {ways, column_of, row_of, shared.queue, shared.parent, num_left};
        if (is_square) square.begin(living.live, open);
        const Chain chain
            = {ways, left, right, column_of, row_of, shared.queue, shared.parent, num_left, num_right};
        for (int row = 0; row < num_left; ++row) {
            const int had = column_of[row];
            if (had == NONE ? !living.is_nowhere_live : !has_bit(living.live, had)) continue;
            const bool is_real = had != NONE && has_bit(planes.exact + row * WORDS, had);
            bits wanted = has_word ? planes.exact[row * WORDS + lane] & open : 0;
            if (is_real) wanted &= below(had, 32 * lane);
            int has = NONE;
            if (asked(wanted != 0)) {
                bits unseen = open;
                has = chain.moved(row, had, wanted, unseen, living.is_nowhere_live);
                if (has == NONE && is_square) square.part(open & ~unseen);
            }
            if (has == NONE && is_real) has = had;
            if (has != NONE && has / 32 == lane) open &= ~(1u << (has & 31));
        }
    }
    meet();
}
