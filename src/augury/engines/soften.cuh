// Rows get prices before columns do, so that fewer rows want the same columns; see problem.cuh.
//
// Rows and columns in turn are priced at a soft minimum of their costs, each less the price of the other side:
// -width · log2(sum of 2^(-cost / width)), while the width is halved again and again, as by Sinkhorn and Knopp. Such
// prices come near those of the best assignment. Those of rows are rounded, and the search begins with them. What it
// finds is the same: floats decide nothing but how long it takes.

#define DEAR_HALVES 15                   // how often one side is priced where most rows are dear,
#define SOME_HALVES (CREWS > 1 ? 5 : 3)  // and elsewhere,
#define LEAST_SIZE 33                    // where there are as many rows
#define LEAST_MEAN 1024                  // and costs are so far above the first prices of columns
#define LEAP 1.5f                        // times the way to the new price
#define DEAR_WIDTH 0.7f    // what widths begin with, in means of these costs
#define SOME_WIDTH 1.4f    // and in means of the least of each row
#define LEAST_WIDTH 1.5f
#define AT_ONCE 8  // numbers that a lane reads before it uses the first
#define NO_COST 1e30f

struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

// A soft minimum: the least of some numbers, and the sum of 2^((least - x) / width) of all.
struct Soft {
    float steepness;  // 1 / width
    float least = NO_COST, sum = 0;
    template <int count> __device__ void take(const float (&x)[count]) {
        float all = least;
#pragma unroll
        for (int i = 0; i < count; ++i) all = fminf(all, x[i]);
        sum *= power_of_2((all - least) * steepness);
#pragma unroll
        for (int i = 0; i < count; ++i) sum += power_of_2((all - x[i]) * steepness);
        least = all;
    }
    __device__ void join() {  // what all lanes of the crew have taken
        float all = least;
        for (int step = CREW / 2; step; step /= 2) all = fminf(all, __shfl_xor_sync(mask, all, step));
        sum *= power_of_2((all - least) * steepness);
        for (int step = CREW / 2; step; step /= 2) sum += __shfl_xor_sync(mask, sum, step);
        least = all;
    }
};

// Of a row or a column: by a lane, each of which reads in an order of its own, so that they read different banks; or
// by the lanes of a crew, a row of a table in memory.
template <bool by_crew>
__device__ inline Soft softest(
    const Table& table, bool is_row, int one, int size, const float* prices, float steepness) {
    constexpr int COUNT = by_crew ? CHUNK : AT_ONCE, STEP = by_crew ? CHUNK * CREW : AT_ONCE;
    const int lane = threadIdx.x % CREW, stride = 4 * (is_row ? 1 : table.stride);  // in bytes
    const char* cells = (const char*)(table.cells + one * (is_row ? table.stride : 1));
    Soft own = {steepness};
    for (int from = 0; from < (size + CREW - 1) / CREW * CREW; from += STEP) {
        int cost[COUNT];
        float x[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int other = by_crew ? from + i * CREW + lane : (from + i) ^ lane, place = min(other, size - 1);
            cost[i] = *(const int*)(cells + place * stride);
            x[i] = other < size ? prices[place] : -NO_COST;
        }
        READS_ARE_UNDER_WAY
#pragma unroll
        for (int i = 0; i < COUNT; ++i) x[i] = (float)cost[i] - x[i];
        own.take(x);
    }
    if (by_crew) own.join();
    return own;
}

// Whether rows get prices: even ints, none above 0, in place of the first half of `prices`, or none if they would hardly
// help. In the second half are those of columns.
__device__ inline bool softened(const Table& table, int size, int num_free, float* prices) {
    const int thread = threadIdx.x % LANES, lane = thread % CREW, crew = thread / CREW;
    const bool are_most_free = 4 * num_free > 3 * size;
    if (!are_most_free && size < LEAST_SIZE) return false;
    const auto sample = [&](int row) {
        const int column = row + 1 < size ? row + 1 : 0;
        return (float)table.cell(row, column) - prices[size + column];
    };
    float total = 0;
    for (int row = thread; row < size; row += LANES) total += sample(row);
    const float mean = over_all(total, Sum()) / size;
    int num_low = 0;
    for (int row = thread; row < size; row += LANES) num_low += sample(row) < mean / 8;
    // If rows are dear, most want the same columns though costs are much alike: begin with a great width, and slowly.
    const bool are_dear = are_most_free && 5 * over_all(num_low, Sum()) < 2 * size;
    if (!are_dear && (size < LEAST_SIZE || mean < LEAST_MEAN)) return false;

    float width = are_dear ? max(LEAST_WIDTH, DEAR_WIDTH * mean) : LEAST_WIDTH;
    for (int half = 0; half < (are_dear ? DEAR_HALVES : SOME_HALVES); ++half) {
        const bool is_row = half % 2 == 0;
        float *own = prices + (is_row ? 0 : size), *others = prices + (is_row ? size : 0);
        float all_least = 0;
        int num_dear = 0;
        if (is_row && half > (are_dear ? 0 : 2)) width /= 2;
        const auto put = [&](int one, const Soft& soft) {
            const float price = soft.least - log2f(soft.sum) * width;
            own[one] = half ? own[one] + LEAP * (price - own[one]) : price;
            all_least += soft.least, num_dear += soft.least > 1;
        };
        if (!FITS && CREWS > 1 && is_row)
            for (int row = crew; row < size; row += CREWS) {
                const Soft soft = softest<true>(table, true, row, size, others, 1 / width);
                if (lane == 0) put(row, soft);
            }
        else
            for (int one = thread; one - lane < size; one += LANES) {
                const Soft soft = softest<false>(table, is_row, min(one, size - 1), size, others, 1 / width);
                if (one < size) put(one, soft);
            }
        meet();
        if (half) continue;
        if (!are_dear) width = max(LEAST_WIDTH, SOME_WIDTH * over_all(all_least, Sum()) / size);
        else if (2 * over_all(num_dear, Sum()) <= size) return false;
    }
    int* rounded = (int*)prices;
    float most = -NO_COST;
    for (int row = thread; row < size; row += LANES) most = fmaxf(most, prices[row]);
    most = fminf(over_all(most, Most()), NO_COST);
    for (int row = thread; row < size; row += LANES)  // at least minus the highest cost, whatever was found
        rounded[row] = 2 * __float2int_rn(fminf(fmaxf(prices[row] - most, -PAD(int) / 2), 0) / 2);
    meet();
    return true;
}
