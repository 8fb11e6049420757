// Costs become whole units, and at last are compared with the prices; see problem.cuh.

#define PASSES ((WIDTH + 11) / 12)
#define CHUNK ((WIDTH + PASSES - 1) / PASSES)  // costs of a row that a lane reads before it uses the first
#define ROWS (CHUNK < 8 ? 8 / CHUNK : 1)       // and of how many rows

// The costs of one problem, as they are given.
struct Given {
    const number* __restrict__ costs;
    const unsigned char* __restrict__ allowed;
    int num_left, num_right, stride;
    bool negates, has_barred;
    __device__ int kind(number cost, int row, int column) const {
        return kind_of(cost, allowed, row * stride + column, negates);
    }
    __device__ bool is_barred(number cost, int row, int column) const {
        return has_barred && kind(cost, row, column) != ALLOWED;
    }
};

// Calls see(row, column, cost, whether there is such a cell) for every cost, a row by a crew, whose
// lanes make the same calls.
template <class See> __device__ inline void each_cost(const Given& given, See see) {
    const int lane = threadIdx.x % CREW, crew = threadIdx.x % LANES / CREW;
    for (int from = crew; from < given.num_left; from += CREWS * ROWS)
        for (int start = 0; start < WIDTH; start += CHUNK) {
            number cost[ROWS][CHUNK];
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int k = 0; k < CHUNK; ++k) {
                    const int row = from + r * CREWS, column = lane + (start + k) * CREW;
                    const bool is_cell = row < given.num_left && column < given.num_right;
                    cost[r][k] = is_cell ? given.costs[row * given.stride + column] : (number)0;
                }
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int k = 0; k < CHUNK; ++k) {
                    const int row = from + r * CREWS, column = lane + (start + k) * CREW;
                    see(row, column, cost[r][k], row < given.num_left && column < given.num_right);
                }
        }
}

__device__ inline int width_of(unsigned long long whole) {  // in bits
    int width = 0;
    while (whole >> width) ++width;
    return width;
}

// Look at every cost: what is a unit, and are all of them costs? What fits is kept, the smaller side
// as rows, and what may not be assigned as an infinite cost if there is such a number.
__device__ inline Problem measured(Given& given, number* kept) {
    number low, high;
#if IS_FLOAT
    low = 2 * power(1023), high = -low;  // infinite
#else
    low = sizeof(number) > 4 ? (wide)(~0ull >> 1) : (wide)(~0u >> 1), high = ~low;
#endif
    const bool negates = given.negates, is_turned = given.num_left > given.num_right;
    int kinds = 0, finest = 1024;  // 2^finest divides all costs
    each_cost(given, [&](int row, int column, number cost, bool is_cell) {
        if (!is_cell) return;
        const int kind = given.kind(cost, row, column);
        kinds |= 1 << kind;
        if (kind == ALLOWED) {
            low = cost < low ? cost : low;
            high = high < cost ? cost : high;
            finest = min(finest, fineness(cost));
        }
#if FITS
#if IS_FLOAT
        if (kind == BARRED) cost = (negates ? -2 : 2) * power(1023);
#endif
        kept[is_turned ? column * STRIDE + row : row * STRIDE + column] = cost;
#endif
    });
    kinds = over_all(kinds, Both());
    finest = over_all(finest, Least());
    low = over_all(low, Least());
    high = over_all(high, Most());

    Problem own = {0, 0, 0, given.num_left, given.num_right, false, !(kinds >> WRONG & 1)};
    const int few = own.few();
    given.has_barred = kinds >> BARRED & 1;
    const int room = given.has_barred ? MOST_BITS - width_of(few) : MOST_BITS;  // few · cost is below 2^57
    wide highest = 0;
    bool is_narrow = sizeof(number) == 4 || !FITS;
    if ((kinds >> ALLOWED & 1) && own.is_valid) {
#if IS_FLOAT
        const double largest = fmax(fabs((double)low), fabs((double)high));  // below 2^(order + 1)
        int order = (int)(__double_as_longlong(largest) >> 52 & 2047) - 1023;
        if (order == -1023) order = -1022;
        own.exponent = largest ? max(order + 2 - room, finest) : 0;
        const Scale scale(0, own.exponent, negates);
        own.offset = scale.units(negates ? high : low);
        highest = scale.units(negates ? low : high) - own.offset;
        is_narrow &= order + 1 - own.exponent <= 30 && -126 <= own.exponent && own.exponent <= 126;
#else
        own.exponent = max(0, width_of((unsigned long long)high - (unsigned long long)low) - room);
        own.offset = negates ? high : low;
        highest = Scale(own.offset, own.exponent, negates).units(negates ? low : high);
#endif
    }
    own.barred = given.has_barred ? few * highest + 1 : 0;
    own.is_narrow = is_narrow && max(highest, own.barred) < (wide)1 << NARROW_BITS;
    return own;
}

// What a row of the table holds beyond its columns: more than any cost. All are doubled there.
#define FULL (SPAN * CREW)
#define PAD(unit) ((unit)1 << (sizeof(unit) == 4 ? NARROW_BITS + 2 : MOST_BITS + 2))

// Costs as units, doubled.
template <class unit> struct Units {
    const unit* cells;
    __device__ unit cell(int row, int column) const { return cells[row * STRIDE + column]; }
};

// Costs as they were kept, which are units only when they are read.
struct Kept {
    const number* cells;
    const Given& given;
    const Problem& own;
    const Scale scale;
    __device__ wide cell(int row, int column) const {
        if (column >= own.many()) return PAD(wide);
        const number cost = cells[row * STRIDE + column];
        const bool is_turned = own.is_turned();
        const bool is_barred = given.is_barred(cost, is_turned ? column : row, is_turned ? row : column);
        return 2 * (is_barred ? own.barred : scale.units(cost));
    }
};

// Kept costs → units in their place.
template <class unit>
__device__ inline Units<unit> converted(number* kept, const Given& given, const Problem& own) {
    const Kept costs = {kept, given, own, Scale(own.offset, own.exponent, given.negates)};
    const int lane = threadIdx.x % CREW, crew = threadIdx.x % LANES / CREW;
    const bool is_turned = own.is_turned();
    unit* cells = (unit*)kept;
    for (int row = crew; row < own.few(); row += CREWS)
#pragma unroll
        for (int k = 0; k < SPAN; ++k) {
            const int column = lane + k * CREW;
            unit units = PAD(unit);
            if (column < own.many()) {
                const number cost = kept[row * STRIDE + column];
                const bool is_barred
                    = given.is_barred(cost, is_turned ? column : row, is_turned ? row : column);
                units = 2 * (is_barred ? (unit)own.barred : costs.scale.as(cost, unit()));
            }
            cells[row * STRIDE + column] = units;
        }
    meet();
    return {cells};
}

// Costs as they are given → units in the memory of the device.
template <class unit>
__device__ inline Units<unit> filled(wide* table, const Given& given, const Problem& own) {
    const Scale scale(own.offset, own.exponent, given.negates);
    const int lane = threadIdx.x % CREW, crew = threadIdx.x % LANES / CREW;
    const bool is_turned = own.is_turned();
    unit* cells = (unit*)table;
    each_cost(given, [&](int row, int column, number cost, bool is_cell) {
        if (!is_cell) return;
        const bool is_barred = given.is_barred(cost, row, column);
        cells[is_turned ? column * STRIDE + row : row * STRIDE + column]
            = 2 * (is_barred ? (unit)own.barred : scale.as(cost, unit()));
    });
    for (int row = crew; row < own.few(); row += CREWS)
        for (int column = own.many() + lane; column < FULL; column += CREW)
            cells[row * STRIDE + column] = PAD(unit);
    meet();
    return {cells};
}

// Bit row · WORDS · 32 + column of `exact`: this pair may be assigned and costs just its prices; of
// `barred`: it may not, and would. Returns faults.
__device__ inline int weighed(
    const Given& given, const Problem& own, const Shared& shared, bits* exact, bits* barred) {
    const Scale scale(own.offset, own.exponent, given.negates);
    const wide* left = own.is_turned() ? shared.many_price : shared.few_price;
    const wide* right = own.is_turned() ? shared.few_price : shared.many_price;
    const int few = own.few();
    int faults = 0;
    each_cost(given, [&](int row, int column, number cost, bool is_cell) {
        bool is_tight = false, is_barred = false;
        if (is_cell) {
            is_barred = given.is_barred(cost, row, column);
            const wide units = is_barred ? own.barred
                             : own.is_narrow ? (wide)scale.as(cost, int()) : scale.units(cost);
            const wide slack = units - left[row] - right[column];
            is_tight = slack == 0;
            // A pair more must be worth more than any difference of costs.
            const bool is_dear = given.has_barred && !is_barred && few * units >= own.barred;
            if (slack < 0 || units < 0 || is_dear) faults |= UNPROVEN;
            if (is_tight && !is_barred && !scale.is_exact(cost)) faults |= ROUNDED;
        }
        const bits those = asked(is_tight && !is_barred);
        const bits others = given.has_barred ? asked(is_tight && is_barred) : 0;
        if (column % CREW == 0 && is_cell) {
            exact[row * WORDS + column / CREW] = those;
            if (given.has_barred) barred[row * WORDS + column / CREW] = others;
        }
    });
    return faults;
}
