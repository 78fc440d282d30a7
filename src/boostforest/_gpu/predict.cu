// Prediction: one thread walks one row through the trees, one after another, and adds up what they give.
//
// D: features, J: outputs, REAL: type of the parameters, LINK: 0 identity, 1 sigmoid, 2 softmax, 3 exponential.
// Parameters are read 16 bytes at a time: those of an output are filled up with zeros to a multiple of that.

typedef long long Index;

#if SINGLE
typedef float4 Wide;
#else
typedef double2 Wide;
#endif
#define PER (16 / (int)sizeof(REAL))
#define N_WIDE ((D + PER) / PER)  // of 1 + D parameters

struct __align__(16) Node {
    double threshold;
    int feature;  // -1: leaf; otherwise the feature, with bit 30 where a missing value goes left
    int left;     // of a leaf: the number of its model
};

__device__ inline double sigmoid(double f) {
    const double e = exp(-fabs(f));
    return (f < 0 ? e : 1.0) / (1 + e);
}

extern "C" __global__ void __launch_bounds__(128)
    add_trees(const Index* __restrict__ number, const double* __restrict__ x, const unsigned* __restrict__ missing,
              const Node* __restrict__ nodes, const Index* __restrict__ tree_start,
              const Index* __restrict__ params_start, const int* __restrict__ n_inputs_of,
              const bool* __restrict__ sums_path, const double* __restrict__ range, const REAL* __restrict__ all_params,
              const unsigned char* __restrict__ drawn, double* __restrict__ total, double* __restrict__ squares,
              double* __restrict__ n_trees) {
    const Index n_rows = number[0], first = number[1], last = number[2];
    const Index row = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    const double* values = x + row * D;
    double own[N_WIDE * PER];  // 1 for the intercept, the features, zeros
    own[0] = 1;
#pragma unroll
    for (int k = 1; k < N_WIDE * PER; ++k) own[k] = k <= D ? values[k <= D ? k - 1 : 0] : 0.0;
    const unsigned misses = missing == nullptr ? 0 : missing[row];
    double sum[J], square[J], seen = 0;
#pragma unroll
    for (int c = 0; c < J; ++c) sum[c] = square[c] = 0;
    for (Index tree = first; tree < last; ++tree) {
        if (drawn != nullptr && drawn[(tree - first) * n_rows + row] != 0) continue;
        const Node* own_nodes = nodes + tree_start[tree];
        const double2* own_range = reinterpret_cast<const double2*>(range) + tree_start[tree];
        const int n_inputs = n_inputs_of[tree];
        const REAL* params = all_params + params_start[tree];
        const bool sums = sums_path[tree];
        double score[J];
#pragma unroll
        for (int c = 0; c < J; ++c) score[c] = 0;
        int at = 0;
        const bool alone = own_nodes[0].feature < 0;
        for (;;) {
            const Node node = own_nodes[at];
            if (node.feature < 0 || (sums && at > 0)) {
                const Index model = sums ? (alone ? 0 : at - 1) : node.left;
                const double2 ends = own_range[at];
                for (int c = 0; c < J; ++c) {
                    const Index first_wide = (model * J + c) * (n_inputs > 0 ? N_WIDE : 1);
                    const Wide* own_params = reinterpret_cast<const Wide*>(params) + first_wide;
                    double out = 0;
                    if (n_inputs == 0) {
                        out = own_params[0].x;
                    } else {
#pragma unroll
                        for (int k = 0; k < N_WIDE; ++k) {
                            const Wide value = own_params[k];
                            out += own[PER * k] * value.x;
                            out += own[PER * k + 1] * value.y;
#if SINGLE
                            out += own[PER * k + 2] * value.z;
                            out += own[PER * k + 3] * value.w;
#endif
                        }
                    }
                    score[c] += fmin(fmax(out, ends.x), ends.y);
                }
            }
            if (node.feature < 0) break;
            const int feature = node.feature & 0x3fffffff;
            const bool goes_left =
                misses >> feature & 1 ? (node.feature >> 30 & 1) != 0 : values[feature] <= node.threshold;
            at = node.left + (goes_left ? 0 : 1);
        }
        if (LINK == 1) score[0] = sigmoid(score[0]);
        if (LINK == 3) score[0] = exp(score[0]);
        if (LINK == 2) {
            double top = score[0], all = 0;
#pragma unroll
            for (int c = 1; c < J; ++c) top = fmax(top, score[c]);
#pragma unroll
            for (int c = 0; c < J; ++c) all += score[c] = exp(score[c] - top);
#pragma unroll
            for (int c = 0; c < J; ++c) score[c] /= all;
        }
        seen += 1;
#pragma unroll
        for (int c = 0; c < J; ++c) {
            sum[c] += score[c];
            square[c] += score[c] * score[c];
        }
    }
#pragma unroll
    for (int c = 0; c < J; ++c) {
        total[row * J + c] += sum[c];
        if (squares != nullptr) squares[row * J + c] += square[c];
    }
    if (n_trees != nullptr) n_trees[row] += seen;
}
