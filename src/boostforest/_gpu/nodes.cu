// Node models and splits of small tables: one warp works on one node. Lane j has feature j, or one of 32 rows.
//
// D is the number of features, at most 32, J that of outputs; models are linear (LINEAR) or constants. The steps are
// those of grower.py (_fit_bucket) and splits.py: ridge regression around the node's mean, one step of the loss, then
// the best of the random thresholds. Sums run over the rows in their order, so that the same device gives the same
// bits.

typedef long long Index;
typedef unsigned long long Word;
#define ALL 0xffffffffu
#define BF_INFINITY __longlong_as_double(0x7ff0000000000000LL)

constexpr int M = LINEAR ? D : 0;  // inputs of a model
constexpr int P = M + 1;           // its parameters

// Numbers of a launch.
struct Launch {
    Index n_nodes, fits, splits, logistic, clips, shared, n_cuts, attempt_tag;
    Index split_features;  // a bit for each feature that may be split on
    Index max_features;    // that are tried at a time
};

struct Table {
    const double* x;          // rows × D
    const unsigned* missing;  // per row a bit for each feature that is missing; null: none
    const double* y;
};

// The rows of a node; what depends on a feature is that of the lane's own.
struct Node {
    const int* rows;
    const double* weights;
    double* scores;  // rows × J
    int n;
    double weight;     // of the rows
    double mean;       // of the feature
    double low, high;  // its range, where it is not missing; 0 where it always is
    unsigned missed;   // features that some row misses
};

struct Split {
    int feature = 64;  // none
    double threshold = 0, gain = 0;
    bool missing_left = false;
};

__device__ __forceinline__ double shfl(double value, int lane) {
    return __shfl_sync(ALL, value, lane);
}

__device__ __forceinline__ double sum_lanes(double value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

__device__ __forceinline__ Word word(Word key, Word i) {
    Word x = key + 0x9E3779B97F4A7C15ULL * (i + 1);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

__device__ __forceinline__ double largest_of_lanes(double value) {
    for (int step = 16; step > 0; step /= 2) value = fmax(value, __shfl_xor_sync(ALL, value, step));
    return value;
}

// What the loss makes of a row's scores for output c.
struct Row {
    double truth;     // what the output should be
    double p;         // probability of the output, or its score
    double h;         // second derivative
    double h_of_all;  // the largest of all outputs'
};

__device__ __forceinline__ Row look_at(bool logistic, double y, const double* f, int c) {
    if (J == 1 && !logistic) return {y, f[0], 1, 1};
    if (J == 1) {
        const double e = exp(-fabs(f[0])), p = (f[0] < 0 ? e : 1.0) / (1 + e), h = p * (1 - p);
        return {y, p, h, h};
    }
    double top = f[0], total = 0, own = 0, most = 0;
    for (int k = 1; k < J; ++k) top = fmax(top, f[k]);
    for (int k = 0; k < J; ++k) total += exp(f[k] - top);
    for (int k = 0; k < J; ++k) {
        const double p = exp(f[k] - top) / total;
        most = fmax(most, p * (1 - p));
        own = k == c ? p : own;
    }
    return {y == c ? 1.0 : 0.0, own, own * (1 - own), most};
}

__device__ __forceinline__ double row_loss(bool logistic, double y, const double* f) {
    if (J == 1 && !logistic) return (y - f[0]) * (y - f[0]);
    if (J == 1) return log1p(exp(-fabs(f[0]))) + fmax(f[0], 0.0) - y * f[0];
    double top = f[0], total = 0;
    for (int k = 1; k < J; ++k) top = fmax(top, f[k]);
    for (int k = 0; k < J; ++k) total += exp(f[k] - top);
    return log(total) + top - f[(int)y];
}

// Range of each feature, and its mean.
__device__ __forceinline__ void measure(const Table& table, int lane, Node& node) {
    node.weight = node.mean = 0;
    node.low = BF_INFINITY;
    node.high = -BF_INFINITY;
    node.missed = 0;
    for (int first = 0; first < node.n; first += 32) {
        const int here = min(32, node.n - first);
        const bool is_row = lane < here;
        const int own_row = is_row ? __ldg(node.rows + first + lane) : 0;
        const double own_weight = is_row ? __ldg(node.weights + first + lane) : 0;
        const unsigned own_missing = table.missing != nullptr && is_row ? __ldg(table.missing + own_row) : 0;
        node.missed |= own_missing;
#pragma unroll 4
        for (int i = 0; i < here; ++i) {
            const int row = __shfl_sync(ALL, own_row, i);
            const double w = shfl(own_weight, i), value = lane < D ? __ldg(table.x + (Index)row * D + lane) : 0;
            const bool is_missing = table.missing != nullptr && (__shfl_sync(ALL, own_missing, i) >> lane & 1) != 0;
            node.low = !is_missing && value < node.low ? value : node.low;
            node.high = !is_missing && value > node.high ? value : node.high;
            node.mean += w * value;
            node.weight += w;
        }
    }
    for (int step = 16; step > 0; step /= 2) node.missed |= __shfl_xor_sync(ALL, node.missed, step);
    node.mean /= node.weight;
    if (!(node.low <= node.high)) node.low = node.high = 0;
}

// Weighted sums of the rows around the node's mean, for one output.
struct Equations {
    double gram[M + 1];  // column of the lane's feature; after elimination the upper triangle
    double inverse;      // of the feature's pivot
    double x_sum, rhs, v_sum, vz_sum;
    double z_low, z_high;  // range of the pseudo-labels
};

__device__ __forceinline__ void add_rows(const Table& table, const Node& node, const Launch& launch, int c,
                                         bool gram_is_known, int lane, Equations& e) {
    const bool shared = J > 1 && launch.shared, is_class = J > 1 || launch.logistic;
    const double smallest = 2 * 2.220446049250313e-16;
    if (!gram_is_known) {
#pragma unroll
        for (int k = 0; k < M; ++k) e.gram[k] = 0;
    }
    e.x_sum = e.rhs = e.v_sum = e.vz_sum = 0;
    for (int first = 0; first < node.n; first += 32) {
        const int here = min(32, node.n - first);
        const bool is_row = lane < here;
        const int own_row = is_row ? __ldg(node.rows + first + lane) : 0;
        double z = 0, v = 0;
        if (is_row) {
            const Row row =
                look_at(launch.logistic, __ldg(table.y + own_row), node.scores + (Index)(first + lane) * J, c);
            const double error = row.truth - row.p, h = shared ? fmax(row.h_of_all, smallest) : row.h;
            z = !is_class ? error : fmin(fmax(h > 0 ? error / h : error * 4.0, -4.0), 4.0);
            v = __ldg(node.weights + first + lane) * fmax(h, smallest);
            e.z_low = fmin(e.z_low, z);
            e.z_high = fmax(e.z_high, z);
        }
#pragma unroll 2
        for (int i = 0; i < here; ++i) {
            const int row = __shfl_sync(ALL, own_row, i);
            const double value = lane < M ? __ldg(table.x + (Index)row * D + lane) - node.mean : 0;
            const double zi = shfl(z, i), vi = shfl(v, i), weighted = vi * value;
            e.v_sum += vi;
            e.vz_sum += vi * zi;
            e.x_sum += weighted;
            e.rhs += weighted * zi;
            if (gram_is_known) continue;
#pragma unroll
            for (int k = 0; k < M; ++k) e.gram[k] += shfl(value, k) * weighted;
        }
    }
}

// Takes the weighted mean out of the Gram matrix, adds the penalty and eliminates: row k stays in gram[k].
__device__ __forceinline__ void eliminate(Equations& e, double lambda, int lane) {
    const double x_mean = e.x_sum / e.v_sum;
    double largest = 0;
#pragma unroll
    for (int k = 0; k < M; ++k) {
        e.gram[k] -= shfl(x_mean, k) * e.x_sum;
        if (lane == k) largest = e.gram[k] += lambda;
    }
    const double tiny = largest_of_lanes(largest) * M * (8 * 2.220446049250313e-16);
#pragma unroll
    for (int k = 0; k < M; ++k) {
        const double pivot = shfl(e.gram[k], k), inverse = pivot > tiny ? 1 / pivot : 0;
        if (lane == k) e.inverse = inverse;
        const double share = e.gram[k] * inverse;
#pragma unroll
        for (int i = k + 1; i < M; ++i) e.gram[i] -= shfl(share, i) * e.gram[k];
    }
}

// The slope of the lane's feature.
__device__ __forceinline__ double solve(const Equations& e, int lane) {
    double rhs = e.rhs - e.vz_sum / e.v_sum * e.x_sum, slope = 0;
#pragma unroll
    for (int k = 0; k < M; ++k) {
        const double known = shfl(rhs, k) * shfl(e.inverse, k);
        if (lane == k) slope = known;
        if (lane > k) rhs -= e.gram[k] * known;
    }
#pragma unroll
    for (int k = M - 2; k >= 0; --k) {
        const double known = sum_lanes(lane > k && lane < M ? e.gram[k] * slope : 0.0);
        if (lane == k) slope -= known * e.inverse;
    }
    return lane < M ? slope : 0.0;
}

// Makes the outputs of models add up to zero.
__device__ __forceinline__ void centre(double* params, int lane) {
    for (int k = lane; k <= M; k += 32) {
        double total = 0;
        for (int c = 0; c < J; ++c) total += params[c * P + k];
        for (int c = 0; c < J; ++c) {
            double* own = params + c * P + k;
            *own = (1 - 1.0 / J) * (*own - total / J);
        }
    }
    __syncwarp();
}

// Adds to the scores what the models give, whose intercepts are those at the node's mean; returns the loss then.
__device__ __forceinline__ double move_scores(const Table& table, const Node& node, const Launch& launch,
                                              const double* params, double lower, double upper, int lane) {
    double loss = 0;
    for (int first = 0; first < node.n; first += 32) {
        const bool is_row = first + lane < node.n;
        const int own_row = is_row ? __ldg(node.rows + first + lane) : 0;
        const double* values = table.x + (Index)own_row * D;
        double step[J];
#pragma unroll
        for (int c = 0; c < J; ++c) step[c] = params[c * P];
#pragma unroll
        for (int k = 0; k < M; ++k) {
            const double value = __ldg(values + k) - shfl(node.mean, k);
#pragma unroll
            for (int c = 0; c < J; ++c) step[c] += params[c * P + 1 + k] * value;
        }
        if (!is_row) continue;
        double* f = node.scores + (Index)(first + lane) * J;
#pragma unroll
        for (int c = 0; c < J; ++c) f[c] += fmin(fmax(step[c], lower), upper);
        loss += __ldg(node.weights + first + lane) * row_loss(launch.logistic, __ldg(table.y + own_row), f);
    }
    __syncwarp();
    return sum_lanes(loss);
}

// Fits the models of all outputs and moves the scores; returns the loss then.
__device__ __forceinline__ double fit(const Table& table, const Node& node, const Launch& launch, double lambda,
                                      int lane, double* params, double& lower, double& upper) {
    Equations e;
    e.z_low = BF_INFINITY;
    e.z_high = -BF_INFINITY;
    for (int c = 0; c < J; ++c) {
        const bool gram_is_known = J > 1 && launch.shared && c > 0;
        add_rows(table, node, launch, c, gram_is_known, lane, e);
        if (!gram_is_known) eliminate(e, lambda, lane);
        const double slope = solve(e, lane);
        const double intercept = e.vz_sum / e.v_sum - sum_lanes(slope * (e.x_sum / e.v_sum));  // at the node's mean
        if (lane == 0) params[c * P] = intercept;
        if (lane < M) params[c * P + 1 + lane] = slope;
    }
    __syncwarp();
    if (J > 1) centre(params, lane);
    lower = launch.clips ? -largest_of_lanes(-e.z_low) : -BF_INFINITY;
    upper = launch.clips ? largest_of_lanes(e.z_high) : BF_INFINITY;
    const double loss = move_scores(table, node, launch, params, lower, upper, lane);
    for (int c = 0; c < J; ++c) {
        const double moved = sum_lanes(lane < M ? params[c * P + 1 + lane] * node.mean : 0.0);
        if (lane == 0) params[c * P] -= moved;  // at zero
    }
    __syncwarp();
    return loss;
}

// Rounded, so that the last bits do not decide (src/core/grow/comparable.hpp).
__device__ __forceinline__ double comparable(double value) {
    return __longlong_as_double((__double_as_longlong(value) + 0x80000000LL) & ~0xFFFFFFFFLL);
}

// What the threshold of the lane's feature is worth, with missing values on the right and on the left, and the weight
// of the rows on the left then.
struct Gains {
    double gain[2], weight[2];
};

__device__ __forceinline__ Gains gains_of(const Table& table, const Node& node, const Launch& launch, double threshold,
                                          double lambda, int lane) {
    Gains gains = {{0, 0}, {0, 0}};
    for (int c = 0; c < J; ++c) {
        double w_left = 0, g_left = 0, h_left = 0, w_missing = 0, g_missing = 0, h_missing = 0, g_all = 0, h_all = 0;
        for (int first = 0; first < node.n; first += 32) {
            const int here = min(32, node.n - first);
            const bool is_row = lane < here;
            const int own_row = is_row ? __ldg(node.rows + first + lane) : 0;
            const double own_weight = is_row ? __ldg(node.weights + first + lane) : 0;
            const unsigned own_missing = table.missing != nullptr && is_row ? __ldg(table.missing + own_row) : 0;
            double wg = 0, wh = 0;
            if (is_row) {
                const Row row =
                    look_at(launch.logistic, __ldg(table.y + own_row), node.scores + (Index)(first + lane) * J, c);
                wg = own_weight * (row.p - row.truth);
                wh = own_weight * row.h;
            }
#pragma unroll 4
            for (int i = 0; i < here; ++i) {
                const int row = __shfl_sync(ALL, own_row, i);
                const double w = shfl(own_weight, i), g = shfl(wg, i), h = shfl(wh, i);
                const double value = lane < D ? __ldg(table.x + (Index)row * D + lane) : 0;
                const bool is_missing = table.missing != nullptr && (__shfl_sync(ALL, own_missing, i) >> lane & 1) != 0;
                const double on_left = !is_missing && value <= threshold ? 1.0 : 0.0;
                w_left += on_left * w;
                g_left += on_left * g;
                h_left += on_left * h;
                g_all += g;
                h_all += h;
                if (is_missing) {
                    w_missing += w;
                    g_missing += g;
                    h_missing += h;
                }
            }
        }
        for (int side = 0; side < 2; ++side) {
            const double gl = side == 0 ? g_left : g_left + g_missing;
            const double hl = (side == 0 ? h_left : h_left + h_missing) + lambda;
            const double gr = g_all - gl, hr = h_all + 2 * lambda - hl;
            gains.gain[side] += 0.5 * ((hl > 0 ? gl * gl / hl : 0) + (hr > 0 ? gr * gr / hr : 0));
            gains.weight[side] = side == 0 ? w_left : w_left + w_missing;
        }
    }
    for (int side = 0; side < 2; ++side) gains.gain[side] = comparable(gains.gain[side]);
    return gains;
}

// The place of the lane's feature among those that are tried: in a random order, if not all are tried at once.
__device__ __forceinline__ int place_in_order(const Launch& launch, Word key, int lane) {
    const unsigned mask = (unsigned)launch.split_features;
    const int n = __popc(mask);
    if (launch.max_features >= n) return lane;
    int order = 0, place = 0;  // order: of lane i the feature that is tried as the i-th
    for (int feature = 0, rank = 0; feature < D; ++feature)
        if (mask >> feature & 1) order = rank++ == lane ? feature : order;
    const int other = lane < n ? lane + (int)__umul64hi(word(key, lane), (Word)(n - lane)) : lane;
    for (int i = 0; i < n; ++i) {
        const int j = __shfl_sync(ALL, other, i);
        const int at_i = __shfl_sync(ALL, order, i), at_j = __shfl_sync(ALL, order, j);
        order = lane == i ? at_j : lane == j ? at_i : order;
    }
    for (int i = 0; i < n; ++i) place = __shfl_sync(ALL, order, i) == lane ? i : place;
    return place;
}

// The best of the thresholds of an attempt; ties go to the feature that is tried first. Features are tried some at a
// time, until one of them has a valid threshold.
__device__ __forceinline__ Split find(const Table& table, const Node& node, const Launch& launch, Word attempt,
                                      double least, double lambda, int lane) {
    const Word cut_key = word(attempt, 2);
    const bool is_tried = ((unsigned)launch.split_features >> lane & 1) != 0;
    Split own;  // the best of the lane's feature
    for (int k = 0; k < (int)launch.n_cuts; ++k) {
        const double draw = (double)(word(cut_key, (Word)lane * launch.n_cuts + k) >> 11) * 0x1p-53;
        const double threshold = __dadd_rn(node.low, __dmul_rn(draw, __dadd_rn(node.high, -node.low)));
        const Gains gains = gains_of(table, node, launch, threshold, lambda, lane);
        for (int side = 0; side < ((node.missed >> lane & 1) != 0 ? 2 : 1); ++side) {
            const double left = gains.weight[side], gain = gains.gain[side];
            const bool is_valid = is_tried && left >= least && node.weight - left >= least;
            if (is_valid && (own.feature == 64 || gain > own.gain)) own = {lane, threshold, gain, side == 1};
        }
    }
    const int place = place_in_order(launch, word(attempt, 1), lane);
    const bool all_at_once = launch.max_features >= __popc((unsigned)launch.split_features);
    const int at_once = all_at_once ? 32 : (int)launch.max_features;
    for (int first = 0; first < 32; first += at_once) {
        double gain = own.gain;
        int best = own.feature != 64 && place >= first && place < first + at_once ? place * 64 + lane : 64 * 64;
        for (int step = 16; step > 0; step /= 2) {  // place and feature in one number
            const double other_gain = __shfl_xor_sync(ALL, gain, step);
            const int other = __shfl_xor_sync(ALL, best, step);
            if (other != 64 * 64 && (best == 64 * 64 || other_gain > gain || (other_gain == gain && other < best))) {
                gain = other_gain;
                best = other;
            }
        }
        if (best == 64 * 64) continue;
        const int lane_of_best = best % 64;
        return {lane_of_best, shfl(own.threshold, lane_of_best), gain,
                __shfl_sync(ALL, (int)own.missing_left, lane_of_best) != 0};
    }
    return {};
}

extern "C" __global__ void __launch_bounds__(128)
    work_on_nodes(const Index* __restrict__ number, const double* __restrict__ x, const unsigned* __restrict__ missing,
                  const double* __restrict__ y, const int* __restrict__ row_of, const double* __restrict__ weight_of,
                  double* score_of, const Index* __restrict__ order, const Index* __restrict__ begin_of,
                  const Index* __restrict__ size_of, const Index* __restrict__ key_of,
                  const double* __restrict__ node_weight, const bool* __restrict__ may_split,
                  const Index* __restrict__ tree_of, const double* __restrict__ least_of,
                  const double* __restrict__ lambda_of, const double* __restrict__ node_lambda_of,
                  const Index* __restrict__ place_of, double* __restrict__ params_out, double* __restrict__ lower_out,
                  double* __restrict__ upper_out, double* __restrict__ loss_out, Index* __restrict__ feature_out,
                  double* __restrict__ threshold_out, double* __restrict__ gain_out,
                  bool* __restrict__ missing_left_out, bool* __restrict__ saw_missing_out,
                  bool* __restrict__ possible_out) {
    const Launch launch = *reinterpret_cast<const Launch*>(number);
    const int lane = threadIdx.x % 32;
    const Index at = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (at >= launch.n_nodes) return;
    const Index number_of_node = order[at], begin = begin_of[number_of_node], out = place_of[number_of_node];
    const Index tree = tree_of[number_of_node];
    const Table table = {x, missing, y};
    Node node = {row_of + begin, weight_of + begin, score_of + begin * J, (int)size_of[number_of_node], 0, 0, 0, 0, 0};
    measure(table, lane, node);
    const double ratio = node_weight[number_of_node] / node.weight;
    if (launch.fits) {
        double lower, upper;
        double* params = params_out + out * (J * P);
        const double loss = fit(table, node, launch, node_lambda_of[tree], lane, params, lower, upper);
        if (lane == 0) {
            lower_out[out] = lower;
            upper_out[out] = upper;
            loss_out[out] = loss * ratio;
        }
    }
    if (!launch.splits || !may_split[number_of_node]) return;
    const Word attempt = word((Word)key_of[number_of_node], (Word)launch.attempt_tag);
    const Split best = find(table, node, launch, attempt, least_of[tree], lambda_of[tree], lane);
    const unsigned mask = (unsigned)launch.split_features;
    const bool possible = __any_sync(ALL, (mask >> lane & 1) != 0 && node.low < node.high) || (node.missed & mask) != 0;
    if (lane == 0) {
        const bool found = best.feature != 64;
        feature_out[out] = found ? best.feature : -1;
        threshold_out[out] = best.threshold;
        gain_out[out] = best.gain * ratio;
        missing_left_out[out] = best.missing_left;
        saw_missing_out[out] = found && (node.missed >> best.feature & 1) != 0;
        possible_out[out] = possible;
    }
}
