// What the kernels for assignments share: they run one after the other, and nothing leaves the device.
//
//   units.cu   prepare: costs of any kind → whole units, the smaller side as rows
//   assign.cu  → an assignment and prices, by the method of assignments.py
//   units.cu   weigh: the costs as given, at these prices: none may be too low; which are exact?
//   settle.cu  → of the assignments over exact costs the first in order, and whether it is proven
//
// Given when a file is compiled: THREADS, those of a block; LANES, those that share a problem. It is 1
// (a thread has a problem to itself), part of a warp, a warp, or the whole block. And `number`, the
// type of the costs, with IS_FLOAT. The tests compile the first form for the host too, with HOST.

typedef long long wide;
typedef unsigned int bits;

#define FAR ((wide)1 << 61)   // no way there; sums of four costs are less than half of it
#define MOST_BITS 57          // costs, and those of pairs that must not be assigned, are below 2^57
#define GROUPS (THREADS / LANES)
#define NONE (-1)

#ifdef HOST
#include <cmath>
#include <cstring>
#define __global__
#define __device__
#define __restrict__
#define MEMORY
#define LAUNCH_BOUNDS
struct Index { int x; } threadIdx, blockIdx;
static wide memory[1 << 16];
static const bits mask = 1;
inline void __syncthreads() {}
inline void __syncwarp(bits) {}
inline bits __ballot_sync(bits, bool is_so) { return is_so; }
inline bits __funnelshift_r(bits low, bits high, int shift) {
    return (bits)((((unsigned long long)high << 32) | low) >> shift);
}
inline int __ffs(int word) { return __builtin_ffs(word); }
inline int __popc(bits word) { return __builtin_popcount(word); }
template <class T> T __shfl_sync(bits, T value, int, int) { return value; }
template <class T> T __shfl_xor_sync(bits, T value, int) { return value; }
template <class T> T __reduce_min_sync(bits, T value) { return value; }
template <class T> T max(T a, T b) { return a > b ? a : b; }
template <class T> T min(T a, T b) { return a < b ? a : b; }
inline wide atomicMin(wide* place, wide value) { return *place = min(*place, value); }
inline bits atomicAnd(bits* place, bits word) { return *place &= word; }
inline wide __double2ll_rn(double x) { return llrint(x); }
inline wide __double_as_longlong(double x) { wide y; memcpy(&y, &x, 8); return y; }
inline double __longlong_as_double(wide x) { double y; memcpy(&y, &x, 8); return y; }
#else
#define MEMORY extern __shared__ wide memory[];
#define LAUNCH_BOUNDS __launch_bounds__(THREADS)
// The lanes of this warp that work on the same problem.
#define mask (LANES >= 32 ? 0xffffffffu : ((1u << (LANES & 31)) - 1) << (threadIdx.x & 31) / LANES * LANES)
#endif

// What is known about one problem.
struct Problem {
    wide offset;      // what a cost of 0 units stands for, in units (of 1, where costs are integers)
    wide barred;      // the units of a pair that must not be assigned; 0 if all may
    int exponent;     // a unit is 2^exponent
    int num_left, num_right;
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
    __device__ bool is_exact(value cost) const {
        return scaled(cost) == (double)(units(cost) + offset) && (scaled(cost) != 0 || cost == 0);
    }
#else
    __device__ unsigned long long above(value cost) const {  // the offset, which is the least
        typedef unsigned long long natural;
        return negates ? (natural)offset - (natural)cost : (natural)cost - (natural)offset;
    }
    __device__ wide units(value cost) const { return (wide)(above(cost) >> exponent); }
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
#endif
