// Dense graphs as bits: of rows, as they come from the host, and of columns, as they are searched.

// The bytes of eight columns → an octet; a Boolean's byte need not be 0 or 1.
extern "C" __global__ void pack(Batch all) {
    const int width = octets_of(all.num_right);
    const wide place = (wide)blockIdx.x * THREADS + threadIdx.x;
    if (place >= all.num_graphs * all.num_left * width) return;
    const int v = (int)(place % width) * 8;
    const byte* cells = all.adjacency + place / width * all.num_right + v;
    if (all.num_right % 8 == 0) {
        unsigned long long octets = *(const unsigned long long*)cells;
        octets = (octets | octets >> 4) & 0x0f0f0f0f0f0f0f0full;
        octets = (octets | octets >> 2) & 0x0303030303030303ull;
        octets = (octets | octets >> 1) & 0x0101010101010101ull;
        all.rows[place] = octets * 0x0102040810204080ull >> 56;  // byte i becomes bit 56 + i
        return;
    }
    unsigned int octet = 0;
    for (int k = 0; k < min(8, all.num_right - v); ++k) octet |= (unsigned int)(cells[k] != 0) << k;
    all.rows[place] = octet;
}

// The octets of rows → words of columns; a thread makes one word.
extern "C" __global__ void turn(Batch all) {
    const int num_words = words_of(all.num_left), width = octets_of(all.num_right);
    const wide place = (wide)blockIdx.x * THREADS + threadIdx.x;
    if (place >= all.num_graphs * num_words * all.num_right) return;
    const int v = (int)(place % all.num_right);
    const wide rest = place / all.num_right;
    const int low = (int)(rest % num_words) * WORD_BITS;
    const byte* octets = all.rows + (rest / num_words * all.num_left + low) * width + v / 8;
    word bits = 0;
    const int count = min(WORD_BITS, all.num_left - low);
    for (int u = 0; u < count; ++u) bits |= (word)(octets[u * width] >> v % 8 & 1) << u;
    all.columns[place] = bits;
}
