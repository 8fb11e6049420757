// Costs become whole units, and at last are compared with the prices; see problem.cuh.

#define AT_ONCE 4          // cells of a thread that are read before the first is used

#if LANES > 32
#define SHARED(type, name) __shared__ type name[LANES / 32];
#else
#define SHARED(type, name) type* name = nullptr;
#endif
template <class T, class Join> __device__ T over_team(T own, Join join, T* shared) {
#if LANES > 1
    for (int step = 16; step; step /= 2) own = join(own, __shfl_xor_sync(0xffffffffu, own, step));
#endif
#if LANES > 32
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
    __syncthreads();
    own = shared[0];
    for (int warp = 1; warp < LANES / 32; ++warp) own = join(own, shared[warp]);
#endif
    return own;
}
struct Least { template <class T> __device__ T operator()(T a, T b) const { return a < b ? a : b; } };
struct Most { template <class T> __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
struct Both { __device__ int operator()(int a, int b) const { return a | b; } };

// The rows of cells that are numbered row by row: a quotient, exact for fewer than 2^20 cells.
struct Rows {
    int width;
    bits magic;
    __device__ Rows(int width) : width(width), magic(0xffffffffu / max(width, 1) + 1) {}
    __device__ int of(int place) const { return width == 1 ? place : (int)__umulhi(place, magic); }
};

__device__ inline int width_of(unsigned long long whole) {  // in bits
    int width = 0;
    while (whole >> width) ++width;
    return width;
}

// The costs of one problem, as they are given.
struct Given {
    const number* __restrict__ costs;
    const unsigned char* __restrict__ allowed;
    int num_left, num_right, stride;
    bool negates, has_barred;
    __device__ bool may(number cost, int place) const {
        return !has_barred || kind_of(cost, allowed, place, negates) == ALLOWED;
    }
};

// What a look at every cost tells.
struct Seen {
    number low, high;
    int kinds, finest;  // 2^finest divides all costs
};

__device__ inline Seen look_at(const Given& given, int thread) {
    Seen seen;
#if IS_FLOAT
    seen.low = 2 * power(1023), seen.high = -seen.low;  // infinite
#else
    seen.low = sizeof(number) > 4 ? (wide)(~0ull >> 1) : (wide)(~0u >> 1), seen.high = ~seen.low;
#endif
    seen.kinds = 0, seen.finest = 1024;
    const int num_cells = given.num_left * given.num_right, gap = given.stride - given.num_right;
    const Rows rows(given.num_right);
    for (int from = thread; from < num_cells; from += AT_ONCE * LANES) {
        int place[AT_ONCE];
        number cost[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int cell = min(from + k * LANES, num_cells - 1);  // the last may be seen twice
            place[k] = cell + rows.of(cell) * gap;
            cost[k] = given.costs[place[k]];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int kind = kind_of(cost[k], given.allowed, place[k], given.negates);
            seen.kinds |= 1 << kind;
            if (kind != ALLOWED) continue;
            seen.low = cost[k] < seen.low ? cost[k] : seen.low;
            seen.high = seen.high < cost[k] ? cost[k] : seen.high;
            seen.finest = min(seen.finest, fineness(cost[k]));
        }
    }
    return seen;
}

// Costs → a table of units, the smaller side as rows.
template <class unit>
__device__ inline void fill(
    unit* __restrict__ table, const Given& given, const Scale& scale, unit barred, int thread) {
    const bool is_turned = given.num_left > given.num_right;
    const int few = min(given.num_left, given.num_right), many = max(given.num_left, given.num_right);
    const int num_cells = few * many;
    const Rows rows(many);
    for (int from = thread; from < num_cells; from += AT_ONCE * LANES) {
        int place[AT_ONCE];
        number cost[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int cell = min(from + k * LANES, num_cells - 1);
            const int row = rows.of(cell), column = cell - row * many;
            place[k] = is_turned ? column * given.stride + row : row * given.stride + column;
            cost[k] = given.costs[place[k]];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k)
            table[min(from + k * LANES, num_cells - 1)]
                = given.may(cost[k], place[k]) ? scale.as(cost[k], unit()) : barred;
    }
}

// (problem, left, right) costs → (problem, smaller side, larger side) units, and the problems.
extern "C" __global__ void __launch_bounds__(THREADS, THREADS < 1024 ? 1536 / THREADS : 1) prepare(const Batch batch) {
    SHARED(number, shared_numbers)
    SHARED(int, shared_ints)
    const wide problem = (wide)blockIdx.x * GROUPS + threadIdx.x / LANES;
    if (problem >= batch.num_problems) return;
    const int thread = threadIdx.x % LANES;
    const wide start = problem * batch.num_left * batch.num_right;
    const bool negates = batch.negates;
    Given given = {(const number*)batch.costs + start, batch.allowed ? batch.allowed + start : nullptr,
                   batch.sizes ? batch.sizes[2 * problem] : batch.num_left,
                   batch.sizes ? batch.sizes[2 * problem + 1] : batch.num_right, batch.num_right, negates, true};
    const bool fits = 0 <= given.num_left && given.num_left <= batch.num_left
                   && 0 <= given.num_right && given.num_right <= batch.num_right;
    if (!fits) given.num_left = given.num_right = 0;
    const int few = min(given.num_left, given.num_right);

    Seen seen = look_at(given, thread);
    seen.kinds = over_team(seen.kinds, Both(), shared_ints);
    seen.finest = over_team(seen.finest, Least(), shared_ints);
    const number low = over_team(seen.low, Least(), shared_numbers);
    const number high = over_team(seen.high, Most(), shared_numbers);
    const bool has_any = seen.kinds >> ALLOWED & 1;
    given.has_barred = seen.kinds >> BARRED & 1;
    const bool is_wrong = !fits || (seen.kinds >> WRONG & 1);
    const int room = given.has_barred ? MOST_BITS - width_of(few) : MOST_BITS;  // few · cost is below 2^57
    wide offset = 0, highest = 0;
    int exponent = 0;
    bool is_narrow = NARROW;
    if (has_any && !is_wrong) {
#if IS_FLOAT
        const double largest = fmax(fabs((double)low), fabs((double)high));  // below 2^(order + 1)
        int order = (int)(__double_as_longlong(largest) >> 52 & 2047) - 1023;
        if (order == -1023) order = -1022;
        exponent = largest ? max(order + 2 - room, seen.finest) : 0;
        const Scale scale(0, exponent, negates);
        offset = scale.units(negates ? high : low);
        highest = scale.units(negates ? low : high) - offset;
        is_narrow &= order + 1 - exponent <= 30 && -126 <= exponent && exponent <= 126;
#else
        exponent = max(0, width_of((unsigned long long)high - (unsigned long long)low) - room);
        offset = negates ? high : low;
        highest = Scale(offset, exponent, negates).units(negates ? low : high);
#endif
    }
    const wide barred = given.has_barred ? few * highest + 1 : 0;
    is_narrow &= max(highest, barred) < (wide)1 << NARROW_BITS;
    if (thread == 0) {
        const int left = is_wrong ? 0 : given.num_left, right = is_wrong ? 0 : given.num_right;
        batch.problems[problem] = {offset, barred, exponent, left, right, is_narrow, is_wrong ? INVALID : 0};
    }
    if (is_wrong || !few) return;
    const Scale scale(offset, exponent, negates);
    wide* table = batch.tables + start;
    if (is_narrow) fill((int*)table, given, scale, (int)barred, thread);
    else fill(table, given, scale, barred, thread);
}

// Bit row · num_right + column of `exact`: this pair may be assigned and costs just its prices; of
// `barred`: it may not, and would. A `unit` is what the problem's costs fit into; returns faults.
template <class unit>
__device__ inline int weighed(const Batch& batch, const Problem& own, wide problem, int thread) {
    const int num_left = batch.num_left, num_right = batch.num_right, num_cells = num_left * num_right;
    const bool negates = batch.negates, has_barred = own.barred != 0;
    const wide start = problem * num_cells;
    const number* __restrict__ costs = (const number*)batch.costs + start;
    const unsigned char* __restrict__ allowed = batch.allowed ? batch.allowed + start : nullptr;
    const wide* __restrict__ left = batch.left_price + problem * num_left;
    const wide* __restrict__ right = batch.right_price + problem * num_right;
    bits* __restrict__ exact = batch.exact + problem * batch.num_words;
    bits* __restrict__ barred = batch.barred + problem * batch.num_words;
    const Scale scale(own.offset, own.exponent, negates);
    const wide few = min(own.num_left, own.num_right);
    const Rows rows(num_right);
    int faults = 0;
    for (int from = thread; from - thread < num_cells; from += AT_ONCE * LANES) {
        number cost[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) cost[k] = costs[min(from + k * LANES, num_cells - 1)];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int place = from + k * LANES, row = rows.of(place), column = place - row * num_right;
            if (place - thread >= num_cells) break;
            bool is_tight = false, is_barred = false;
            if (row < own.num_left && column < own.num_right) {
                is_barred = has_barred && kind_of(cost[k], allowed, place, negates) != ALLOWED;
                const wide units = is_barred ? own.barred : (wide)scale.as(cost[k], unit());
                const wide slack = units - left[row] - right[column];
                is_tight = slack == 0;
                // A pair more must be worth more than any difference of costs.
                const bool is_dear = has_barred && !is_barred && few * units >= own.barred;
                if (slack < 0 || units < 0 || is_dear) faults |= UNPROVEN;
                if (is_tight && !is_barred && !scale.is_exact(cost[k])) faults |= ROUNDED;
            }
#if LANES == 1
            if (place % 32 == 0) exact[place / 32] = barred[place / 32] = 0;
            (is_barred ? barred : exact)[place / 32] |= (bits)is_tight << place % 32;
#else
            const bits those = __ballot_sync(0xffffffffu, is_tight && !is_barred);
            const bits others = has_barred ? __ballot_sync(0xffffffffu, is_tight && is_barred) : 0;
            if (thread % 32 == 0 && place < num_cells) {
                exact[place / 32] = those;
                if (has_barred) barred[place / 32] = others;
            }
#endif
        }
    }
    return faults;
}

extern "C" __global__ void __launch_bounds__(THREADS, THREADS < 1024 ? 1536 / THREADS : 1) weigh(const Batch batch) {
    SHARED(int, shared_ints)
    const wide problem = (wide)blockIdx.x * GROUPS + threadIdx.x / LANES;
    if (problem >= batch.num_problems) return;
    const int thread = threadIdx.x % LANES;
    const Problem own = batch.problems[problem];
    const int mine = own.is_narrow ? weighed<int>(batch, own, problem, thread)
                                   : weighed<wide>(batch, own, problem, thread);
    const int faults = over_team(mine, Both(), shared_ints);
    if (thread == 0) batch.problems[problem].faults = own.faults | faults;
}
