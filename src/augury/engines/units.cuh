// Costs become whole units, and at last are compared with the prices; see problem.cuh.

// How many costs a lane reads before it uses the first.
#define MANY 16
#define ROWS (CHUNK < MANY ? MANY / CHUNK : 1)  // rows, CHUNK of each
#define LINES (SPAN < MANY ? MANY / SPAN : 1)   // rows of a table

// The costs of one problem, as they are given.
struct Given {
    const number* __restrict__ costs;
    const unsigned char* __restrict__ allowed;
    int num_left, num_right, stride;
    bool negates, has_barred;  // where pairs may be
    __device__ bool is_allowed(int row, int column) const { return !allowed || allowed[row * stride + column]; }
    __device__ bool is_barred(number cost, int row, int column) const {
        return BARS && has_barred && kind_of(cost, is_allowed(row, column), negates) != ALLOWED;
    }
};

// Calls start(first), then see(row, k, cost, is_allowed) for every cost in column first + k · CREW, a row by
// a crew, and look(row, column) where it returns true. What is seen may be seen again, what is looked at
// not: where rows or columns end, the last is read once more.
template <bool has_barred, class Start, class See, class Look>
__device__ inline void each_cost(const Given& given, Start start, See see, Look look) {
    const int lane = threadIdx.x % CREW, crew = threadIdx.x % LANES / CREW;
    const int num_left = given.num_left, num_right = given.num_right;
    if (num_left == 0) return;
    for (int first = lane; first - lane < num_right; first += CHUNK * CREW) {
        start(first);
        for (int from = crew; from < num_left; from += CREWS * ROWS) {
            number cost[ROWS][CHUNK];
            bool is_allowed[ROWS][CHUNK] = {};
            const auto place = [&](int r, int k) {
                const int row = min(from + r * CREWS, num_left - 1);
                return row * given.stride + min(first + k * CREW, num_right - 1);
            };
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int k = 0; k < CHUNK; ++k) cost[r][k] = given.costs[place(r, k)];
            if (has_barred && given.allowed)
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
#pragma unroll
                    for (int k = 0; k < CHUNK; ++k) is_allowed[r][k] = given.allowed[place(r, k)];
            READS_ARE_UNDER_WAY
            bits those = 0;  // bit r · CHUNK + k
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int k = 0; k < CHUNK; ++k) {
                    const bool may = !given.allowed || is_allowed[r][k];
                    const bool is_seen = see(min(from + r * CREWS, num_left - 1), k, cost[r][k], may);
                    those |= (bits)is_seen << (r * CHUNK + k);
                }
            for (; those; those &= those - 1) {
                const int place = __ffs((int)those) - 1;
                const int row = from + place / CHUNK * CREWS, column = first + place % CHUNK * CREW;
                if (row < num_left && column < num_right) look(row, column);
            }
        }
    }
}

// Calls see(cost) for every cost, some of them again: 16 bytes at a time where they lie side by side.
template <class See> __device__ inline void each_in_any_order(const Given& given, See see) {
    constexpr int SIDE_BY_SIDE = 16 / sizeof(number), UNDER_WAY = LANES < 32 ? 4 : 8;
    struct alignas(16) Pack { number own[SIDE_BY_SIDE]; };
    const int thread = threadIdx.x % LANES, count = given.num_left * given.num_right;
    if (given.num_right < given.stride || (size_t)given.costs % sizeof(Pack)) {
        each_cost<false>(given, [](int) {}, [&](int, int, number cost, bool) { return see(cost), false; },
                         [](int, int) {});
        return;
    }
    const Pack* packs = (const Pack*)given.costs;
    const int whole = count / SIDE_BY_SIDE;
    for (int from = thread; from - thread < whole; from += LANES * UNDER_WAY) {
        Pack some[UNDER_WAY];
#pragma unroll
        for (int k = 0; k < UNDER_WAY; ++k) some[k] = packs[min(from + k * LANES, whole - 1)];
        READS_ARE_UNDER_WAY
#pragma unroll
        for (int k = 0; k < UNDER_WAY; ++k)
#pragma unroll
            for (int i = 0; i < SIDE_BY_SIDE; ++i) see(some[k].own[i]);
    }
    for (int place = whole * SIDE_BY_SIDE + thread; place < count; place += LANES) see(given.costs[place]);
}

__device__ inline int width_of(wide whole) { return 64 - __clzll(whole); }  // in bits

// What all costs have in common.
struct Measure {
    number low, high;
    int kinds;  // bit k: some are of kind k; none where that is not known
#if IS_FLOAT
    number finest;  // a power of two that divides all, or a little more; infinite of zeros
    __device__ Measure() : low(INFINITE), high(-INFINITE), kinds(0), finest(INFINITE) {}
#else
    __device__ Measure() : low(~((natural)1 << (8 * sizeof(number) - 1))), high(~low), kinds(0) {}
#endif
    __device__ void see(number cost) {
        low = min(low, cost), high = max(high, cost);
#if IS_FLOAT
        const number fine = fineness(cost);
        finest = 0 < fine && fine < finest ? fine : finest;
#endif
    }
};

// All costs; first as if every pair may be assigned, which is so nearly always and is quicker.
__device__ inline Measure seen(const Given& given) {
    Measure own;
    if (!BARS || !given.allowed) {
        bool are_numbers = true;
        each_in_any_order(given, [&](number cost) {
            own.see(cost);
#if IS_FLOAT
            are_numbers &= fabs(cost) < INFINITE;
#endif
        });
        own.kinds = 1 << ALLOWED;
        if (!any_of_all(!are_numbers)) return own;
        own = Measure();
    }
#if BARS
    each_cost<true>(given, [](int) {}, [&](int, int, number cost, bool is_allowed) {
        const int kind = kind_of(cost, is_allowed, given.negates);
        own.kinds |= 1 << kind;
        if (kind == ALLOWED) own.see(cost);
        return false;
    }, [](int, int) {});
#endif
    return own;
}

#if IS_FLOAT
__device__ inline int order_of(double cost) {  // 2^order is no more than the cost, or it is the least number
    const int exponent = (int)(__double_as_longlong(cost) >> 52);
    return exponent ? exponent - 1023 : -1074;
}
#endif

// Look at every cost: what is a unit, and are all of them costs?
__device__ inline Problem measured(Given& given) {
    const Measure all = seen(given);
    const int kinds = over_all(all.kinds, Both());
    const number low = over_all(all.low, Least()), high = over_all(all.high, Most());
    const bool negates = given.negates;

    Problem own = {};
    own.num_left = given.num_left, own.num_right = given.num_right;
    own.is_valid = !(kinds >> WRONG & 1);
    own.is_for_later = !BARS && !kinds && own.few();
    given.has_barred = kinds >> BARRED & 1;
    const int few = own.few();
    const int room = given.has_barred ? MOST_BITS - width_of(few) : MOST_BITS;  // few · cost is below 2^57
    wide highest = 0;
#if IS_FLOAT
    const number finest = over_all(all.finest, Least());
#endif
    if ((kinds >> ALLOWED & 1) && own.is_valid && few) {
        own.least = negates ? high : low;
#if IS_FLOAT
        const double largest = max(fabs((double)low), fabs((double)high));  // below 2^(order + 1)
        if (largest > 0) own.exponent = max(max(order_of(largest), -1022) + 2 - room, order_of(finest));
        own.offset = Scale{0, own.exponent, negates}.units(own.least);
#else
        own.exponent = max(0, width_of((natural)high - (natural)low) - room);
        own.offset = own.least;
#endif
        highest = Scale{own.offset, own.exponent, negates}.units(negates ? low : high);
    }
    own.barred = given.has_barred ? few * highest + 1 : 0;
    const wide most = max(highest, own.barred);
    own.is_rounded = most >> EXACT_BITS != 0;
    if (own.is_rounded) own.dropped = max(0, width_of(most) - TABLE_BITS);
    own.table_barred = (int)(own.barred >> own.dropped);
    return own;
}

// What a row holds beyond its columns: more than any cost. All are doubled for the search.
#define FULL (SPAN * CREW)
#define PAD(unit) ((unit)1 << (sizeof(unit) == 4 ? TABLE_BITS + 2 : MOST_BITS + 2))

struct Table {
    int* cells;
    int stride;
    __device__ int cell(int row, int column) const {  // few instructions, for it is read often
        return *(const int*)((const char*)cells + (4u * stride * row + 4u * column));
    }
};

// The same in units, read as they are given: slow, and seldom needed.
struct Units {
    const Given& given;
    const Problem& own;
    __device__ wide cell(int row, int column) const {
        if (column >= own.many()) return PAD(wide);
        const int left = own.is_turned() ? column : row, right = own.is_turned() ? row : column;
        const number cost = given.costs[left * given.stride + right];
        const bool is_barred = given.is_barred(cost, left, right);
        return 2 * (is_barred ? own.barred : Scale{own.offset, own.exponent, given.negates}.units(cost));
    }
};

template <bool has_barred>
__device__ inline void filled(const Table& table, const Given& given, const Problem& own) {
    const Coarse coarse(own, given.negates);
    const int lane = threadIdx.x % CREW, crew = threadIdx.x % LANES / CREW, few = own.few(), many = own.many();
    const int next_row = own.is_turned() ? 1 : given.stride, next = own.is_turned() ? given.stride : 1;
    for (int from = crew; from < few; from += CREWS * LINES) {
        number cost[LINES][SPAN];
        bool is_allowed[LINES][SPAN] = {};
        const auto place = [&](int r, int k) {
            const int row = min(from + r * CREWS, few - 1), column = min(lane + k * CREW, many - 1);
            return row * next_row + column * next;
        };
#pragma unroll
        for (int r = 0; r < LINES; ++r)
#pragma unroll
            for (int k = 0; k < SPAN; ++k) cost[r][k] = given.costs[place(r, k)];
        if (has_barred && given.allowed)
#pragma unroll
            for (int r = 0; r < LINES; ++r)
#pragma unroll
                for (int k = 0; k < SPAN; ++k) is_allowed[r][k] = given.allowed[place(r, k)];
        READS_ARE_UNDER_WAY
#pragma unroll
        for (int r = 0; r < LINES; ++r)
#pragma unroll
            for (int k = 0; k < SPAN; ++k) {
                const int row = from + r * CREWS, column = lane + k * CREW;
                int units = coarse.units(cost[r][k]);
                const bool may = !given.allowed || is_allowed[r][k];
                if (has_barred && kind_of(cost[r][k], may, given.negates) != ALLOWED) units = own.table_barred;
                if (row < few) table.cells[row * table.stride + column] = column < many ? 2 * units : PAD(int);
            }
    }
}

__device__ inline void fill(const Table& table, const Given& given, const Problem& own) {
    if (BARS && given.has_barred) filled<BARS>(table, given, own);  // and no code for it without BARS
    else filled<false>(table, given, own);
    meet();
}

// Bit row · WORDS · 32 + column of `exact`: this pair may be assigned and costs just its prices; of
// `barred`: it may not, and would. Returns faults. A pair whose cost without the last bits is clearly
// more than its prices needs no closer look.
template <bool has_barred>
__device__ inline int weigh(
    const Given& given, const Problem& own, const Shared& shared, bits* exact, bits* barred) {
    const Scale scale = {own.offset, own.exponent, given.negates};
    const Coarse coarse(own, given.negates);
    const wide* left = own.is_turned() ? shared.many_price : shared.few_price;
    const wide* right = own.is_turned() ? shared.few_price : shared.many_price;
    const int few = own.few(), clear = own.is_rounded ? ERROR + 2 : 0;
    // A pair more must be worth more than any difference of costs: a cost from here on may be too dear.
    const int dear = has_barred ? (int)((own.barred - 1) / few >> own.dropped) + 1 - clear : 0;
    for (int k = threadIdx.x % LANES; k < given.num_left * WORDS; k += LANES) {
        exact[k] = 0;
        if (has_barred) barred[k] = 0;
    }
    int faults = 0, price[CHUNK];  // of the columns, without the last bits
    int* paid = shared.pairs;      // of the rows
    const auto without = [&](wide price) {  // those whose sums could overflow prove nothing
        if (price >> 29 + own.dropped != price >> 63) faults |= UNPROVEN;
        return (int)(price >> own.dropped);
    };
    for (int row = threadIdx.x % LANES; row < given.num_left; row += LANES) paid[row] = without(left[row]);
    meet();
    const auto start = [&](int first) {
#pragma unroll
        for (int k = 0; k < CHUNK; ++k) price[k] = without(right[min(first + k * CREW, given.num_right - 1)]);
    };
    const auto see = [&](int row, int k, number cost, bool is_allowed) {
        int units = coarse.units(cost);
        bool may_be_dear = false;
        if (has_barred) {
            const bool is_barred = kind_of(cost, is_allowed, given.negates) != ALLOWED;
            may_be_dear = !is_barred && units >= dear;
            if (is_barred) units = own.table_barred;
        }
        return units - paid[row] - price[k] <= clear || may_be_dear;
    };
    each_cost<has_barred>(given, start, see, [&](int row, int column) {
        const number cost = given.costs[row * given.stride + column];
        const bool is_barred = given.is_barred(cost, row, column);
        const wide units = is_barred ? own.barred : scale.units(cost);
        const wide slack = units - left[row] - right[column];
        const bool is_dear = has_barred && !is_barred && few * units >= own.barred;
        if (slack < 0 || units < 0 || is_dear) faults |= UNPROVEN;
        if (slack == 0) {
            atomicOr((is_barred ? barred : exact) + row * WORDS + column / 32, 1u << (column & 31));
            if (is_barred) faults |= HAS_BARRED;
            else if (!scale.is_exact(cost)) faults |= ROUNDED;
        }
    });
    return over_all(faults, Both());
}

__device__ inline int weighed(
    const Given& given, const Problem& own, const Shared& shared, bits* exact, bits* barred) {
    if (BARS && given.has_barred) return weigh<BARS>(given, own, shared, exact, barred);
    return weigh<false>(given, own, shared, exact, barred);
}
