// Costs become a proven assignment: the lanes of a block, or some of them, take a problem from start to end.
//
//   units.cuh    costs of any kind → whole units; without the last bits, a table of ints, the smaller side
//                as rows; at last the costs as they are given, at these prices: none may be too low;
//                which are exact?
//   soften.cuh   the table → prices of rows to begin with, where that helps
//   search.cuh   the table → an assignment and prices, by the method of assignments.py
//   repair.cuh   → prices of the units themselves, where the table lacks bits
//   settle.cuh   → of the assignments over exact costs the first in order
//   proof.cuh    whether it is proven
//   assign.cu    the kernel
//
// Given when they are compiled: how many lanes there are (lanes.cuh), the type of the costs, `number`, whether
// there may be pairs that must not be assigned, BARS, and what cuda_assign.py says of a `Shape`. The tests run
// all this on a simulated block, tests/engines/warps.h.

#define MOST_BITS 57    // units, and those of pairs that must not be assigned, are below 2^57
#define TABLE_BITS 27   // and below 2^27 in a table, so that sums of them fit an int; see search.cuh
#define EXACT_BITS (sizeof(number) == 4 && IS_FLOAT ? 24 : TABLE_BITS)  // to which a table has no error
#define ERROR 8         // and beyond that one below this, in units of the table

// What is known about one problem; all its lanes know the same.
struct Problem {
    wide offset;      // what a cost of 0 units stands for, in units (of 1, where costs are integers)
    wide barred;      // the units of a pair that must not be assigned; 0 if all may
    int exponent;     // a unit is 2^exponent
    number least;     // the cost of 0 units
    int num_left, num_right;
    int dropped;       // bits that the table lacks
    int table_barred;  // what `barred` is there
    bool is_rounded;   // whether the table says less than the units
    bool is_valid, is_for_later;
    __device__ bool is_turned() const { return num_left > num_right; }
    __device__ int few() const { return min(num_left, num_right); }
    __device__ int many() const { return max(num_left, num_right); }
};
enum { ROUNDED = 1, PARTIAL = 2, INVALID = 4, UNPROVEN = 8 };  // faults, as bits
#define HAS_BARRED 16  // beside them: some pair that must not be assigned costs just its prices
// The status of a problem that is left for a second kernel: a table says too little of it, or pairs are barred.
#define AGAIN 99
#define LATER 98

// All of them, and what is found; see `Batch` in cuda_assign.py.
struct Batch {
    const void* costs;             // (problem, left, right)
    const unsigned char* allowed;  // the same, or none: which pairs may be assigned
    const int* sizes;              // (problem, 2), or none: how many rows and columns there are
    int* tables;                   // (problem, few, stride), where they do not fit
    bits* barred;                  // (problem, left, WORDS): see `weighed`
    wide* indices;                 // (problem, left): the answer
    int* status;                   // (problem,): `Status` in augury/torch.py
    wide *left_potential, *right_potential;  // of each node, or none
    wide num_problems;
    int num_left, num_right, negates;
    int stride;       // of a table
    int table_bytes;  // of one that fits into shared memory, else 0
    int bytes;        // of shared memory for a problem
};

// What the lanes of a problem share; few and many are those of the largest problem.
struct Shared {
    wide *few_price, *many_price;  // (few,), (many,): in units above the offset
    short* mate;                   // (many,): the column of each row of the table
    short* row_of;                 // (many,): the row of each column
    short *parent, *queue;         // (many,): see search.cuh and settle.cuh
    int* pairs;                    // (many,): both in one, see repair.cuh
    wide* rest;                    // a table and what the search needs; later the planes of bits
};

__device__ inline double power(int exponent) {  // of two; no less than the least normal number
    return __longlong_as_double((wide)(min(max(exponent, -1022), 1023) + 1023) << 52);
}

#if !IS_FLOAT
template <int size> struct Natural { typedef unsigned long long type; };
template <> struct Natural<4> { typedef bits type; };
typedef Natural<sizeof(number)>::type natural;
#else
#define INFINITE ((number)(2 * power(1023)))
// A cost is ± digits · 2^order.
__device__ inline int digits_of(float cost, int& order) {
    const int own = __float_as_int(cost) & 0x7fffffff, exponent = own >> 23;
    order = max(exponent, 1) - 150;
    return exponent ? (own & 0x7fffff) | 1 << 23 : own;
}
__device__ inline wide digits_of(double cost, int& order) {
    const wide own = __double_as_longlong(cost) & (wide)(~0ull >> 1), one = (wide)1 << 52;
    const int exponent = (int)(own >> 52);
    order = max(exponent, 1) - 1075;
    return exponent ? (own & (one - 1)) | one : own;
}

// A power of two that divides the cost, the largest or half of it; 0 of 0.
__device__ inline float fineness(float cost) {
    const int own = __float_as_int(cost) & 0x7fffffff;
    return __int_as_float(own) - __int_as_float(own & (own - 1));
}
__device__ inline double fineness(double cost) {
    const wide own = __double_as_longlong(cost) & (wide)(~0ull >> 1);
    return __longlong_as_double(own) - __longlong_as_double(own & (own - 1));
}
#endif

// A cost as a multiple of 2^exponent above the offset, and whether it is exactly that. What is maximised is negated.
struct Scale {
    wide offset;
    int exponent;
    bool negates;
#if IS_FLOAT
    __device__ wide units(number cost) const {  // rounded towards 0
        int order;
        const wide digits = digits_of(cost, order);
        const int shift = order - exponent;
        const wide whole = shift >= 0 ? digits << shift : digits >> min(-shift, 63);
        return ((cost < 0) != negates ? -whole : whole) - offset;
    }
    __device__ bool is_exact(number cost) const {
        int order;
        const wide digits = digits_of(cost, order);
        const int least = min(max(exponent - order, 0), 63);
        return digits >> least << least == digits;
    }
#else
    __device__ natural above(number cost) const {  // the offset, which is the least
        return negates ? (natural)offset - (natural)cost : (natural)cost - (natural)offset;
    }
    __device__ wide units(number cost) const { return (wide)(above(cost) >> exponent); }
    __device__ bool is_exact(number cost) const { return above(cost) >> exponent << exponent == above(cost); }
#endif
};

__device__ inline int rounded(float cost) { return __float2int_rn(cost); }
__device__ inline int rounded(double cost) { return __double2int_rn(cost); }

// The same without the last bits, as a table has them, in a few instructions.
struct Coarse {
#if IS_FLOAT
    number first, second, least;  // two factors, for one may not be a number; the units of the offset
    __device__ Coarse(const Problem& own, bool negates) {
        const int exponent = -own.exponent - own.dropped;
        first = power(exponent / 2), second = power(exponent - exponent / 2);
        if (negates) first = -first;
        least = own.least * first * second;
    }
    __device__ int units(number cost) const { return rounded(fma(cost * first, second, -least)); }
#else
    Scale scale;
    int dropped;
    __device__ Coarse(const Problem& own, bool negates)
        : scale{own.offset, own.exponent, negates}, dropped(own.dropped) {}
    __device__ int units(number cost) const { return (int)(scale.units(cost) >> dropped); }
#endif
};

enum { ALLOWED, BARRED, WRONG };

__device__ inline int kind_of(number cost, bool is_allowed, bool negates) {
    if (!is_allowed) return BARRED;
#if IS_FLOAT
    if (cost - cost != 0) return cost == cost && (cost > 0) != negates ? BARRED : WRONG;
#endif
    return ALLOWED;
}
