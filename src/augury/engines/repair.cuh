// Prices of a table become prices of the units that it was made from; see problem.cuh.
//
// The search saw costs without their last bits. What it found is nearly always best for the units too,
// but some pairs are cheaper there than their prices, or an assigned one dearer. Only pairs about as
// cheap as their prices can be, so along these, prices of columns are lowered until none is too cheap
// (Bellman and Ford). If that does not end, or a free column would need a price, the assignment is not best. Such
// pairs are kept in a list; where they are too many, they are looked for in each sweep, and sweeps are few if each
// reads the memory of the card.

#define RAISE (8 * ERROR)  // in units of the table, both
#define NEAR (2 * (RAISE + ERROR))
#define MOST_LOOKS 64  // through a table in the memory of the card

// Calls see(row, column) for pairs that are not assigned and cost little more than their prices.
template <class See>
__device__ inline void each_near(
    const Table& table, int few, int many, const Shared& shared, const int* column_price, See see) {
    const int lane = threadIdx.x % CREW, crew = threadIdx.x % LANES / CREW;
    for (int from = crew; from < few; from += CREWS * LINES) {
        int cost[LINES][SPAN];
#pragma unroll
        for (int r = 0; r < LINES; ++r)
#pragma unroll
            for (int k = 0; k < SPAN; ++k) cost[r][k] = table.cell(min(from + r * CREWS, few - 1), lane + k * CREW);
        READS_ARE_UNDER_WAY
        bits near = 0;  // bit r · SPAN + k
#pragma unroll
        for (int r = 0; r < LINES; ++r) {
            const int paid = (int)shared.few_price[min(from + r * CREWS, few - 1)] + NEAR;
#pragma unroll
            for (int k = 0; k < SPAN; ++k)
                near |= (bits)(cost[r][k] <= 2 * (paid + column_price[k])) << (r * SPAN + k);
        }
        for (; near; near &= near - 1) {
            const int place = __ffs((int)near) - 1;
            const int row = from + place / SPAN * CREWS, column = lane + place % SPAN * CREW;
            if (row < few && column < many && column != shared.mate[row]) see(row, column);
        }
    }
}

// Whether it succeeds, for all pairs that are looked at; `weighed` looks at all.
__device__ inline bool repaired(
    const Table& table, const Units& units, const Problem& own, const Shared& shared) {
    const int thread = threadIdx.x % LANES, lane = thread % CREW, few = own.few(), many = own.many();
    const bool has_free = few < many;
    wide *row_price = shared.few_price, *price = shared.many_price;
    // Pairs, and later how much dearer each is than what its row has: where the table was, or beside it.
    constexpr bool IS_BESIDE = !FITS && CREWS > 1;
    const int room = IS_BESIDE ? (1 + CREWS) * many * 2 / 3 : many;
    wide* dearer = shared.rest;
    int* pairs = IS_BESIDE ? (int*)(dearer + room) : shared.pairs;
    const short* mate = shared.mate;
    __shared__ int counts[GROUPS];
    int& count = counts[threadIdx.x / LANES];
    if (thread == 0) count = 0;
    int old_price[SPAN];
#pragma unroll
    for (int k = 0; k < SPAN; ++k) old_price[k] = (int)price[min(lane + k * CREW, many - 1)];
    meet();
    each_near(table, few, many, shared, old_price, [&](int row, int column) {
        const int place = atomicAdd(&count, 1);
        if (place < room) pairs[place] = PAIR(column, row);
    });
    for (int column = thread; column < many; column += LANES) {
        const wide own_price = price[column] << own.dropped, raise = (wide)RAISE << own.dropped;
        price[column] = has_free && shared.row_of[column] != NONE ? min(own_price + raise, (wide)0) : own_price;
    }
    meet();
    const bool is_list = count <= room;
    const int num_pairs = is_list ? count : 0;
    const auto difference = [&](int row, int column) {
        return (units.cell(row, column) - units.cell(row, mate[row])) >> 1;
    };
    for (int k = thread; k < num_pairs; k += LANES) dearer[k] = difference(pairs[k] >> 16, pairs[k] & 0xffff);
    bool goes_on = true;
    const int most_sweeps = is_list || FITS ? 4 * few : MOST_LOOKS;
    for (int sweep = 0; goes_on && sweep <= most_sweeps; ++sweep) {
        bool lowers = false;
        const auto lower = [&](int row, int column, wide more) {
            const wide least = glance(price[mate[row]]) + more;
            if (least < glance(price[column])) leave(price[column], least), lowers = true;
        };
        if (is_list)
            for (int k = thread; k < num_pairs; k += LANES) lower(pairs[k] >> 16, pairs[k] & 0xffff, dearer[k]);
        else
            each_near(table, few, many, shared, old_price, [&](int row, int column) {
                lower(row, column, difference(row, column));
            });
        goes_on = any_of_all(lowers);
    }
    for (int row = thread; row < few; row += LANES)
        row_price[row] = (units.cell(row, mate[row]) >> 1) - price[mate[row]];
    bool has_price = false;  // though it is free
    for (int column = thread; column < many; column += LANES)
        has_price |= shared.row_of[column] == NONE && price[column] != 0;
    return !any_of_all(has_price) && !goes_on;
}
