// Of all assignments of least cost the first in order is found, and proven; see problem.cuh.
//
// Rows and columns are the left and the right here. A plane of bits has WORDS words for each row.

struct Planes {
    bits *exact, *barred;  // see `weighed`
    bits *live, *reach;    // (WORDS,): sets of columns
    int* loose;            // a free row, and where it may go; see `settled`
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
    // The lowest column of this set, other than its own; NONE if there is none.
    __device__ int first(int row, const bits* set, int own, bool is_settled) const {
        for (int k = 0; k < WORDS; ++k) {
            bits found = word(row, k, is_settled) & set[k];
            if (own >> 5 == k) found &= ~(1u << (own & 31));
            if (found) return 32 * k + __ffs((int)found) - 1;
        }
        return NONE;
    }
};

// A price as a number like the costs (of those that are maximised, negated): a double or an integer.
__device__ inline wide potential_of(wide price, bool has_offset, const Problem& own, bool negates) {
#if IS_FLOAT
    const int half = own.exponent / 2;
    const double sum = (double)(price + (has_offset ? own.offset : 0));
    return __double_as_longlong(sum * power(half) * power(own.exponent - half));
#else
    const unsigned long long sum = (unsigned long long)price << own.exponent, offset = own.offset;
    return (wide)(!has_offset ? sum : negates ? sum - offset : sum + offset);
#endif
}

// Assignments are compared as the columns of their rows in order, where any column is before none.
// A row in turn takes the lowest column from which those driven out can move on, over exact pairs
// alone, until the last takes what this row had. The row of a free column is nobody, and the column
// of a free row is nowhere: any may move there whose price is 0. A column is live while its row
// could move on to another live one: if none is, there is no other assignment.
#define NOBODY (-2)
#define NOWHERE (-3)

__device__ inline void settled(
    const Problem& own, const Shared& shared, const Planes& planes, short* column_of, short* row_of) {
    const int thread = threadIdx.x % LANES, lane = thread % CREW;
    const int num_left = own.num_left, num_right = own.num_right;
    const bool is_turned = own.is_turned(), has_nobody = num_left < num_right;
    const wide* left = is_turned ? shared.many_price : shared.few_price;
    const wide* right = is_turned ? shared.few_price : shared.many_price;
    short* next = shared.parent;  // where the row of a column moves on to
    bits *live = planes.live, *reach = planes.reach;
    const Ways ways = {planes, own.barred != 0};

    // Columns 32 · lane + 0 … 31, in each crew: may they be free?
    bits may_be_free = 0;
    const int start = 32 * lane, end = min(start + 32, num_right);
    if (has_nobody)
        for (int column = start; column < end; ++column)
            may_be_free |= (bits)(right[column] == 0) << (column & 31);
    for (int k = thread; k < WORDS; k += LANES) live[k] = below(num_right, 32 * k);
    meet();
    bool is_nobody_live = has_nobody, is_nowhere_live = is_turned;
    for (bool changes = true; changes;) {
        bits dead = 0;  // bit k: the column of row thread + k · LANES
        bool loose_moves = false;
        for (int row = thread, k = 0; row < num_left; row += LANES, ++k) {
            const int column = column_of[row];
            if (column == NONE)
                loose_moves |= is_nowhere_live && ways.first(row, live, NONE, false) != NONE;
            else if (has_bit(live, column) && !(is_nowhere_live && left[row] == 0))
                dead |= (bits)(ways.first(row, live, column, false) == NONE) << k;
        }
        // Nobody moves only to a column that has a row.
        bool nobody_moves = false;
        if (is_nobody_live)
            for (int column = thread; column < num_right; column += LANES)
                nobody_moves |= right[column] == 0 && row_of[column] != NONE && has_bit(live, column);
        const bool kills_nobody = is_nobody_live && !any_of_all(nobody_moves);
        const bool kills_nowhere = is_nowhere_live && !any_of_all(loose_moves);
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
    const bool has_word = lane < WORDS;
    bits taken = has_word ? ~live[lane] : ~0u;  // or not live
    const bool has_choice = asked(taken != ~0u) || is_nowhere_live;
    together();
    if (!has_choice) return;

    for (int row = 0; row < num_left; ++row) {
        const int had = column_of[row], target = had == NONE ? NOWHERE : had;
        if (had == NONE ? !is_nowhere_live : !has_bit(live, had)) continue;
        const bool is_real = had != NONE && has_bit(planes.exact + row * WORDS, had);
        bits wanted = has_word ? planes.exact[row * WORDS + lane] & ~taken : 0;
        if (is_real) wanted &= below(had, start);
        bits wanting = asked(wanted != 0);
        int chosen = NONE;
        if (wanting) {
            // Back from the target: the columns whose rows can move on to it, nearer ones first.
            const int first = __ffs((int)wanting) - 1;
            const int lowest = 32 * first + __ffs((int)told_by(wanted, first)) - 1;
            int nobody_to = NONE, loose_row = NONE, loose_to = NONE;
            bool saw_nobody = !is_nobody_live, saw_nowhere = !is_nowhere_live || had == NONE;
            bool goes_nowhere = had == NONE;
            for (int k = thread; k < WORDS; k += LANES)
                reach[k] = target >= 0 && target / 32 == k ? 1u << (target & 31) : 0;
            if (thread == 0) *planes.loose = 0x7fffffff;
            meet();
            for (bool grows = true; grows;) {
                bits found = 0;  // bit k: the column of row thread + k · LANES
                for (int one = thread, k = 0; one < num_left; one += LANES, ++k) {
                    const int column = column_of[one];
                    if (one == row) continue;
                    if (column == NONE) {
                        if (saw_nowhere) continue;
                        const int to = ways.first(one, reach, NONE, one < row);
                        if (to != NONE) atomicMin(planes.loose, PAIR(to, one));
                    } else if (has_bit(live, column) && !has_bit(reach, column)) {
                        if (one < row && has_bit(planes.exact + one * WORDS, column)) continue;
                        int to = ways.first(one, reach, NONE, one < row);
                        if (to == NONE && goes_nowhere && left[one] == 0) to = NOWHERE;
                        if (to == NONE) continue;
                        next[column] = to;
                        found |= 1u << k;
                    }
                }
                const bits freed = has_word && !saw_nobody ? may_be_free & reach[lane] : 0;
                const bits freeing = asked(freed != 0);
                grows = any_of_all(found != 0) || freeing;
                if (freeing) {
                    const int word = __ffs((int)freeing) - 1;
                    nobody_to = 32 * word + __ffs((int)told_by(freed, word)) - 1;
                    saw_nobody = true;
                    for (int column = thread; column < num_right; column += LANES)
                        if (row_of[column] == NONE && has_bit(live, column))
                            atomicOr(reach + column / 32, 1u << (column & 31));
                }
                for (int one = thread, k = 0; one < num_left; one += LANES, ++k)
                    if (found >> k & 1) atomicOr(reach + column_of[one] / 32, 1u << (column_of[one] & 31));
                if (!saw_nowhere && *planes.loose != 0x7fffffff) {
                    loose_row = *planes.loose >> 16, loose_to = *planes.loose & 0xffff;
                    saw_nowhere = goes_nowhere = grows = true;
                }
                meet();
                const bits best = has_word ? wanted & reach[lane] : 0;
                wanting = asked(best != 0);
                if (wanting) {
                    const int word = __ffs((int)wanting) - 1;
                    chosen = 32 * word + __ffs((int)told_by(best, word)) - 1;
                    if (chosen == lowest) break;
                }
            }
            if (chosen != NONE && thread == 0) {
                int mover = row, column = chosen;
                while (true) {
                    const int holder = column == NOWHERE ? loose_row : row_of[column];
                    if (mover == NOBODY) row_of[column] = NONE;
                    else {
                        column_of[mover] = column == NOWHERE ? NONE : column;
                        if (column != NOWHERE) row_of[column] = mover;
                    }
                    if (column == target) break;
                    mover = holder == NONE ? NOBODY : holder;
                    column = column == NOWHERE ? loose_to : holder == NONE ? nobody_to : next[column];
                }
            }
            meet();
        }
        const int has = chosen == NONE ? had : chosen;
        if (chosen != NONE || is_real) {
            if (has >> 5 == lane) taken |= 1u << (has & 31);
        }
    }
}

// The proof, from bits and prices alone: pairs are exact, no column is assigned twice, all of the
// smaller side are, and of the larger one none has a price above 0, nor a free one below.
__device__ inline void proven(const Batch& batch, wide number_of, const Problem& own,
    const Shared& shared, const Planes& planes, short* column_of, int faults) {
    const int thread = threadIdx.x % LANES, num_left = batch.num_left, num_right = batch.num_right;
    const bool is_turned = own.is_turned(), has_nobody = own.num_left < own.num_right;
    const wide* left = is_turned ? shared.many_price : shared.few_price;
    const wide* right = is_turned ? shared.few_price : shared.many_price;
    bits* taken = planes.reach;
    meet();
    for (int k = thread; k < WORDS; k += LANES) taken[k] = 0;
    meet();
    for (int row = thread; row < own.num_left; row += LANES) {
        const int column = column_of[row];
        if (column != NONE) {
            const bits bit = 1u << (column & 31);
            if (atomicOr(taken + column / 32, bit) & bit) faults |= UNPROVEN;
            if (!has_bit(planes.exact + row * WORDS, column)) {
                faults |= PARTIAL;
                column_of[row] = NONE;
                if (!own.barred || !has_bit(planes.barred + row * WORDS, column)) faults |= UNPROVEN;
            }
        } else if (!is_turned || left[row] != 0) faults |= UNPROVEN;
        if (is_turned && left[row] > 0) faults |= UNPROVEN;
    }
    meet();
    for (int column = thread; column < own.num_right; column += LANES) {
        if (!has_bit(taken, column) && (!has_nobody || right[column] != 0)) faults |= UNPROVEN;
        if (has_nobody && right[column] > 0) faults |= UNPROVEN;
    }
    faults = over_all(faults, Both());
    if (thread == 0)
        batch.status[number_of]
            = faults & UNPROVEN ? 4 : faults & ROUNDED ? 3 : faults & INVALID ? 2 : faults & PARTIAL ? 1 : 0;

    for (int row = thread; row < num_left; row += LANES)
        batch.indices[number_of * num_left + row]
            = row < own.num_left && !(faults & UNPROVEN) ? column_of[row] : NONE;
    if (!batch.left_potential) return;
    wide* potential = batch.left_potential + number_of * num_left;
    for (int row = thread; row < num_left; row += LANES)
        potential[row] = row < own.num_left ? potential_of(left[row], !is_turned, own, batch.negates) : 0;
    potential = batch.right_potential + number_of * num_right;
    for (int column = thread; column < num_right; column += LANES)
        potential[column]
            = column < own.num_right ? potential_of(right[column], is_turned, own, batch.negates) : 0;
}
