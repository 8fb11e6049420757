// A matching and a cover prove each other: the check knows nothing of how either was found.
//
// The pairs are edges and share no column; every edge has an end in the cover; and the cover is as
// large as the matching. No cover is smaller than any matching, so both are then optimal.

struct Tally {
    int size, cover, faults;
    unsigned int used[MOST_SIDE / 32];  // columns that have a row
};

extern "C" __global__ void check(Batch all) {
    MEMORY
    const int first = threadIdx.x % LANES;
    const wide graph = ((wide)blockIdx.x * THREADS + threadIdx.x) / LANES;
    if (graph >= all.num_graphs) return;
    Tally& own = ((Tally*)memory)[threadIdx.x / LANES];
    const int num_left = all.num_left, num_right = all.num_right, width = octets_of(num_right);
    const byte* rows = all.rows + graph * num_left * width;
    const narrow* mates = all.mates + graph * num_left;
    // Words are stored with their lowest octet first.
    const int left_octets = words_of(num_left) * (int)sizeof(word);
    const int right_octets = words_of(num_right) * (int)sizeof(word);
    const byte* row_cover = (const byte*)all.row_cover + graph * left_octets;
    const byte* column_cover = (const byte*)all.column_cover + graph * right_octets;
    if (first == 0) own.size = own.cover = own.faults = 0;
    for (int k = first; k < MOST_SIDE / 32; k += LANES) own.used[k] = 0;
    meet();
    int size = 0, cover = 0;
    bool is_wrong = false;
    for (int u = first; u < num_left; u += LANES) {
        const int v = mates[u];
        if (v == NO_MATE) continue;
        ++size;
        if (v < 0 || v >= num_right) {
            is_wrong = true;
            continue;
        }
        const unsigned int bit = 1u << v % 32;
        is_wrong |= !(rows[u * width + v / 8] >> v % 8 & 1) || (atomicOr(&own.used[v / 32], bit) & bit);
    }
    for (int k = first; k < num_left * width; k += LANES) {
        const int u = k / width;
        if (row_cover[u / 8] >> u % 8 & 1) continue;
        is_wrong |= (rows[k] & ~column_cover[k - u * width]) != 0;
    }
    for (int k = first; k < left_octets; k += LANES) cover += __popc(row_cover[k]);
    for (int k = first; k < right_octets; k += LANES) cover += __popc(column_cover[k]);
    atomicAdd(&own.size, size);
    atomicAdd(&own.cover, cover);
    if (is_wrong) atomicOr(&own.faults, 1);
    meet();
    if (first != 0) return;
    all.sizes[graph] = own.size;
    all.is_proven[graph] = !own.faults && own.cover == own.size;
}
