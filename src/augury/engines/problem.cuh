// Costs become a proven assignment: the lanes of a block, or some of them, take a problem from start to end.
//
//   units.cuh    costs of any kind → whole units, the smaller side as rows; at last the costs as they
//                are given, at these prices: none may be too low; which are exact?
//   search.cuh   units → an assignment and prices, by the method of assignments.py
//   settle.cuh   → of the assignments over exact costs the first in order, and whether it is proven
//   assign.cu    the kernel
//
// Given when they are compiled: how many lanes there are (lanes.cuh), the type of the costs, `number`, and
// what cuda_assign.py says of a `Shape`. The tests run all this on a simulated block, tests/engines/warps.h.

#define MOST_BITS 57    // costs, and those of pairs that must not be assigned, are below 2^57
#define NARROW_BITS 27  // where they are below 2^27, sums of them fit an int; see search.cuh

// What is known about one problem; all its lanes know the same.
struct Problem {
    wide offset;      // what a cost of 0 units stands for, in units (of 1, where costs are integers)
    wide barred;      // the units of a pair that must not be assigned; 0 if all may
    int exponent;     // a unit is 2^exponent
    int num_left, num_right;
    bool is_narrow;   // whether all units are below 2^NARROW_BITS
    bool is_valid;
    __device__ bool is_turned() const { return num_left > num_right; }
    __device__ int few() const { return min(num_left, num_right); }
    __device__ int many() const { return max(num_left, num_right); }
};
enum { ROUNDED = 1, PARTIAL = 2, INVALID = 4, UNPROVEN = 8 };  // faults, as bits

// All of them, and what is found; see `Batch` in cuda_assign.py.
struct Batch {
    const void* costs;             // (problem, left, right)
    const unsigned char* allowed;  // the same, or none: which pairs may be assigned
    const int* sizes;              // (problem, 2), or none: how many rows and columns there are
    wide* tables;                  // (problem, FEW, STRIDE): costs as units, where they do not fit
    bits* barred;                  // (problem, left, WORDS): see `weighed`
    wide* indices;                 // (problem, left): the answer
    int* status;                   // (problem,): `Status` in augury/torch.py
    wide *left_potential, *right_potential;  // of each node, or none
    wide num_problems;
    int num_left, num_right, negates;
};

// What the lanes of a problem share.
struct Shared {
    wide *few_price, *many_price;  // (FEW,), (SIDE,): in units above the offset
    short* mate;                   // (SIDE,): the column of each row of the table
    short* row_of;                 // (SIDE,): the row of each column
    short *parent, *queue;         // (SIDE,): see search.cuh and settle.cuh
    wide* rest;                    // a table and what the search needs; later the planes of bits
};

__device__ inline double power(int exponent) {  // of two; no less than the least normal number
    return __longlong_as_double((wide)(min(max(exponent, -1022), 1023) + 1023) << 52);
}

#if IS_FLOAT
typedef double value;
#else
typedef wide value;
#endif

// A cost as a multiple of 2^exponent, and whether it is exactly that. What is maximised is negated.
struct Scale {
    wide offset;
    int exponent;
    bool negates;
    double first, second;
    __device__ Scale(wide offset, int exponent, bool negates)
        : offset(offset), exponent(exponent), negates(negates) {
        const int half = sizeof(number) == 4 ? -exponent : -exponent / 2;
        first = power(half), second = power(-exponent - half);
        if (negates) first = -first;
    }
#if IS_FLOAT
    __device__ double scaled(value cost) const {
        const double once = cost * first;  // one factor is not always a normal number
        return sizeof(number) == 4 ? once : once * second;
    }
    __device__ wide units(value cost) const { return __double2ll_rn(scaled(cost)) - offset; }
    __device__ wide as(number cost, wide) const { return units(cost); }
    __device__ int as(number cost, int) const {  // where the problem is narrow, no product rounds
        return sizeof(number) == 4 ? __float2int_rn(cost * (float)first) - (int)offset : (int)units(cost);
    }
    __device__ bool is_exact(value cost) const {
        return scaled(cost) == (double)(units(cost) + offset) && (scaled(cost) != 0 || cost == 0);
    }
#else
    __device__ unsigned long long above(value cost) const {  // the offset, which is the least
        typedef unsigned long long natural;
        return negates ? (natural)offset - (natural)cost : (natural)cost - (natural)offset;
    }
    __device__ wide units(value cost) const { return (wide)(above(cost) >> exponent); }
    __device__ wide as(number cost, wide) const { return units(cost); }
    __device__ int as(number cost, int) const {  // where the problem is narrow, exponent is 0
        return negates ? (int)((bits)offset - (bits)cost) : (int)((bits)cost - (bits)offset);
    }
    __device__ bool is_exact(value cost) const {
        return above(cost) >> exponent << exponent == above(cost);
    }
#endif
};

enum { ALLOWED, BARRED, WRONG };

__device__ inline int kind_of(number cost, const unsigned char* allowed, int place, bool negates) {
    if (allowed && !allowed[place]) return BARRED;
#if IS_FLOAT
    if (cost != cost) return WRONG;
    if (cost - cost != 0) return (cost > 0) != negates ? BARRED : WRONG;
#endif
    return ALLOWED;
}

// The largest power of two that divides a cost has this exponent.
__device__ inline int fineness(float cost) {
    const int own = __float_as_int(cost) & 0x7fffffff, order = max(own >> 23, 1);
    const int digits = own < 1 << 23 ? own : (own & 0x7fffff) | 1 << 23;
    return digits ? order - 151 + __ffs(digits) : 1024;
}
__device__ inline int fineness(double cost) {
    const wide own = __double_as_longlong(cost) & (wide)(~0ull >> 1), one = (wide)1 << 52;
    const wide digits = own < one ? own : (own & (one - 1)) | one;
    return digits ? max((int)(own >> 52), 1) - 1076 + __ffsll(digits) : 1024;
}
__device__ inline int fineness(wide) { return 0; }
__device__ inline int fineness(int) { return 0; }
