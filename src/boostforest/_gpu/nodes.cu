// Node models and splits of small tables: one warp works on one node. Lane j has feature j, or one of 32 rows.
//
// D is the number of features, at most 32. The steps are those of grower.py (_fit_bucket, SplitFinder): ridge
// regression around the node's mean, one step of the loss, then the best of the random thresholds. Sums run over the
// rows in their order, so that the same device gives the same bits.

typedef long long Index;
typedef unsigned long long Word;
#define ALL 0xffffffffu
#define BF_INFINITY __longlong_as_double(0x7ff0000000000000LL)

struct Params {          // numbers of a launch, one 8-byte word each
    Index n_nodes, fits, splits, logistic, clips, n_cuts, attempt_tag;
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

__device__ inline double sigmoid(double f) {
    const double e = exp(-fabs(f));
    return (f < 0 ? e : 1.0) / (1 + e);
}

__device__ inline void pseudo_label(bool logistic, double y, double f, double w, double& z, double& v) {
    if (!logistic) {
        z = y - f;
        v = w;
        return;
    }
    const double p = sigmoid(f), h = p * (1 - p), error = y - p;
    const double ratio = h > 0 ? error / h : error * 4.0;
    z = fmin(fmax(ratio, -4.0), 4.0);
    v = w * fmax(h, 2 * 2.220446049250313e-16);
}

__device__ inline void statistics(bool logistic, double y, double f, double w, double& wg, double& wh) {
    if (!logistic) {
        wg = w * (f - y);
        wh = w;
        return;
    }
    const double p = sigmoid(f);
    wg = w * (p - y);
    wh = w * (p * (1 - p));
}

__device__ inline double row_loss(bool logistic, double y, double f) {
    if (!logistic) return (y - f) * (y - f);
    return log1p(exp(-fabs(f))) + fmax(f, 0.0) - y * f;
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
    double* scores = score_of + begin;

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
    missed = __reduce_or_sync(ALL, missed);
    const double sample_weight = total, ratio = node_weight[node] / sample_weight;
    mean /= total;

    if (p.fits) {
        double gram[D], x_sum = 0, rhs = 0, v_sum = 0, vz_sum = 0, z_low = BF_INFINITY, z_high = -BF_INFINITY;
#pragma unroll
        for (int k = 0; k < D; ++k) gram[k] = 0;
        for (int first = 0; first < n; first += 32) {
            const int here = min(32, n - first);
            const bool is_row = lane < here;
            const int own_row = is_row ? rows[first + lane] : 0;
            double z = 0, v = 0;
            if (is_row) {
                pseudo_label(logistic, y[own_row], scores[first + lane], weights[first + lane], z, v);
                z_low = fmin(z_low, z);
                z_high = fmax(z_high, z);
            }
#pragma unroll 2
            for (int i = 0; i < here; ++i) {
                const int row = __shfl_sync(ALL, own_row, i);
                const double value = has_feature ? x[(Index)row * D + lane] - mean : 0;
                const double zi = shfl(z, i), vi = shfl(v, i);
                const double weighted = vi * value;
                v_sum += vi;
                vz_sum += vi * zi;
                x_sum += weighted;
                rhs += weighted * zi;
#pragma unroll
                for (int k = 0; k < D; ++k) gram[k] += shfl(value, k) * weighted;
            }
        }
        for (int step = 16; step > 0; step /= 2) {
            z_low = fmin(z_low, __shfl_xor_sync(ALL, z_low, step));
            z_high = fmax(z_high, __shfl_xor_sync(ALL, z_high, step));
        }
        const double z_mean = vz_sum / v_sum, lambda = node_lambda_of[tree];
        rhs -= z_mean * x_sum;
        double largest = 0;
#pragma unroll
        for (int k = 0; k < D; ++k) {
            gram[k] -= shfl(x_sum, k) / v_sum * x_sum;
            if (lane == k) {
                gram[k] += lambda;
                largest = gram[k];
            }
        }
        for (int step = 16; step > 0; step /= 2) largest = fmax(largest, __shfl_xor_sync(ALL, largest, step));
        const double tiny = largest * D * (8 * 2.220446049250313e-16);
        double slope = 0, inverse = 0;  // of the lane's own feature
#pragma unroll
        for (int k = 0; k < D; ++k) {
            const double pivot = shfl(gram[k], k), inverse_pivot = pivot > tiny ? 1 / pivot : 0;
            if (lane == k) inverse = inverse_pivot;
            const double share = gram[k] * inverse_pivot;
            const double known = shfl(rhs, k);
            if (lane == k) slope = known * inverse_pivot;
            if (lane > k) rhs -= share * known;
#pragma unroll
            for (int i = k + 1; i < D; ++i) gram[i] -= shfl(share, i) * gram[k];
        }
#pragma unroll
        for (int k = D - 2; k >= 0; --k) {
            const double known = sum_lanes(lane > k && has_feature ? gram[k] * slope : 0.0);
            if (lane == k) slope -= known * inverse;
        }
        if (!has_feature) slope = 0;
        const double shift = z_mean - sum_lanes(slope * (x_sum / v_sum));
        const double intercept = shift - sum_lanes(slope * mean);
        double* params = params_out + out * (D + 1);
        if (lane == 0) params[0] = intercept;
        if (has_feature) params[1 + lane] = slope;

        const double lower = p.clips ? z_low : -BF_INFINITY, upper = p.clips ? z_high : BF_INFINITY;
        double loss = 0;
        for (int first = 0; first < n; first += 32) {
            const bool is_row = first + lane < n;
            const double* values = x + (Index)(is_row ? rows[first + lane] : 0) * D;
            double step = shift;
#pragma unroll
            for (int k = 0; k < D; ++k) step += shfl(slope, k) * (values[k] - shfl(mean, k));
            if (is_row) {
                const double f = scores[first + lane] + fmin(fmax(step, lower), upper);
                scores[first + lane] = f;
                loss += weights[first + lane] * row_loss(logistic, y[rows[first + lane]], f);
            }
        }
        loss = sum_lanes(loss);
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
        double w_left = 0, g_left = 0, h_left = 0, w_missing = 0, g_missing = 0, h_missing = 0, w_all = 0, g_all = 0,
               h_all = 0;
        for (int first = 0; first < n; first += 32) {
            const int here = min(32, n - first);
            const bool is_row = lane < here;
            const int own_row = is_row ? rows[first + lane] : 0;
            const double own_weight = is_row ? weights[first + lane] : 0;
            const unsigned own_missing = missing != nullptr && is_row ? missing[own_row] : 0;
            double wg = 0, wh = 0;
            if (is_row) statistics(logistic, y[own_row], scores[first + lane], own_weight, wg, wh);
#pragma unroll 4
            for (int i = 0; i < here; ++i) {
                const int row = __shfl_sync(ALL, own_row, i);
                const double w = shfl(own_weight, i), g = shfl(wg, i), h = logistic ? shfl(wh, i) : w;
                const double value = has_feature ? x[(Index)row * D + lane] : 0;
                const bool is_missing = missing != nullptr && (__shfl_sync(ALL, own_missing, i) >> lane & 1) != 0;
                const double on_left = !is_missing && value <= threshold ? 1.0 : 0.0;
                w_left += on_left * w;
                g_left += on_left * g;
                h_left += on_left * h;
                w_all += w;
                g_all += g;
                h_all += h;
                if (is_missing) {
                    w_missing += w;
                    g_missing += g;
                    h_missing += h;
                }
            }
        }
        for (int side = 0; side < (missed != 0 ? 2 : 1); ++side) {
            if (side == 1) {
                w_left += w_missing;
                g_left += g_missing;
                h_left += h_missing;
            }
            const double hl = h_left + lambda, gr = g_all - g_left, hr = h_all + 2 * lambda - hl;
            double gain = 0.5 * ((hl > 0 ? g_left * g_left / hl : 0) + (hr > 0 ? gr * gr / hr : 0));
            int column = lane;
            if (!(has_feature && w_left >= least && w_all - w_left >= least) || (side == 1 && !(missed >> lane & 1)))
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
