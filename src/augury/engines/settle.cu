// Of all assignments of least cost the first in order is found, and proven; see problem.cuh.
//
// Also given: WORDS, the words of 32 columns that a lane holds.

#define EACH_WORD for (int k = 0; k < WORDS; ++k)
#define FIRST_OF(k) (32 * (lane + (k) * LANES))  // the column of the lowest bit of a lane's word k

struct Row {
    bits word[WORDS];
};

// The columns of one row in a plane of bits.
__device__ inline Row row_of_bits(const bits* plane, int row, int width, int lane) {
    Row found;
#pragma unroll
    EACH_WORD {
        found.word[k] = 0;
        if (FIRST_OF(k) < width) {
            const int place = row * width + FIRST_OF(k), left_over = width - FIRST_OF(k);
            const bits low = plane[place / 32], high = plane[place / 32 + 1];
            found.word[k] = __funnelshift_r(low, high, place % 32);
            if (left_over < 32) found.word[k] &= (1u << left_over) - 1;
        }
    }
    return found;
}
__device__ inline bool has_bit(const bits* plane, int place) {
    return plane[place / 32] >> place % 32 & 1;
}
__device__ inline bits below(int column, int from) {  // of a word that begins there
    const int count = column - from;
    return count <= 0 ? 0 : count >= 32 ? ~0u : (1u << count) - 1;
}

// The lowest column of a set; NONE if it is empty.
__device__ inline int lowest(const Row& set, int lane) {
#pragma unroll
    EACH_WORD {
        const bits has = asked(set.word[k] != 0);
        if (has) {
            const int who = __ffs((int)has) - 1;
            const bits word = told_by(set.word[k], who);
            return 32 * (who + k * LANES) + __ffs((int)word) - 1;
        }
    }
    return NONE;
}

// Whether a row has a pair in this plane with one of the live columns, other than its own.
__device__ inline bool has_way(const bits* plane, const bits* live, int row, int width, int own) {
    bits any = 0;
    for (int from = 0; from < width; from += 32) {
        const int place = row * width + from, left_over = width - from;
        bits word = __funnelshift_r(plane[place / 32], plane[place / 32 + 1], place % 32);
        if (left_over < 32) word &= (1u << left_over) - 1;
        if (own >> 5 == from >> 5) word &= ~(1u << (own & 31));
        any |= word & live[from / 32];
    }
    return any != 0;
}

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
// alone, until the last takes what this row had. NOBODY is the row of a free column, and NOWHERE
// the column of a free row: any may move there whose price is 0. A column is live while its row
// could move on to another live one: if none is, there is no other assignment.
#define NOBODY (-2)
#define NOWHERE (-3)

extern "C" __global__ void settle(const Batch batch) {
    MEMORY
    const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const wide number_of = (wide)blockIdx.x * GROUPS + group;
    if (number_of >= batch.num_problems) return;
    const int num_left = batch.num_left, num_right = batch.num_right, num_words = batch.num_words;
    const int length = max(num_left, num_right), live_words = (num_right + 31) / 32;
    const Problem own = batch.problems[number_of];
    const bits* exact = batch.exact + number_of * num_words;
    const bits* __restrict__ barred = batch.barred + number_of * num_words;
    const wide* __restrict__ left = batch.left_price + number_of * num_left;
    const wide* __restrict__ right = batch.right_price + number_of * num_right;
    const short* __restrict__ mates = batch.mates + number_of * length;
    wide* __restrict__ answer = batch.indices + number_of * num_left;
    const bool is_turned = own.num_left > own.num_right;
    const bool has_nobody = own.num_left < own.num_right;
    short* column_of = (short*)memory;
    short* row_of = column_of + GROUPS * length;
    short* parent = row_of + GROUPS * length;
    short* loose = parent + GROUPS * length;  // rows that may be free, and have an exact pair
    bits* live = (bits*)(loose + GROUPS * length) + group * live_words;
#if LANES > 1
    bits* held = (bits*)(loose + GROUPS * length) + GROUPS * live_words + group * num_words;
    for (int k = lane; k < num_words; k += LANES) held[k] = exact[k];
    exact = held;
#endif
    for (int row = lane; row < own.num_left; row += LANES) ENTRY(column_of, row) = NONE;
    for (int column = lane; column < own.num_right; column += LANES) ENTRY(row_of, column) = NONE;
    meet();
    for (int k = lane; k < min(own.num_left, own.num_right); k += LANES) {
        const int mate = mates[k];
        const int row = is_turned ? mate : k, column = is_turned ? k : mate;
        ENTRY(column_of, row) = column;
        ENTRY(row_of, column) = row;
    }
    meet();
    Row may_be_free, is_free, taken;  // taken, or not live
#pragma unroll
    EACH_WORD {
        may_be_free.word[k] = is_free.word[k] = 0;
        const int end = min(FIRST_OF(k) + 32, own.num_right);
        if (has_nobody)
            for (int column = FIRST_OF(k); column < end; ++column) {
                may_be_free.word[k] |= (bits)(right[column] == 0) << (column & 31);
                is_free.word[k] |= (bits)(ENTRY(row_of, column) == NONE) << (column & 31);
            }
        if (FIRST_OF(k) < num_right)
            live[FIRST_OF(k) / 32] = below(own.num_right, FIRST_OF(k));
    }
    meet();
    const bool has_barred = own.barred != 0;
    int num_loose = 0;
    if (is_turned)
        for (int from = 0; from < own.num_left; from += LANES) {
            const int row = from + lane;
            const bool is_loose = row < own.num_left && left[row] == 0
                && (has_way(exact, live, row, num_right, NONE)
                    || (has_barred && has_way(barred, live, row, num_right, NONE)));
            const bits all = asked(is_loose);
            if (is_loose) ENTRY(loose, num_loose + __popc(all & ((1u << lane) - 1))) = row;
            num_loose += __popc(all);
        }
    bool is_nobody_live = has_nobody, is_nowhere_live = is_turned;
    for (bool changes = true; changes;) {
        bool mine = false;
        for (int row = lane; row < own.num_left; row += LANES) {
            const int column = ENTRY(column_of, row);
            if (column == NONE || !has_bit(live, column)) continue;
            if (is_nowhere_live && left[row] == 0) continue;
            if (has_way(exact, live, row, num_right, column)) continue;
            if (has_barred && has_way(barred, live, row, num_right, column)) continue;
            atomicAnd(live + column / 32, ~(1u << (column & 31)));
            mine = true;
        }
        meet();
        if (is_nowhere_live) {
            bool moves = false;
            for (int k = lane; k < num_loose; k += LANES) {
                const int row = ENTRY(loose, k);
                moves |= ENTRY(column_of, row) == NONE
                      && (has_way(exact, live, row, num_right, NONE)
                          || (has_barred && has_way(barred, live, row, num_right, NONE)));
            }
            is_nowhere_live = asked(moves) != 0;
            mine |= !is_nowhere_live;
        }
        if (is_nobody_live) {
            bool moves = false;
#pragma unroll
            EACH_WORD
                if (FIRST_OF(k) < num_right)
                    moves |= (live[FIRST_OF(k) / 32] & may_be_free.word[k] & ~is_free.word[k]) != 0;
            is_nobody_live = asked(moves) != 0;
#pragma unroll
            EACH_WORD
                if (!is_nobody_live && FIRST_OF(k) < num_right)
                    live[FIRST_OF(k) / 32] &= ~is_free.word[k];
            mine |= !is_nobody_live;
        }
        meet();
        changes = asked(mine) != 0;
    }
    bool any_live = is_nowhere_live;
#pragma unroll
    EACH_WORD {
        taken.word[k] = FIRST_OF(k) < num_right ? ~live[FIRST_OF(k) / 32] : ~0u;
        any_live |= taken.word[k] != ~0u;
    }
    const int num_settled = asked(any_live) ? own.num_left : 0;

    for (int row = 0; row < num_settled; ++row) {
        const int had = ENTRY(column_of, row);
        if (had == NONE ? !is_nowhere_live : !has_bit(live, had)) continue;
        const bool is_real = had != NONE && has_bit(exact, row * num_right + had);
        const int target = had == NONE ? NOWHERE : had;
        Row wanted = row_of_bits(exact, row, num_right, lane);
        bool wants = false;
#pragma unroll
        EACH_WORD {
            wanted.word[k] &= ~taken.word[k];
            if (is_real) wanted.word[k] &= below(had, FIRST_OF(k));
            wants |= wanted.word[k] != 0;
        }
        if (asked(wants)) {
            Row seen = taken, pending;
            bool saw_nobody = !is_nobody_live, saw_nowhere = false, is_found = false;
            int nobody_from = NONE, nowhere_from = NONE, next_loose = 0;
            while (!is_found) {
                Row open;
#pragma unroll
                EACH_WORD open.word[k] = wanted.word[k] & ~seen.word[k];
                const int start = lowest(open, lane);
                if (start == NONE) break;
                if (lane == 0) ENTRY(parent, start) = row;
#pragma unroll
                EACH_WORD {
                    pending.word[k] = start >= FIRST_OF(k) && start < FIRST_OF(k) + 32
                                    ? 1u << (start & 31) : 0;
                    seen.word[k] |= pending.word[k];
                }
                while (!is_found) {
                    const int column = lowest(pending, lane);
                    if (column == NONE) break;
#pragma unroll
                    EACH_WORD
                        if (column >= FIRST_OF(k) && column < FIRST_OF(k) + 32)
                            pending.word[k] &= ~(1u << (column & 31));
                    meet();
                    int mover = ENTRY(row_of, column);
                    if (mover == NONE) {
                        if (saw_nobody) continue;
                        saw_nobody = true, nobody_from = column, mover = NOBODY;
                    }
                    // The row of this column moves on; if it may be free, so do those that are.
                    while (mover != NONE && !is_found) {
                        Row ways = may_be_free;
                        if (mover != NOBODY) {
#pragma unroll
                            EACH_WORD ways.word[k] = 0;
                            if (mover > row) ways = row_of_bits(exact, mover, num_right, lane);
                            if (has_barred) {
                                const Row more = row_of_bits(barred, mover, num_right, lane);
#pragma unroll
                                EACH_WORD ways.word[k] |= more.word[k];
                            }
                        }
                        bool hits = false;
#pragma unroll
                        EACH_WORD {
                            ways.word[k] &= ~seen.word[k];
                            seen.word[k] |= ways.word[k];
                            pending.word[k] |= ways.word[k];
                            hits |= target >= FIRST_OF(k) && target < FIRST_OF(k) + 32
                                 && (ways.word[k] >> (target & 31) & 1);
                            for (bits rest = ways.word[k]; rest; rest &= rest - 1)
                                ENTRY(parent, FIRST_OF(k) + __ffs((int)rest) - 1) = mover;
                        }
                        is_found = asked(hits) != 0;
                        if (is_nowhere_live && !saw_nowhere && left[mover] == 0)
                            saw_nowhere = true, nowhere_from = mover, is_found |= target == NOWHERE;
                        mover = NONE;
                        while (saw_nowhere && next_loose < num_loose && mover == NONE) {
                            const int one = ENTRY(loose, next_loose++);
                            if (ENTRY(column_of, one) == NONE && one != row) mover = one;
                        }
                    }
                }
            }
            meet();
            if (is_found && lane == 0)
                for (int column = target; true;) {
                    const int mover = column == NOWHERE ? nowhere_from : ENTRY(parent, column);
                    if (mover == NOBODY) {
                        ENTRY(row_of, column) = NONE;
                        column = nobody_from;
                        continue;
                    }
                    const int before = ENTRY(column_of, mover);
                    ENTRY(column_of, mover) = column == NOWHERE ? NONE : column;
                    if (column != NOWHERE) ENTRY(row_of, column) = mover;
                    if (mover == row) break;
                    column = before == NONE ? NOWHERE : before;
                }
            meet();
        }
        const int has = ENTRY(column_of, row);
        if (has != NONE && has_bit(exact, row * num_right + has))
#pragma unroll
            EACH_WORD
                if (has >= FIRST_OF(k) && has < FIRST_OF(k) + 32) taken.word[k] |= 1u << (has & 31);
    }

    // The proof, from bits and prices alone: pairs are exact, no column is assigned twice, all of
    // the smaller side are, and of the larger one none has a price above 0, nor a free one below.
    int faults = own.faults;
    for (int column = lane; column < own.num_right; column += LANES) ENTRY(row_of, column) = NONE;
    meet();
    for (int row = lane; row < own.num_left; row += LANES) {
        const int column = ENTRY(column_of, row);
        if (column != NONE) ENTRY(row_of, column) = row;  // of two only one is found again
    }
    meet();
    for (int row = lane; row < num_left; row += LANES) {
        int column = row < own.num_left ? ENTRY(column_of, row) : NONE;
        if (column != NONE) {
            const bool is_exact = has_bit(exact, row * num_right + column);
            if (ENTRY(row_of, column) != row) faults |= UNPROVEN;
            if (!is_exact && !has_bit(barred, row * num_right + column)) faults |= UNPROVEN;
            if (!is_exact) column = NONE, faults |= PARTIAL;
        } else if (row < own.num_left && (!is_turned || left[row] != 0)) faults |= UNPROVEN;
        if (is_turned && row < own.num_left && left[row] > 0) faults |= UNPROVEN;
        answer[row] = column;
    }
    for (int column = lane; column < own.num_right; column += LANES) {
        const bool is_free = ENTRY(row_of, column) == NONE;
        if (is_free && (!has_nobody || right[column] != 0)) faults |= UNPROVEN;
        if (has_nobody && right[column] > 0) faults |= UNPROVEN;
    }
    for (int step = 1; step < LANES; step *= 2) faults |= __shfl_xor_sync(mask, faults, step);
    if (lane == 0)
        batch.status[number_of]
            = faults & UNPROVEN ? 4 : faults & ROUNDED ? 3 : faults & INVALID ? 2 : faults & PARTIAL ? 1 : 0;
    if (faults & UNPROVEN)
        for (int row = lane; row < num_left; row += LANES) answer[row] = NONE;
    meet();
    wide* potential = batch.left_price + number_of * num_left;
    for (int row = lane; row < num_left; row += LANES)
        potential[row] = row < own.num_left ? potential_of(potential[row], !is_turned, own, batch.negates) : 0;
    potential = batch.right_price + number_of * num_right;
    for (int column = lane; column < num_right; column += LANES)
        potential[column]
            = column < own.num_right ? potential_of(potential[column], is_turned, own, batch.negates) : 0;
}
