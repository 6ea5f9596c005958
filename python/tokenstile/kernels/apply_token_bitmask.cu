// Writes minus infinity over the logits that a bitmask forbids, for a batch in one launch.
//
// device_rows.py says what a group is and why. A thread does GROUPS_PER_THREAD groups of one row, as far apart as the
// block is wide, so that the stores of a warp lie side by side. First it reads the bits of all of them, then what must be
// read of the logits, and then it writes: what is read is then under way together.
//
// Compiled by nvrtc.py, which gives ELEMENT (an unsigned integer as wide as a logit), NEGATIVE_INFINITY (its bits),
// THREADS and GROUPS_PER_THREAD. `Rows` is laid out as in cuda.py.

struct Rows {
    unsigned char* logits;
    const unsigned char* bitmask;
    const long long* indices;  // null: all rows
    long long logits_stride;   // bytes
    long long bitmask_stride;  // bytes
    long long logits_rows;
    long long bitmask_rows;
    int columns;
    int bitmask_bytes;
    int blocks;  // of a row
};

constexpr int GROUP_BYTES = 16;
constexpr int LANES = GROUP_BYTES / sizeof(ELEMENT);
constexpr unsigned ALL = (1u << LANES) - 1;

union Group {
    uint4 whole;
    ELEMENT lanes[LANES];
};

// Eight columns; those that the bitmask has no bit for are forbidden.
__device__ __forceinline__ unsigned byte_of(const Rows& rows, const unsigned char* bitmask, int at) {
    return at < rows.bitmask_bytes ? bitmask[at] : 0u;
}

// The bits of the group that begins at the column `first`.
__device__ __forceinline__ unsigned bits_of(const Rows& rows, const unsigned char* bitmask, int first) {
    unsigned bits = byte_of(rows, bitmask, first >> 3);
    if ((first & 7) + LANES > 8) {
        bits |= byte_of(rows, bitmask, (first >> 3) + 1) << 8;
    }
    return bits >> (first & 7) & ALL;
}

// Writes minus infinity over the elements of a group that its bits forbid.
__device__ __forceinline__ void forbid(Group& group, unsigned bits) {
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
        if ((bits >> lane & 1u) == 0) {
            group.lanes[lane] = NEGATIVE_INFINITY;
        }
    }
}

__device__ __forceinline__ void apply_to_element(const Rows& rows, ELEMENT* logits, const unsigned char* bitmask,
                                                 int column) {
    if ((byte_of(rows, bitmask, column >> 3) >> (column & 7) & 1u) == 0) {
        logits[column] = NEGATIVE_INFINITY;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) apply_token_bitmask(const Rows rows) {
    const int block = blockIdx.x % rows.blocks;
    long long row = blockIdx.x / rows.blocks;
    if (rows.indices != nullptr) {
        row = rows.indices[row];
        if (row < 0 || row >= rows.logits_rows || row >= rows.bitmask_rows) {
            return;
        }
    }
    unsigned char* const start = rows.logits + row * rows.logits_stride;
    ELEMENT* const logits = reinterpret_cast<ELEMENT*>(start);
    const unsigned char* const bitmask = rows.bitmask + row * rows.bitmask_stride;
    const int bytes_before_group = static_cast<int>(-reinterpret_cast<unsigned long long>(start) % GROUP_BYTES);
    const int head = min(bytes_before_group / static_cast<int>(sizeof(ELEMENT)), rows.columns);
    const int groups = (rows.columns - head) / LANES;

    uint4* const targets = reinterpret_cast<uint4*>(logits + head);
    const int first_group = block * THREADS * GROUPS_PER_THREAD + threadIdx.x;
    unsigned bits[GROUPS_PER_THREAD];
    Group values[GROUPS_PER_THREAD];
#pragma unroll
    for (int turn = 0; turn < GROUPS_PER_THREAD; ++turn) {
        const int group = first_group + turn * THREADS;
        bits[turn] = group < groups ? bits_of(rows, bitmask, head + group * LANES) : ALL;
    }
#pragma unroll
    for (int turn = 0; turn < GROUPS_PER_THREAD; ++turn) {
        if (bits[turn] != 0 && bits[turn] != ALL) {
            values[turn].whole = targets[first_group + turn * THREADS];
        }
    }
#pragma unroll
    for (int turn = 0; turn < GROUPS_PER_THREAD; ++turn) {
        if (bits[turn] != ALL) {
            forbid(values[turn], bits[turn]);
            targets[first_group + turn * THREADS] = values[turn].whole;
        }
    }

    if (block == 0) {
        const int tail = head + groups * LANES;
        if (threadIdx.x < head) {
            apply_to_element(rows, logits, bitmask, threadIdx.x);
        }
        if (tail + threadIdx.x < rows.columns) {
            apply_to_element(rows, logits, bitmask, tail + threadIdx.x);
        }
    }
}
