// How the lanes of a block share its problems; what follows is compiled for THREADS of a block and LANES
// of a problem: a part of a warp, a warp, or the whole block.

typedef long long wide;
typedef unsigned int bits;

#define GROUPS (THREADS / LANES)
#define CREW (LANES < 32 ? LANES : 32)  // the lanes of a problem that are in one warp
#define CREWS (LANES / CREW)
#define NONE (-1)

#ifndef MEMORY
#define MEMORY extern __shared__ wide memory[];
#endif
// What other lanes may be changing: some value that it has had.
#ifndef glance
template <class T> __device__ inline T glance(const T& place) { return *(const volatile T*)&place; }
// And one of those that lanes leave there at the same time is there afterwards.
template <class T> __device__ inline void leave(T& place, T value) { *(volatile T*)&place = value; }
#endif
// 2^x, to about 22 bits, by one instruction.
#ifndef power_of_2
__device__ inline float power_of_2(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}
#endif
// The lanes of this warp that work on the same problem.
#define mask (LANES >= 32 ? ~0u : ((1u << (LANES & 31)) - 1) << (threadIdx.x & 31) / LANES * LANES)

__device__ inline void meet() {  // all lanes of a problem see what the others wrote
#if LANES > 32
    __syncthreads();
#else
    __syncwarp(mask);
#endif
}

// Problems that share a warp go on at the same pace, so that they need not take turns. Only time depends on it.
#ifndef together
__device__ inline void together() {
    if (LANES < 32) __syncwarp();
}
#endif

__device__ inline void crew_meets() { __syncwarp(mask); }

// Reads before it are not put off until what they bring is used, one by one, as compilers like to.
#define READS_ARE_UNDER_WAY crew_meets();

// Whether any lane of the problem says so; they meet.
__device__ inline bool any_of_all(bool is_so) {
#if LANES > 32
    return __syncthreads_or(is_so);
#else
    const bool any = __any_sync(mask, is_so);
    __syncwarp(mask);
    return any;
#endif
}

// Bit i: what lane i of the crew says.
__device__ inline bits asked(bool is_so) {
    if (LANES == 1) return is_so;
    return (__ballot_sync(mask, is_so) & mask) >> (CREW < 32 ? (threadIdx.x & 31) / CREW * CREW : 0);
}
template <class T> __device__ inline T told_by(T own, int lane) {
    return LANES == 1 ? own : __shfl_sync(mask, own, lane, CREW);
}

// What any lane of the crew has.
__device__ inline bits any_bits(bits own) {
#if LANES >= 32
    return __reduce_or_sync(mask, own);
#else
    for (int step = CREW / 2; step; step /= 2) own |= __shfl_xor_sync(mask, own, step);
    return own;
#endif
}

struct Least { template <class T> __device__ T operator()(T a, T b) const { return a < b ? a : b; } };
struct Most { template <class T> __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
struct Both { __device__ int operator()(int a, int b) const { return a | b; } };
template <class T, class Join> __device__ inline T over_all(T own, Join join) {
    for (int step = CREW / 2; step; step /= 2) own = join(own, __shfl_xor_sync(mask, own, step));
#if LANES > 32
    __shared__ T told[CREWS];
    __syncthreads();
    if (threadIdx.x % 32 == 0) told[threadIdx.x / 32] = own;
    __syncthreads();
    own = told[0];
    for (int crew = 1; crew < CREWS; ++crew) own = join(own, told[crew]);
#endif
    return own;
}
