// Models of large nodes are fitted to batches of their rows; here they are applied to all of them.

typedef long long Index;

// Adds to the score of a row what the model of its node gives. One thread per row; D features, J outputs;
// models are linear (LINEAR) or constants.
extern "C" __global__ void apply_models(const Index* __restrict__ number, const double* __restrict__ x,
                                        const int* __restrict__ row_of, const Index* __restrict__ place_of,
                                        const int* __restrict__ owner_of, const double* __restrict__ params_of,
                                        const double* __restrict__ lower, const double* __restrict__ upper,
                                        double* __restrict__ score_of) {
    const Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= number[0]) return;
    const Index place = place_of[i];
    const int owner = owner_of[i];
    const double* values = x + (Index)row_of[place] * D;
    for (int c = 0; c < J; ++c) {
        const double* params = params_of + ((Index)owner * J + c) * (LINEAR ? D + 1 : 1);
        double step = params[0];
#pragma unroll
        for (int k = 0; k < (LINEAR ? D : 0); ++k) step += params[1 + k] * values[k];
        score_of[place * J + c] += fmin(fmax(step, lower[owner]), upper[owner]);
    }
}
