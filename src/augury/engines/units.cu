// Costs become whole units, and at last are compared with the prices; see problem.cuh.

#define AT_ONCE 4          // cells of a thread that are read before the first is used
#define TILE (64 / (int)sizeof(number))  // rows that a warp turns into columns at a time

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

// Row and column of a cell, and of the one LANES cells on.
struct Walk {
    int row, column, width, more_rows, more_columns;
    __device__ Walk(int place, int width)
        : row(place / width), column(place % width), width(width), more_rows(LANES / width),
          more_columns(LANES % width) {}
    __device__ void step() {
        column += more_columns;
        row += more_rows;
        if (column >= width) column -= width, ++row;
    }
};

__device__ inline int width_of(unsigned long long whole) {  // in bits
    int width = 0;
    while (whole >> width) ++width;
    return width;
}

// (problem, left, right) costs → (problem, smaller side, larger side) units, and the problems.
extern "C" __global__ void __launch_bounds__(THREADS) prepare(const Batch batch) {
    SHARED(number, shared_numbers)
    SHARED(int, shared_ints)
    const wide problem = (wide)blockIdx.x * GROUPS + threadIdx.x / LANES;
    if (problem >= batch.num_problems) return;
    const int thread = threadIdx.x % LANES;
    const int num_left = batch.num_left, num_right = batch.num_right;
    const bool negates = batch.negates;
    const wide start = problem * num_left * num_right;
    const number* __restrict__ costs = (const number*)batch.costs + start;
    const unsigned char* __restrict__ allowed = batch.allowed ? batch.allowed + start : nullptr;
    int own_left = batch.sizes ? batch.sizes[2 * problem] : num_left;
    int own_right = batch.sizes ? batch.sizes[2 * problem + 1] : num_right;
    const bool fits = 0 <= own_left && own_left <= num_left && 0 <= own_right && own_right <= num_right;
    if (!fits) own_left = own_right = 0;
    const int few = min(own_left, own_right), many = max(own_left, own_right);
    const int num_cells = own_left * own_right;

#if IS_FLOAT
    number low = 2 * power(1023), high = -low;  // infinite
#else
    number low = sizeof(number) > 4 ? (wide)(~0ull >> 1) : (wide)(~0u >> 1), high = ~low;
#endif
    int seen = 0;
    if (num_cells)
        for (Walk at(thread, own_right); at.row < own_left;) {
            int place[AT_ONCE];
            number cost[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k, at.step())
                place[k] = at.row < own_left ? at.row * num_right + at.column : NONE;
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) cost[k] = costs[max(place[k], 0)];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                if (place[k] == NONE) continue;
                const int kind = kind_of(cost[k], allowed, place[k], negates);
                seen |= 1 << kind;
                if (kind != ALLOWED) continue;
                low = cost[k] < low ? cost[k] : low;
                high = high < cost[k] ? cost[k] : high;
            }
        }
    seen = over_team(seen, Both(), shared_ints);
    low = over_team(low, Least(), shared_numbers);
    high = over_team(high, Most(), shared_numbers);
    const bool has_any = seen >> ALLOWED & 1, has_barred = seen >> BARRED & 1;
    const bool is_wrong = !fits || (seen >> WRONG & 1);
    const int room = has_barred ? MOST_BITS - width_of(few) : MOST_BITS;  // few · cost is below 2^57
    wide offset = 0, highest = 0;
    int exponent = 0;
    if (has_any && !is_wrong) {
#if IS_FLOAT
        const double largest = fmax(fabs((double)low), fabs((double)high));  // below 2^(order + 1)
        int order = (int)(__double_as_longlong(largest) >> 52 & 2047) - 1023;
        if (order == -1023) order = -1022;
        exponent = largest ? order + 2 - room : 0;
        const Scale scale(0, exponent, negates);
        offset = scale.units(negates ? high : low);
        highest = scale.units(negates ? low : high) - offset;
#else
        exponent = max(0, width_of((unsigned long long)high - (unsigned long long)low) - room);
        offset = negates ? high : low;
        highest = Scale(offset, exponent, negates).units(negates ? low : high);
#endif
    }
    const wide barred = has_barred ? few * highest + 1 : 0;
    if (thread == 0)
        batch.problems[problem] = {offset, barred, exponent, is_wrong ? 0 : own_left,
                                   is_wrong ? 0 : own_right, is_wrong ? INVALID : 0};
    if (is_wrong || !num_cells) return;
    wide* __restrict__ table = batch.tables + start;
    const Scale scale(offset, exponent, negates);
    const bool is_turned = own_left > own_right;
#if LANES == 512
    if (is_turned) {  // by tiles, so that both sides are read and written in long runs
        __shared__ number tiles[LANES / 32][TILE][33];
        number(*tile)[33] = tiles[thread / 32];
        const int lane = thread % 32, across = (own_right + 31) / 32;
        const int num_tiles = across * ((own_left + TILE - 1) / TILE);
        for (int which = thread / 32; which < num_tiles; which += LANES / 32) {
            const int from_left = which / across * TILE, from_right = which % across * 32;
#pragma unroll
            for (int k = 0; k < TILE; ++k) {
                const int left = min(from_left + k, own_left - 1);
                tile[k][lane] = costs[left * num_right + min(from_right + lane, own_right - 1)];
            }
            __syncwarp();
#pragma unroll
            for (int k = 0; k < TILE; ++k) {
                const int row = k * (32 / TILE) + lane / TILE, left = from_left + lane % TILE;
                const int right = from_right + row, place = left * num_right + right;
                if (left >= own_left || right >= own_right) continue;
                const number cost = tile[lane % TILE][row];
                const bool may = !has_barred || kind_of(cost, allowed, place, negates) == ALLOWED;
                table[right * many + left] = may ? scale.units(cost) : barred;
            }
            __syncwarp();
        }
        return;
    }
#endif
    for (Walk at(thread, many); at.row < few;) {
        int place[AT_ONCE], there[AT_ONCE];
        number cost[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k, at.step()) {
            const int left = is_turned ? at.column : at.row, right = is_turned ? at.row : at.column;
            place[k] = at.row < few ? left * num_right + right : NONE;
            there[k] = at.row * many + at.column;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) cost[k] = costs[max(place[k], 0)];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            if (place[k] == NONE) continue;
            const bool may = !has_barred || kind_of(cost[k], allowed, place[k], negates) == ALLOWED;
            table[there[k]] = may ? scale.units(cost[k]) : barred;
        }
    }
}

// Bit row · num_right + column of `exact`: this pair may be assigned and costs just its prices; of
// `barred`: it may not, and would.
extern "C" __global__ void __launch_bounds__(THREADS) weigh(const Batch batch) {
    SHARED(int, shared_ints)
    const wide problem = (wide)blockIdx.x * GROUPS + threadIdx.x / LANES;
    if (problem >= batch.num_problems) return;
    const int thread = threadIdx.x % LANES;
    const int num_left = batch.num_left, num_right = batch.num_right;
    const bool negates = batch.negates;
    const Problem own = batch.problems[problem];
    const wide start = problem * num_left * num_right;
    const number* __restrict__ costs = (const number*)batch.costs + start;
    const unsigned char* __restrict__ allowed = batch.allowed ? batch.allowed + start : nullptr;
    const wide* __restrict__ left = batch.left_price + problem * num_left;
    const wide* __restrict__ right = batch.right_price + problem * num_right;
    bits* __restrict__ exact = batch.exact + problem * batch.num_words;
    bits* __restrict__ barred = batch.barred + problem * batch.num_words;
    const Scale scale(own.offset, own.exponent, negates);
    const wide few = min(own.num_left, own.num_right);
    int faults = 0;
    const int num_cells = num_left * num_right;
    Walk at(thread, num_right);
    for (int from = 0; from < num_cells;) {
        number cost[AT_ONCE];
        int row[AT_ONCE], column[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k, at.step()) row[k] = at.row, column[k] = at.column;
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k)
            cost[k] = costs[min(row[k], num_left - 1) * num_right + column[k]];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k, from += LANES) {
            bool is_tight = false, is_barred = false;
            if (row[k] < own.num_left && column[k] < own.num_right) {
                const int place = row[k] * num_right + column[k];
                is_barred = own.barred && kind_of(cost[k], allowed, place, negates) != ALLOWED;
                const wide units = is_barred ? own.barred : scale.units(cost[k]);
                const wide slack = units - left[row[k]] - right[column[k]];
                is_tight = slack == 0;
                // A pair more must be worth more than any difference of costs.
                const bool is_dear = !is_barred && own.barred && few * units >= own.barred;
                if (slack < 0 || units < 0 || is_dear) faults |= UNPROVEN;
                if (is_tight && !is_barred && !scale.is_exact(cost[k])) faults |= ROUNDED;
            }
#if LANES == 1
            if (from >= num_cells) break;
            if (from % 32 == 0) exact[from / 32] = barred[from / 32] = 0;
            (is_barred ? barred : exact)[from / 32] |= (bits)is_tight << from % 32;
#else
            const bits those = __ballot_sync(0xffffffffu, is_tight && !is_barred);
            const bits others = own.barred ? __ballot_sync(0xffffffffu, is_tight && is_barred) : 0;
            if (thread % 32 == 0 && from + thread < num_cells) {
                exact[(from + thread) / 32] = those;
                if (own.barred) barred[(from + thread) / 32] = others;
            }
#endif
        }
    }
    faults = over_team(faults, Both(), shared_ints);
    if (thread == 0) batch.problems[problem].faults = own.faults | faults;
}
