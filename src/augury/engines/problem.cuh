// What the kernels for assignments share: they run one after the other, and nothing leaves the device.
//
//   units.cu   prepare: costs of any kind → whole units, the smaller side as rows
//   assign.cu  → an assignment and prices, by the method of assignments.py
//   units.cu   weigh: the costs as given, at these prices: none may be too low; which are exact?
//   settle.cu  → of the assignments over exact costs the first in order, and whether it is proven
//
// Given when a file is compiled: THREADS, those of a block; LANES, those that share a problem. It is 1
// (a thread has a problem to itself), part of a warp, a warp, or the whole block. And `number`, the
// type of the costs, with IS_FLOAT. The tests run them on a simulated block, tests/engines/warps.h.

typedef long long wide;
typedef unsigned int bits;

#define FAR ((wide)1 << 61)   // no way there; sums of four costs are less than half of it
#define MOST_BITS 57          // costs, and those of pairs that must not be assigned, are below 2^57
#define NARROW_BITS 27        // sums of ten costs fit an int; see assign.cu
#define GROUPS (THREADS / LANES)
#define NONE (-1)

#ifndef MEMORY
#define MEMORY extern __shared__ wide memory[];
#endif
// The lanes of this warp that work on the same problem.
#define mask (LANES >= 32 ? ~0u : ((1u << (LANES & 31)) - 1) << (threadIdx.x & 31) / LANES * LANES)

// What is known about one problem.
struct Problem {
    wide offset;      // what a cost of 0 units stands for, in units (of 1, where costs are integers)
    wide barred;      // the units of a pair that must not be assigned; 0 if all may
    int exponent;     // a unit is 2^exponent
    int num_left, num_right;
    int is_narrow;    // whether the table holds int, its costs below 2^NARROW_BITS
    int faults;
};
enum { ROUNDED = 1, PARTIAL = 2, INVALID = 4, UNPROVEN = 8 };  // bits of `faults`

// All of them, and what is found; see `Batch` in cuda_assign.py.
struct Batch {
    const void* costs;             // (problem, left, right)
    const unsigned char* allowed;  // the same, or none: which pairs may be assigned
    const int* sizes;              // (problem, 2), or none: how many rows and columns there are
    wide* tables;                  // (problem, smaller side, larger side): costs as units
    Problem* problems;
    short* mates;                  // (problem, larger side): of each row of a table, its column
    wide *left_price, *right_price;  // in units above the offset; at last as potentials
    bits *exact, *barred;          // (problem, word): see `weigh`
    wide* indices;                 // (problem, left): the answer
    int* status;                   // (problem,): `Status` in augury/torch.py
    wide num_problems;
    int num_left, num_right, num_words, negates;
};

__device__ inline void meet() {  // all lanes of a problem see what the others wrote
    if (LANES > 32) __syncthreads();
    else __syncwarp(mask);
}

// Bit i: what lane i says; of one warp.
__device__ inline bits asked(bool is_so) {
    if (LANES == 1) return is_so;
    return (__ballot_sync(mask, is_so) & mask) >> (LANES < 32 ? (threadIdx.x & 31) / LANES * LANES : 0);
}
template <class T> __device__ inline T told_by(T own, int lane) {
    return LANES == 1 ? own : __shfl_sync(mask, own, lane, LANES < 32 ? LANES : 32);
}

// Entry k of a list in shared memory: problems side by side if a thread has one to itself.
#define ENTRY(list, k) (list)[LANES == 1 ? (k) * GROUPS + group : group * length + (k)]

__device__ inline double power(int exponent) {  // of two; no less than the least normal number
    return __longlong_as_double((wide)(min(max(exponent, -1022), 1023) + 1023) << 52);
}

#ifdef READS_COSTS  // as they are given: `number` is their type

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
#endif
