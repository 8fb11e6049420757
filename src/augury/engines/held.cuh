// The same where one crew holds all rows in registers, and all pairs may be assigned; see chain.cuh.
//
// Sets of columns are known to all lanes. Those from which one can move on to what a row had are found
// backwards, for all rows at once.

#define MOST_HELD 16  // words of its rows that a lane keeps

struct Columns {
    bits word[SETS];
    __device__ bool any() const {
        bits all = 0;
#pragma unroll
        for (int w = 0; w < SETS; ++w) all |= word[w];
        return all != 0;
    }
    __device__ int lowest() const {
        int found = NONE;
#pragma unroll
        for (int w = SETS; w--;)
            if (word[w]) found = 32 * w + __ffs((int)word[w]) - 1;
        return found;
    }
    template <class Join> __device__ Columns with(const Columns& other, Join join) const {
        Columns found;
#pragma unroll
        for (int w = 0; w < SETS; ++w) found.word[w] = join(word[w], other.word[w]);
        return found;
    }
    __device__ Columns operator&(const Columns& other) const {
        return with(other, [](bits a, bits b) { return a & b; });
    }
    __device__ Columns operator|(const Columns& other) const {
        return with(other, [](bits a, bits b) { return a | b; });
    }
    __device__ Columns operator-(const Columns& other) const {
        return with(other, [](bits a, bits b) { return a & ~b; });
    }
};
__device__ inline Columns those_below(int column) {
    Columns found;
#pragma unroll
    for (int w = 0; w < SETS; ++w) found.word[w] = below(column, 32 * w);
    return found;
}
__device__ inline Columns only(int column) {  // none if it is none
    Columns found;
#pragma unroll
    for (int w = 0; w < SETS; ++w) found.word[w] = column >> 5 == w ? 1u << (column & 31) : 0;
    return found;
}
__device__ inline bool is_in(const Columns& those, int column) { return (those & only(column)).any(); }
// Those of any lane.
__device__ inline Columns joined(Columns own) {
#pragma unroll
    for (int w = 0; w < SETS; ++w) own.word[w] = any_bits(own.word[w]);
    return own;
}

struct Held {
    const Problem& own;
    const wide* right;         // prices
    const bits* exact;
    short *column_of, *row_of;
    short* next;               // (many,): where the row of a column moves on to
    Columns ways[SPAN];        // of row lane + k * CREW
    int column[SPAN];
    bits stays;                // bit k: the row may go nowhere
    Columns live, unpriced;    // unpriced: where nobody may move
    bool is_nobody_live, is_nowhere_live;

    __device__ Held(const Problem& own, const wide* left, const wide* right, const bits* exact,
        short* column_of, short* row_of, short* next)
        : own(own), right(right), exact(exact), column_of(column_of), row_of(row_of), next(next), stays(0),
          live(those_below(own.num_right)), unpriced(), is_nobody_live(own.num_left < own.num_right),
          is_nowhere_live(own.is_turned()) {
        const int lane = threadIdx.x % CREW;
        look();
#pragma unroll
        for (int k = 0; k < SPAN; ++k) {
            const int row = lane + k * CREW;
#pragma unroll
            for (int w = 0; w < SETS; ++w) ways[k].word[w] = row < own.num_left ? exact[row * WORDS + w] : 0;
            if (is_nowhere_live && row < own.num_left) stays |= (bits)(left[row] == 0) << k;
        }
        if (is_nobody_live) unpriced = all([&](int one) { return right[one] == 0; });
    }
    __device__ void look() {  // at who has what
#pragma unroll
        for (int k = 0; k < SPAN; ++k) {
            const int row = threadIdx.x % CREW + k * CREW;
            column[k] = row < own.num_left ? column_of[row] : NONE;
        }
    }
    template <class Is> __device__ Columns all(Is is_so) const {
        const bits word = set_of(own.num_right, is_so);
        Columns found;
#pragma unroll
        for (int w = 0; w < SETS; ++w) found.word[w] = told_by(word, w);
        return found;
    }
    __device__ Columns free_columns() const {
        return all([&](int one) { return row_of[one] == NONE; });
    }

    // Leaves those live that are.
    __device__ void peel() {
        const Columns nobodys = is_nobody_live ? free_columns() : Columns();
        for (bool changes = true; changes;) {
            Columns dead = {};
            bool moves = false;  // a free row
#pragma unroll
            for (int k = 0; k < SPAN; ++k) {
                const Columns at = only(column[k]);
                const bool has_ways = ((ways[k] - at) & live).any();
                if (column[k] == NONE) moves |= has_ways;
                else if (!has_ways && !(stays >> k & 1)) dead = dead | at;
            }
            dead = joined(dead) & live;
            changes = dead.any();
            const bool kills_nobody = is_nobody_live && !(unpriced & (live - nobodys)).any();
            if (kills_nobody) is_nobody_live = false, changes = true, dead = dead | nobodys;
            if (is_nowhere_live && !asked(moves)) is_nowhere_live = false, changes = true, stays = 0;
            live = live - dead;
        }
    }

    __device__ void settle() {
        peel();
        Columns open = live;  // and not taken by a settled row
        if (open.any() || is_nowhere_live)
            for (int row = 0; row < own.num_left; ++row) {
                const int had = column_of[row];
                if (had == NONE ? !is_nowhere_live : !is_in(live, had)) continue;
                Columns wanted;
#pragma unroll
                for (int w = 0; w < SETS; ++w) wanted.word[w] = exact[row * WORDS + w];
                wanted = wanted & open;
                if (had != NONE) wanted = wanted & those_below(had);
                const int has = wanted.any() ? moved(row, had, wanted, open) : had;
                open = open - only(has);
            }
    }

    // The row takes the lowest wanted column that it can have; returned is what it has.
    __device__ int moved(int row, int had, const Columns& wanted, const Columns& open) {
        const int lane = threadIdx.x % CREW, target = had == NONE ? NOWHERE : had, lowest = wanted.lowest();
        Columns reach = only(had);  // and nowhere, if it can be reached
        bool saw_nobody = !is_nobody_live, reaches_nowhere = had == NONE;
        int nobody_to = NONE, free_row = NONE, free_to = NONE;
        for (bool grows = true; grows && !is_in(reach, lowest);) {
            Columns joins = {};
            int own_free = NONE, own_to = NONE;
#pragma unroll
            for (int k = 0; k < SPAN; ++k) {
                const int to = (ways[k] & reach).lowest();
                if (column[k] == NONE) {
                    if (to != NONE && lane + k * CREW > row) own_free = lane + k * CREW, own_to = to;
                } else if ((to != NONE || (reaches_nowhere && (stays >> k & 1))) && is_in(open - reach, column[k])) {
                    next[column[k]] = to == NONE ? NOWHERE : to;
                    joins = joins | only(column[k]);
                }
            }
            joins = joined(joins);
            if (!saw_nobody && (unpriced & reach).any()) {
                saw_nobody = true, nobody_to = (unpriced & reach).lowest();
                joins = joins | ((free_columns() & open) - reach);
            }
            grows = joins.any();
            if (is_nowhere_live && !reaches_nowhere) {
                const bits some = asked(own_free != NONE);
                if (some) {
                    free_row = told_by(own_free, __ffs((int)some) - 1), free_to = told_by(own_to, __ffs((int)some) - 1);
                    reaches_nowhere = grows = true;
                }
            }
            reach = reach | joins;
        }
        const int chosen = (wanted & reach).lowest();
        if (chosen == NONE) return had;
        crew_meets();
        if (lane == 0)
            for (int mover = row, to = chosen;;) {
                const int holder = to == NOWHERE ? free_row : row_of[to];
                if (mover != NOBODY) column_of[mover] = to == NOWHERE ? NONE : to;
                if (to != NOWHERE) row_of[to] = mover == NOBODY ? NONE : mover;
                if (to == target) break;
                mover = holder == NONE ? NOBODY : holder;
                to = to == NOWHERE ? free_to : holder == NONE ? nobody_to : next[to];
            }
        crew_meets();
        look();
        return chosen;
    }
};
