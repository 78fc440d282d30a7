// Node models and splits of small tables: one warp works on one node. Lane j has feature j, or one of 32 rows.
//
// D is the number of features, at most 32, J that of outputs. The steps are those of grower.py (_fit_bucket, SplitFinder): ridge
// regression around the node's mean, one step of the loss, then the best of the random thresholds. Sums run over the
// rows in their order, so that the same device gives the same bits.

typedef long long Index;
typedef unsigned long long Word;
#define ALL 0xffffffffu
#define BF_INFINITY __longlong_as_double(0x7ff0000000000000LL)

// Numbers of a launch.
struct Params {
    Index n_nodes, fits, splits, logistic, clips, shared, n_cuts, attempt_tag;
};

__device__ inline double shfl(double value, int lane) { return __shfl_sync(ALL, value, lane); }

__device__ inline double sum_lanes(double value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

__device__ inline Word word(Word key, Word i) {
    Word x = key + 0x9E3779B97F4A7C15ULL * (i + 1);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

__device__ inline double largest_of_lanes(double value) {
    for (int step = 16; step > 0; step /= 2) value = fmax(value, __shfl_xor_sync(ALL, value, step));
    return value;
}

// What the loss makes of a row's scores for output c.
struct Row {
    double truth;        // what the output should be
    double p;            // probability of the output, or its score
    double h;            // second derivative
    double h_of_all;     // the largest of all outputs'
};

__device__ inline Row look_at(bool logistic, double y, const double* f, int c) {
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

__device__ inline double row_loss(bool logistic, double y, const double* f) {
    if (J == 1 && !logistic) return (y - f[0]) * (y - f[0]);
    if (J == 1) return log1p(exp(-fabs(f[0]))) + fmax(f[0], 0.0) - y * f[0];
    double top = f[0], total = 0;
    for (int k = 1; k < J; ++k) top = fmax(top, f[k]);
    for (int k = 0; k < J; ++k) total += exp(f[k] - top);
    return log(total) + top - f[(int)y];
}

extern "C" __global__ void __launch_bounds__(128) work_on_nodes(
    const Index* __restrict__ number, const double* __restrict__ x, const unsigned* __restrict__ missing,
    const double* __restrict__ y, const int* __restrict__ row_of, const double* __restrict__ weight_of, double* score_of,
    const Index* __restrict__ order, const Index* __restrict__ begin_of, const Index* __restrict__ size_of,
    const Index* __restrict__ key_of, const double* __restrict__ node_weight, const bool* __restrict__ may_split,
    const Index* __restrict__ tree_of, const double* __restrict__ least_of, const double* __restrict__ lambda_of,
    const double* __restrict__ node_lambda_of, const Index* __restrict__ place_of, double* __restrict__ params_out,
    double* __restrict__ lower_out, double* __restrict__ upper_out, double* __restrict__ loss_out,
    Index* __restrict__ feature_out, double* __restrict__ threshold_out, double* __restrict__ gain_out,
    bool* __restrict__ missing_left_out, bool* __restrict__ saw_missing_out, bool* __restrict__ possible_out) {
    const Params p = *reinterpret_cast<const Params*>(number);
    const int lane = threadIdx.x % 32;
    const Index at = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (at >= p.n_nodes) return;
    const Index node = order[at], begin = begin_of[node], out = place_of[node];
    const int n = (int)size_of[node];
    const Index tree = tree_of[node];
    const bool logistic = p.logistic != 0, has_feature = lane < D;
    const int* rows = row_of + begin;
    const double* weights = weight_of + begin;
    double* scores = score_of + begin * J;

    // Range of each feature, and its mean.
    double low = BF_INFINITY, high = -BF_INFINITY, mean = 0, total = 0;
    unsigned missed = 0;  // features that some row misses
    for (int first = 0; first < n; first += 32) {
        const int here = min(32, n - first);
        const bool is_row = lane < here;
        const int own_row = is_row ? rows[first + lane] : 0;
        const double own_weight = is_row ? weights[first + lane] : 0;
        const unsigned own_missing = missing != nullptr && is_row ? missing[own_row] : 0;
        missed |= own_missing;
#pragma unroll 4
        for (int i = 0; i < here; ++i) {
            const int row = __shfl_sync(ALL, own_row, i);
            const double w = shfl(own_weight, i);
            const double value = has_feature ? x[(Index)row * D + lane] : 0;
            const bool is_missing = missing != nullptr && (__shfl_sync(ALL, own_missing, i) >> lane & 1) != 0;
            low = !is_missing && value < low ? value : low;
            high = !is_missing && value > high ? value : high;
            mean += w * value;
            total += w;
        }
    }
    for (int step = 16; step > 0; step /= 2) missed |= __shfl_xor_sync(ALL, missed, step);
    const double sample_weight = total, ratio = node_weight[node] / sample_weight;
    mean /= total;

    if (p.fits) {
        const bool is_class = logistic || J > 1;
        double* params = params_out + out * (J * (D + 1));
        double gram[D], inverse = 0, x_mean = 0, v_sum = 0, z_low = BF_INFINITY, z_high = -BF_INFINITY;
        const double lambda = node_lambda_of[tree];
        for (int c = 0; c < J; ++c) {
            const bool factors_known = J > 1 && p.shared && c > 0;
            if (!factors_known) {
#pragma unroll
                for (int k = 0; k < D; ++k) gram[k] = 0;
            }
            double x_sum = 0, rhs = 0, vz_sum = 0;
            v_sum = 0;
            for (int first = 0; first < n; first += 32) {
                const int here = min(32, n - first);
                const bool is_row = lane < here;
                const int own_row = is_row ? rows[first + lane] : 0;
                double z = 0, v = 0;
                if (is_row) {
                    const Row row = look_at(logistic, y[own_row], scores + (Index)(first + lane) * J, c);
                    const double w = weights[first + lane], error = row.truth - row.p;
                    const double smallest = 2 * 2.220446049250313e-16;
                    const double h = J > 1 && p.shared ? fmax(row.h_of_all, smallest) : row.h;
                    z = !is_class ? error : fmin(fmax(h > 0 ? error / h : error * 4.0, -4.0), 4.0);
                    v = w * fmax(h, smallest);
                    z_low = fmin(z_low, z);
                    z_high = fmax(z_high, z);
                }
#pragma unroll 2
                for (int i = 0; i < here; ++i) {
                    const int row = __shfl_sync(ALL, own_row, i);
                    const double value = has_feature ? x[(Index)row * D + lane] - mean : 0;
                    const double zi = shfl(z, i), vi = shfl(v, i), weighted = vi * value;
                    v_sum += vi;
                    vz_sum += vi * zi;
                    x_sum += weighted;
                    rhs += weighted * zi;
                    if (factors_known) continue;
#pragma unroll
                    for (int k = 0; k < D; ++k) gram[k] += shfl(value, k) * weighted;
                }
            }
            const double z_mean = vz_sum / v_sum;
            rhs -= z_mean * x_sum;
            x_mean = x_sum / v_sum;
            if (!factors_known) {  // elimination: row k of the upper triangle stays in gram[k]
                double largest = 0;
#pragma unroll
                for (int k = 0; k < D; ++k) {
                    gram[k] -= shfl(x_mean, k) * x_sum;
                    if (lane == k) largest = gram[k] += lambda;
                }
                const double tiny = largest_of_lanes(largest) * D * (8 * 2.220446049250313e-16);
#pragma unroll
                for (int k = 0; k < D; ++k) {
                    const double pivot = shfl(gram[k], k), inverse_pivot = pivot > tiny ? 1 / pivot : 0;
                    if (lane == k) inverse = inverse_pivot;
                    const double share = gram[k] * inverse_pivot;
#pragma unroll
                    for (int i = k + 1; i < D; ++i) gram[i] -= shfl(share, i) * gram[k];
                }
            }
            double slope = 0;  // of the lane's own feature
#pragma unroll
            for (int k = 0; k < D; ++k) {
                const double known = shfl(rhs, k) * shfl(inverse, k);
                if (lane == k) slope = known;
                if (lane > k) rhs -= gram[k] * known;
            }
#pragma unroll
            for (int k = D - 2; k >= 0; --k) {
                const double known = sum_lanes(lane > k && has_feature ? gram[k] * slope : 0.0);
                if (lane == k) slope -= known * inverse;
            }
            if (!has_feature) slope = 0;
            const double shift = z_mean - sum_lanes(slope * x_mean);  // at the node's mean
            if (lane == 0) params[c * (D + 1)] = shift;
            if (has_feature) params[c * (D + 1) + 1 + lane] = slope;
        }
        __syncwarp();
        if (J > 1) {  // outputs that add up to zero; lane j has parameter j, and lane 0 the last one too
            for (int k = lane; k <= D; k += 32) {
                double total_of_outputs = 0;
                for (int c = 0; c < J; ++c) total_of_outputs += params[c * (D + 1) + k];
                for (int c = 0; c < J; ++c) {
                    double* own = params + c * (D + 1) + k;
                    *own = (1 - 1.0 / J) * (*own - total_of_outputs / J);
                }
            }
            __syncwarp();
        }
        for (int step = 16; step > 0; step /= 2) {
            z_low = fmin(z_low, __shfl_xor_sync(ALL, z_low, step));
            z_high = fmax(z_high, __shfl_xor_sync(ALL, z_high, step));
        }
        const double lower = p.clips ? z_low : -BF_INFINITY, upper = p.clips ? z_high : BF_INFINITY;
        double loss = 0;
        for (int first = 0; first < n; first += 32) {
            const bool is_row = first + lane < n;
            const int own_row = is_row ? rows[first + lane] : 0;
            const double* values = x + (Index)own_row * D;
            double step[J];
#pragma unroll
            for (int c = 0; c < J; ++c) step[c] = params[c * (D + 1)];
#pragma unroll
            for (int k = 0; k < D; ++k) {
                const double value = values[k] - shfl(mean, k);
#pragma unroll
                for (int c = 0; c < J; ++c) step[c] += params[c * (D + 1) + 1 + k] * value;
            }
            if (is_row) {
                double* f = scores + (Index)(first + lane) * J;
#pragma unroll
                for (int c = 0; c < J; ++c) f[c] += fmin(fmax(step[c], lower), upper);
                loss += weights[first + lane] * row_loss(logistic, y[own_row], f);
            }
        }
        loss = sum_lanes(loss);
        __syncwarp();
        for (int c = 0; c < J; ++c) {  // intercepts at zero
            const double moved = sum_lanes(has_feature ? params[c * (D + 1) + 1 + lane] * mean : 0.0);
            if (lane == 0) params[c * (D + 1)] -= moved;
        }
        if (lane == 0) {
            lower_out[out] = lower;
            upper_out[out] = upper;
            loss_out[out] = loss * ratio;
        }
        __syncwarp();
    }

    if (!p.splits || !may_split[node]) return;
    const Word attempt = word((Word)key_of[node], (Word)p.attempt_tag), cut_key = word(attempt, 2);
    const double least = least_of[tree], lambda = lambda_of[tree];
    if (!(low <= high)) low = high = 0;
    double best_gain = 0, best_threshold = 0;
    int best = 64;  // no split yet
    bool best_missing_left = false;
    for (int k = 0; k < (int)p.n_cuts; ++k) {
        const double draw = (double)(word(cut_key, (Word)lane * p.n_cuts + k) >> 11) * 0x1p-53;
        const double threshold = __dadd_rn(low, __dmul_rn(draw, __dadd_rn(high, -low)));
        double w_left = 0, w_missing = 0, gains[2] = {0, 0};
        for (int c = 0; c < J; ++c) {
            double g_left = 0, h_left = 0, g_missing = 0, h_missing = 0, g_all = 0, h_all = 0;
            w_left = w_missing = 0;
            for (int first = 0; first < n; first += 32) {
                const int here = min(32, n - first);
                const bool is_row = lane < here;
                const int own_row = is_row ? rows[first + lane] : 0;
                const double own_weight = is_row ? weights[first + lane] : 0;
                const unsigned own_missing = missing != nullptr && is_row ? missing[own_row] : 0;
                double wg = 0, wh = 0;
                if (is_row) {
                    const Row row = look_at(logistic, y[own_row], scores + (Index)(first + lane) * J, c);
                    wg = own_weight * (row.p - row.truth);
                    wh = own_weight * row.h;
                }
#pragma unroll 4
                for (int i = 0; i < here; ++i) {
                    const int row = __shfl_sync(ALL, own_row, i);
                    const double w = shfl(own_weight, i), g = shfl(wg, i), h = shfl(wh, i);
                    const double value = has_feature ? x[(Index)row * D + lane] : 0;
                    const bool is_missing = missing != nullptr && (__shfl_sync(ALL, own_missing, i) >> lane & 1) != 0;
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
            for (int side = 0; side < 2; ++side) {  // where rows without the feature go
                const double gl = side == 0 ? g_left : g_left + g_missing;
                const double hl = (side == 0 ? h_left : h_left + h_missing) + lambda;
                const double gr = g_all - gl, hr = h_all + 2 * lambda - hl;
                gains[side] += (hl > 0 ? gl * gl / hl : 0) + (hr > 0 ? gr * gr / hr : 0);
            }
        }
        for (int side = 0; side < (missed != 0 ? 2 : 1); ++side) {
            const double weight_left = side == 0 ? w_left : w_left + w_missing;
            double gain = 0.5 * gains[side];
            int column = lane;
            const bool fits = weight_left >= least && total - weight_left >= least;
            if (!has_feature || !fits || (side == 1 && !(missed >> lane & 1)))
                column = 64;
            for (int step = 16; step > 0; step /= 2) {
                const double other_gain = __shfl_xor_sync(ALL, gain, step);
                const int other = __shfl_xor_sync(ALL, column, step);
                if (other != 64 && (column == 64 || other_gain > gain || (other_gain == gain && other < column))) {
                    gain = other_gain;
                    column = other;
                }
            }
            if (column != 64 && (best == 64 || gain > best_gain || (gain == best_gain && column < best))) {
                best = column;
                best_gain = gain;
                best_threshold = shfl(threshold, column);
                best_missing_left = side == 1;
            }
        }
    }
    const bool possible = __any_sync(ALL, has_feature && low < high) || missed != 0;
    if (lane == 0) {
        feature_out[out] = best == 64 ? -1 : best;
        threshold_out[out] = best_threshold;
        gain_out[out] = best_gain * ratio;
        missing_left_out[out] = best_missing_left;
        saw_missing_out[out] = best != 64 && (missed >> best & 1) != 0;
        possible_out[out] = possible;
    }
}
