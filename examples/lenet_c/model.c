#include "model.h"

#include <math.h>
#include <string.h>

#include "random.h"

enum { KERNEL = 5, TAPS = KERNEL * KERNEL };
enum { MAPS1 = 6, SIDE1 = 28, POOL1 = 14, MAPS2 = 16, SIDE2 = 10, POOL2 = 5 };
enum { COLUMNS1 = TAPS, COLUMNS2 = MAPS1 * TAPS, POINTS1 = SIDE1 * SIDE1, POINTS2 = SIDE2 * SIDE2 };
enum { IN1 = MAPS2 * POOL2 * POOL2, OUT1 = 120, OUT2 = 84 };

const Array arrays[ARRAYS] = {
    {"conv1.weight", {6, 1, 5, 5}, 4, 150, 0},     {"conv1.bias", {6}, 1, 6, 150},
    {"conv2.weight", {16, 6, 5, 5}, 4, 2400, 156}, {"conv2.bias", {16}, 1, 16, 2556},
    {"fc1.weight", {120, 400}, 2, 48000, 2572},    {"fc1.bias", {120}, 1, 120, 50572},
    {"fc2.weight", {84, 120}, 2, 10080, 50692},    {"fc2.bias", {84}, 1, 84, 60772},
    {"fc3.weight", {10, 84}, 2, 840, 60856},       {"fc3.bias", {10}, 1, 10, 61696},
};

/* What the backward pass needs of the forward pass of one sample. */
typedef struct {
    REAL columns1[COLUMNS1 * POINTS1], map1[MAPS1 * POINTS1], pool1[MAPS1 * POOL1 * POOL1];
    REAL columns2[COLUMNS2 * POINTS2], map2[MAPS2 * POINTS2], pool2[IN1];
    REAL hidden1[OUT1], hidden2[OUT2], logits[CLASSES];
    int chosen1[MAPS1 * POOL1 * POOL1], chosen2[IN1];
} Sample;

/* y += a x */
static void add_scaled(REAL *restrict y, REAL a, const REAL *restrict x, int count) {
    for (int i = 0; i < count; i++)
        y[i] += a * x[i];
}

/* Eight partial sums, which the compiler keeps in vector registers. */
static REAL dot(const REAL *restrict x, const REAL *restrict y, int count) {
    REAL part[8] = {0}, sum = 0;
    int i = 0;
    for (; i + 8 <= count; i += 8)
        for (int j = 0; j < 8; j++)
            part[j] += x[i + j] * y[i + j];
    for (; i < count; i++)
        sum += x[i] * y[i];
    for (int j = 0; j < 8; j++)
        sum += part[j];
    return sum;
}

/* Row (map, ky, kx) of the columns holds that tap's pixel for every output point; pixels outside the image are zero. */
static void to_columns(const REAL *image, int maps, int side, int padding, int out, REAL *columns) {
    for (int map = 0; map < maps; map++)
        for (int ky = 0; ky < KERNEL; ky++)
            for (int kx = 0; kx < KERNEL; kx++, columns += out * out)
                for (int y = 0; y < out; y++)
                    for (int x = 0; x < out; x++) {
                        const int iy = y + ky - padding, ix = x + kx - padding;
                        const int is_inside = iy >= 0 && iy < side && ix >= 0 && ix < side;
                        columns[y * out + x] = is_inside ? image[(map * side + iy) * side + ix] : 0;
                    }
}

static void convolve(const REAL *weight, const REAL *bias, const REAL *columns, int rows, int points, int maps, REAL *out) {
    for (int map = 0; map < maps; map++) {
        REAL *to = out + map * points;
        for (int point = 0; point < points; point++)
            to[point] = bias[map];
        for (int row = 0; row < rows; row++)
            add_scaled(to, weight[map * rows + row], columns + row * points, points);
    }
}

static void rectify(REAL *values, int count) {
    for (int i = 0; i < count; i++)
        values[i] = values[i] > 0 ? values[i] : 0;
}

/* Largest of 2x2, the first of equal ones, and where it was. */
static void pool(const REAL *in, int maps, int side, REAL *out, int *chosen) {
    const int half = side / 2;
    for (int map = 0; map < maps; map++)
        for (int y = 0; y < half; y++)
            for (int x = 0; x < half; x++) {
                const int corner = (map * side + 2 * y) * side + 2 * x;
                int best = corner;
                for (int step = 1; step < 4; step++) {
                    const int other = corner + (step / 2) * side + step % 2;
                    best = in[other] > in[best] ? other : best;
                }
                *out++ = in[best];
                *chosen++ = best;
            }
}

static void connect(const REAL *weight, const REAL *bias, const REAL *in, int inputs, int outputs, REAL *out) {
    for (int o = 0; o < outputs; o++)
        out[o] = bias[o] + dot(weight + o * inputs, in, inputs);
}

static void forward(const Model *model, const REAL *image, Sample *s) {
    const REAL *p = model->parameter;
    to_columns(image, 1, SIDE, 2, SIDE1, s->columns1);
    convolve(p + arrays[0].offset, p + arrays[1].offset, s->columns1, COLUMNS1, POINTS1, MAPS1, s->map1);
    rectify(s->map1, MAPS1 * POINTS1);
    pool(s->map1, MAPS1, SIDE1, s->pool1, s->chosen1);
    to_columns(s->pool1, MAPS1, POOL1, 0, SIDE2, s->columns2);
    convolve(p + arrays[2].offset, p + arrays[3].offset, s->columns2, COLUMNS2, POINTS2, MAPS2, s->map2);
    rectify(s->map2, MAPS2 * POINTS2);
    pool(s->map2, MAPS2, SIDE2, s->pool2, s->chosen2);
    connect(p + arrays[4].offset, p + arrays[5].offset, s->pool2, IN1, OUT1, s->hidden1);
    rectify(s->hidden1, OUT1);
    connect(p + arrays[6].offset, p + arrays[7].offset, s->hidden1, OUT1, OUT2, s->hidden2);
    rectify(s->hidden2, OUT2);
    connect(p + arrays[8].offset, p + arrays[9].offset, s->hidden2, OUT2, CLASSES, s->logits);
}

void logits_of(const Model *model, const REAL *image, REAL logits[CLASSES]) {
    static Sample sample;
    forward(model, image, &sample);
    memcpy(logits, sample.logits, sizeof sample.logits);
}

/* Gradients of a fully connected layer, from those of its outputs; `in_error` (NULL: not needed) gets those of its inputs. */
static void connect_back(Model *m, int layer, const REAL *in, int inputs, const REAL *error, int outputs, REAL *in_error) {
    const REAL *weight = m->parameter + arrays[layer].offset;
    REAL *weight_gradient = m->gradient + arrays[layer].offset, *bias_gradient = m->gradient + arrays[layer + 1].offset;
    if (in_error)
        memset(in_error, 0, (size_t)inputs * sizeof *in_error);
    for (int o = 0; o < outputs; o++) {
        bias_gradient[o] += error[o];
        add_scaled(weight_gradient + o * inputs, error[o], in, inputs);
        if (in_error)
            add_scaled(in_error, error[o], weight + o * inputs, inputs);
    }
}

static void convolve_back(Model *m, int layer, const REAL *columns, int rows, int points, int maps, const REAL *error) {
    REAL *weight_gradient = m->gradient + arrays[layer].offset, *bias_gradient = m->gradient + arrays[layer + 1].offset;
    for (int map = 0; map < maps; map++) {
        const REAL *of_map = error + map * points;
        for (int point = 0; point < points; point++)
            bias_gradient[map] += of_map[point];
        for (int row = 0; row < rows; row++)
            weight_gradient[map * rows + row] += dot(of_map, columns + row * points, points);
    }
}

/* Errors before ReLU: zero where it was. */
static void rectify_back(REAL *error, const REAL *values, int count) {
    for (int i = 0; i < count; i++)
        error[i] = values[i] > 0 ? error[i] : 0;
}

static void pool_back(const REAL *error, const int *chosen, int count, REAL *in_error, int in_count) {
    memset(in_error, 0, (size_t)in_count * sizeof *in_error);
    for (int i = 0; i < count; i++)
        in_error[chosen[i]] += error[i];
}

/* The second convolution's error by input pixel. */
static void second_to_first(const Model *m, const REAL *error, REAL *in_error) {
    static REAL column[POINTS2];
    const REAL *weight = m->parameter + arrays[2].offset;
    memset(in_error, 0, MAPS1 * POOL1 * POOL1 * sizeof *in_error);
    for (int row = 0; row < COLUMNS2; row++) {
        memset(column, 0, sizeof column);
        for (int map = 0; map < MAPS2; map++)
            add_scaled(column, weight[map * COLUMNS2 + row], error + map * POINTS2, POINTS2);
        const int in_map = row / TAPS, ky = row % TAPS / KERNEL, kx = row % KERNEL;
        for (int y = 0; y < SIDE2; y++)
            add_scaled(in_error + (in_map * POOL1 + y + ky) * POOL1 + kx, 1, column + y * SIDE2, SIDE2);
    }
}

static void backward(Model *m, const Sample *s, REAL *error) {
    static REAL error2[OUT2], error1[OUT1], of_pool2[IN1], of_map2[MAPS2 * POINTS2], of_pool1[MAPS1 * POOL1 * POOL1], of_map1[MAPS1 * POINTS1];
    connect_back(m, 8, s->hidden2, OUT2, error, CLASSES, error2);
    rectify_back(error2, s->hidden2, OUT2);
    connect_back(m, 6, s->hidden1, OUT1, error2, OUT2, error1);
    rectify_back(error1, s->hidden1, OUT1);
    connect_back(m, 4, s->pool2, IN1, error1, OUT1, of_pool2);
    pool_back(of_pool2, s->chosen2, IN1, of_map2, MAPS2 * POINTS2);
    rectify_back(of_map2, s->map2, MAPS2 * POINTS2);
    convolve_back(m, 2, s->columns2, COLUMNS2, POINTS2, MAPS2, of_map2);
    second_to_first(m, of_map2, of_pool1);
    pool_back(of_pool1, s->chosen1, MAPS1 * POOL1 * POOL1, of_map1, MAPS1 * POINTS1);
    rectify_back(of_map1, s->map1, MAPS1 * POINTS1);
    convolve_back(m, 0, s->columns1, COLUMNS1, POINTS1, MAPS1, of_map1);
}

/* Cross-entropy of one sample; `error` gets its gradient, divided by the number of samples. */
static double cross_entropy(const REAL *logits, int64_t label, int samples, REAL *error) {
    double largest = logits[0], total = 0;
    for (int i = 1; i < CLASSES; i++)
        largest = logits[i] > largest ? logits[i] : largest;
    for (int i = 0; i < CLASSES; i++)
        total += exp(logits[i] - largest);
    for (int i = 0; i < CLASSES; i++)
        error[i] = (REAL)((exp(logits[i] - largest) / total - (i == label)) / samples);
    return log(total) - (logits[label] - largest);
}

double gradients_of(Model *model, const REAL *images, const int64_t *labels, int samples) {
    static Sample sample;
    REAL error[CLASSES];
    double loss = 0;
    memset(model->gradient, 0, sizeof model->gradient);
    for (int i = 0; i < samples; i++) {
        forward(model, images + i * PIXELS, &sample);
        loss += cross_entropy(sample.logits, labels[i], samples, error);
        backward(model, &sample, error);
    }
    return loss / samples;
}

void update(Model *model, double rate, double momentum, double weight_decay) {
    const REAL m = (REAL)momentum, decay = (REAL)weight_decay, by = (REAL)rate;
    for (int i = 0; i < PARAMETERS; i++) {
        model->velocity[i] = m * model->velocity[i] + model->gradient[i] + decay * model->parameter[i];
        model->parameter[i] -= by * model->velocity[i];
    }
}

void draw_weights(Model *model, uint32_t seed) {
    memset(model, 0, sizeof *model);
    for (int i = 0; i < ARRAYS; i += 2) {
        const Array *weight = arrays + i;
        const int field = weight->dimensions == 4 ? TAPS : 1;
        const double bound = sqrt(6.0 / ((double)weight->size / weight->axes[0] + (double)weight->axes[0] * field));
        Random random;
        random_seed(&random, seed, crc32_of(weight->name, strlen(weight->name)));
        for (size_t j = 0; j < weight->size; j++)
            model->parameter[weight->offset + j] = (REAL)(float)random_uniform(&random, -bound, bound);
    }
}
