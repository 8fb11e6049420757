// Assignments are proven, and written where they are asked for; see problem.cuh.

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

// The proof, from bits and prices alone: pairs are exact, no column is assigned twice, all of the
// smaller side are, and of the larger one none has a price above 0, nor a free one below.
__device__ inline void proven(const Batch& batch, wide number_of, const Problem& own,
    const Shared& shared, const Planes& planes, short* column_of, int faults) {
    const int thread = threadIdx.x % LANES, num_left = batch.num_left, num_right = batch.num_right;
    const bool is_turned = own.is_turned(), has_nobody = own.num_left < own.num_right;
    const wide* left = is_turned ? shared.many_price : shared.few_price;
    const wide* right = is_turned ? shared.few_price : shared.many_price;
    bits* taken = planes.columns;
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
