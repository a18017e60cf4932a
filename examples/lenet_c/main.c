/* LeNet-5 as an implementation of the benchmark: `train` follows request.json, `probe` answers probe.json. docs/implementing.md defines both. */
#include <math.h>
#include <string.h>

#include "data.h"
#include "fail.h"
#include "model.h"
#include "random.h"
#include "records.h"
#include "request.h"
#include "sha256.h"
#include "states.h"

enum { TEXT = 4096, EVALUATED = 100, MOST_STEPS = 100 };

static Model model;

/* ---- training ---- */

typedef struct {
    char directory[TEXT], schedule[TEXT];
    int train_samples, eval_samples, batch_size, epochs, steps, eval_every;
    uint32_t seed;
    double mean, deviation, base_rate, momentum, weight_decay, target; /* target: above 1 where none is requested */
} Training;

static void expect(const char *json, const char *object, const char *key, const char *wanted) {
    char found[TEXT];
    text_of(json, object, key, found, sizeof found);
    if (strcmp(found, wanted) != 0)
        FAIL("this implementation knows %s = %s, and the request says %s", key, wanted, found);
}

static Training read_training(const char *json) {
    Training t;
    expect(json, NULL, "model", "lenet5");
    expect(json, NULL, "initial_weights", "glorot_uniform");
    expect(json, NULL, "batches", "read");
    expect(json, NULL, "accelerator", "cpu");
    expect(json, "optimizer", "name", "sgd");
    expect(json, "data", "layout", "idx");
    expect(json, "preprocessing", "augmentation", "none");
    if (number_of(json, "data", "classes") != CLASSES || number_of(json, "parallel", "ranks") != 1)
        FAIL("this implementation trains %d classes on one rank", CLASSES);
    if (!is_word(json, NULL, "drop_cache_every_epoch", "false"))
        FAIL("this implementation leaves the page cache as it is");
    text_of(json, "data", "directory", t.directory, sizeof t.directory);
    text_of(json, "optimizer", "schedule", t.schedule, sizeof t.schedule);
    if (strcmp(t.schedule, "linear") != 0 && strcmp(t.schedule, "constant") != 0)
        FAIL("this implementation knows the schedules linear and constant, not %s", t.schedule);
    numbers_of(json, "preprocessing", "mean", &t.mean, 1);
    numbers_of(json, "preprocessing", "std", &t.deviation, 1);
    t.train_samples = (int)number_of(json, "data", "train_samples");
    t.eval_samples = (int)number_of(json, "data", "eval_samples");
    t.batch_size = (int)number_of(json, NULL, "global_batch_size");
    t.epochs = (int)number_of(json, NULL, "epochs");
    t.steps = is_word(json, NULL, "steps", "null") ? 0 : (int)number_of(json, NULL, "steps");
    t.eval_every = (int)number_of(json, NULL, "eval_every_epochs");
    t.seed = (uint32_t)number_of(json, NULL, "seed");
    t.base_rate = number_of(json, "optimizer", "base_learning_rate");
    t.momentum = number_of(json, "optimizer", "momentum");
    t.weight_decay = number_of(json, "optimizer", "weight_decay");
    t.target = is_word(json, NULL, "target_accuracy", "null") ? 2.0 : number_of(json, NULL, "target_accuracy");
    return t;
}

/* One kind of the training state: a line with name, format and axes before each array, arrays in the order of their names. */
static void digest_of(const char *kind, const REAL *values, char hex[HEX_LENGTH + 1]) {
    Sha256 digest;
    sha256_begin(&digest);
    for (int i = 0; i < ARRAYS; i++) {
        const Array *array = arrays + (i ^ 1); /* each layer's bias precedes its weight */
        char line[200];
        int length = sprintf(line, "%s/%s " FORMAT " ", kind, array->name);
        for (int axis = 0; axis < array->dimensions; axis++)
            length += sprintf(line + length, "%s%d", axis ? "," : "", array->axes[axis]);
        line[length++] = '\n';
        sha256_add(&digest, line, (size_t)length);
        sha256_add(&digest, values + array->offset, array->size * sizeof *values);
    }
    sha256_end(&digest, hex);
}

static void digests_of_state(char *value, size_t size) {
    char parameter[HEX_LENGTH + 1], velocity[HEX_LENGTH + 1], statistic[HEX_LENGTH + 1];
    Sha256 nothing;
    digest_of("parameter", model.parameter, parameter);
    digest_of("velocity", model.velocity, velocity);
    sha256_begin(&nothing); /* LeNet-5 keeps no statistics */
    sha256_end(&nothing, statistic);
    snprintf(value, size, "{\"parameter\": \"%s\", \"velocity\": \"%s\", \"statistic\": \"%s\"}", parameter, velocity, statistic);
}

/* Within an interval that is not counted; `folder` keeps the state, NULL: nothing does. */
static void log_state(const char *folder, int epoch, int step) {
    char of_epoch[80], with_reason[120], value[400];
    snprintf(of_epoch, sizeof of_epoch, "\"epoch_num\": %d, ", epoch);
    snprintf(with_reason, sizeof with_reason, "\"reason\": \"state\", %s", of_epoch);
    log_interval("uncounted_start", with_reason, 0);
    digests_of_state(value, sizeof value);
    log_point("state_digests", value, of_epoch);
    if (folder)
        keep_state(&model, folder, epoch, step);
    log_interval("uncounted_stop", with_reason, 0);
}

static int steps_of_epoch(const Training *t) {
    return (t->train_samples + t->batch_size - 1) / t->batch_size;
}

static double rate_at(const Training *t, int step, int horizon) {
    return strcmp(t->schedule, "linear") == 0 ? t->base_rate * (1.0 - step / (double)horizon) : t->base_rate;
}

/* One epoch from the step `done` on; returns the number of its steps. The training set is read by the first fetch. */
static int train_epoch(const Training *t, Split *split, int epoch, int done) {
    const int whole = steps_of_epoch(t), horizon = t->epochs * whole;
    const int count = t->steps && t->steps - done < whole ? t->steps - done : whole;
    int32_t *order = malloc((size_t)t->train_samples * sizeof *order);
    Step *steps = malloc((size_t)whole * sizeof *steps);
    REAL *images = malloc((size_t)t->batch_size * PIXELS * sizeof *images);
    int64_t *labels = malloc((size_t)t->batch_size * sizeof *labels);
    char metadata[80];
    if (!order || !steps || !images || !labels)
        FAIL("there is not enough memory for mini-batches of %d samples", t->batch_size);
    snprintf(metadata, sizeof metadata, "\"epoch_num\": %d, ", epoch);
    log_interval("epoch_start", metadata, 0);
    for (int i = 0; i < count; i++) {
        Step *s = steps + i;
        s->start_ns = now_ns();
        if (i == 0) {
            Random random;
            random_seed(&random, t->seed, (uint32_t)epoch);
            random_permutation(&random, order, (size_t)t->train_samples);
            if (!split->images)
                *split = read_split(t->directory, "train", t->train_samples);
        }
        const int first = i * t->batch_size, left = t->train_samples - first;
        s->samples = left < t->batch_size ? left : t->batch_size;
        for (int j = 0; j < s->samples; j++) {
            normalise(split->images + (size_t)order[first + j] * PIXELS, t->mean, t->deviation, images + j * PIXELS);
            labels[j] = split->labels[order[first + j]];
        }
        s->fetched_ns = s->copied_ns = now_ns(); /* the host is the device */
        s->epoch = epoch;
        s->step = done + i + 1;
        s->loss = gradients_of(&model, images, labels, s->samples);
        update(&model, rate_at(t, done + i, horizon), t->momentum, t->weight_decay);
        s->stepped_ns = now_ns();
        if (!isfinite(s->loss))
            FAIL("the loss became %g at step %d (epoch %d); use a smaller learning rate or batch size", s->loss, s->step, epoch);
    }
    write_steps(steps, count);
    snprintf(metadata, sizeof metadata, "\"epoch_num\": %d, \"steps\": %d, ", epoch, count);
    log_interval("epoch_stop", metadata, steps[count - 1].stepped_ns);
    free(order), free(steps), free(images), free(labels);
    return count;
}

static double evaluate(const Training *t, Split *split, int epoch) {
    char metadata[120], value[40], of_epoch[80];
    REAL image[PIXELS], logits[CLASSES];
    int correct = 0;
    snprintf(of_epoch, sizeof of_epoch, "\"epoch_num\": %d, ", epoch);
    log_interval("eval_start", of_epoch, 0);
    if (!split->images)
        *split = read_split(t->directory, "t10k", t->eval_samples);
    for (int i = 0; i < t->eval_samples; i++) {
        int best = 0;
        normalise(split->images + (size_t)i * PIXELS, t->mean, t->deviation, image);
        logits_of(&model, image, logits);
        for (int class = 1; class < CLASSES; class++)
            best = logits[class] > logits[best] ? class : best;
        correct += best == split->labels[i];
    }
    const double accuracy = correct / (double)t->eval_samples;
    snprintf(metadata, sizeof metadata, "%s\"correct\": %d, ", of_epoch, correct);
    snprintf(value, sizeof value, "%.17g", accuracy);
    log_point("eval_accuracy", value, metadata);
    log_interval("eval_stop", of_epoch, 0);
    return accuracy;
}

/* Epochs after one that was trained already (0: none) until the target is reached, or to the last epoch or step of the request; returns the
   run's status. */
static const char *run(const Training *t, const char *folder, int trained, int done) {
    Split training = {0}, evaluation = {0};
    const int whole = steps_of_epoch(t);
    for (int epoch = trained ? trained : 1;; epoch++) {
        if (epoch > trained) { /* a state is evaluated first */
            done += train_epoch(t, &training, epoch, done);
            log_state(folder, epoch, done);
        }
        const int is_last = epoch == t->epochs || done == t->steps, is_whole = done == epoch * whole;
        if (is_whole && (is_last || epoch % t->eval_every == 0) && evaluate(t, &evaluation, epoch) >= t->target)
            return "success";
        if (is_last)
            return t->target > 1 ? "success" : "aborted";
    }
}

static void train(const char *path, const char *states, const char *start) {
    const char *json = read_text(path);
    char folder[TEXT], value[400], of_epoch[80];
    int epoch = 0, done = 0;
    text_of(json, NULL, "output_directory", folder, sizeof folder);
    const Training t = read_training(json);
    open_records(folder);
    log_interval("init_start", "", 0);
    draw_weights(&model, t.seed);
    if (start) {
        restore_state(&model, start, &epoch, &done);
        if (done != epoch * steps_of_epoch(&t))
            FAIL("%s is a state within epoch %d", start, epoch);
        digests_of_state(value, sizeof value);
        snprintf(of_epoch, sizeof of_epoch, "\"epoch_num\": %d, ", epoch);
        log_point("state_restored", value, of_epoch);
    }
    snprintf(value, sizeof value, "%d", PARAMETERS);
    log_point("parameters", value, "");
    log_point("model_trained", "\"lenet5\"", "");
    log_point("optimizer_used", "\"sgd\"", "");
    log_point("precision", "\"float32\"", "");
    log_point("framework_version", "\"1.0\"", "");
    log_point("framework_threads", "1", "");
    log_point("ranks", "1", "");
    log_interval("init_stop", "", 0);
    log_interval("run_start", "", 0);
    snprintf(value, sizeof value, "\"status\": \"%s\", ", run(&t, states, epoch, done));
    log_interval("run_stop", value, 0);
    snprintf(value, sizeof value, "[%lld]", peak_memory_bytes());
    log_point("peak_rss_of_ranks", value, "");
    close_records();
}

/* ---- the probe ---- */

static void for_every_parameter(const char *folder, const char *kind, REAL *values, int is_read) {
    for (int i = 0; i < ARRAYS; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s/%s", kind, arrays[i].name);
        if (is_read)
            read_npy(folder, name, values + arrays[i].offset, arrays[i].size * sizeof *values);
        else
            write_npy(folder, name, values + arrays[i].offset, arrays[i].axes, arrays[i].dimensions);
    }
}

static void read_batch(const char *inputs, int index, int samples, REAL *images, int64_t *labels) {
    char name[40];
    snprintf(name, sizeof name, "images_%d", index);
    read_npy(inputs, name, images, (size_t)samples * PIXELS * sizeof *images);
    snprintf(name, sizeof name, "labels_%d", index);
    read_npy(inputs, name, labels, (size_t)samples * sizeof *labels);
}

static void probe(const char *path) {
    const char *json = read_text(path);
    char inputs[TEXT], output[TEXT];
    double rates[MOST_STEPS];
    REAL losses[MOST_STEPS];
    expect(json, NULL, "model", "lenet5");
    expect(json, NULL, "dtype", sizeof(REAL) == 4 ? "float32" : "float64");
    text_of(json, NULL, "inputs", inputs, sizeof inputs);
    text_of(json, NULL, "output", output, sizeof output);
    const int samples = (int)number_of(json, NULL, "batch_size"), steps = numbers_of(json, NULL, "learning_rates", rates, MOST_STEPS);
    const double momentum = number_of(json, "optimizer", "momentum"), weight_decay = number_of(json, "optimizer", "weight_decay");
    REAL *images = malloc((size_t)samples * PIXELS * sizeof *images), *logits = malloc((size_t)samples * CLASSES * sizeof *logits);
    int64_t *labels = malloc((size_t)samples * sizeof *labels);
    if (!images || !logits || !labels)
        FAIL("there is not enough memory for mini-batches of %d samples", samples);

    for_every_parameter(inputs, "parameter", model.parameter, 1);
    read_batch(inputs, 0, samples, images, labels);
    for (int i = 0; i < samples; i++)
        logits_of(&model, images + i * PIXELS, logits + i * CLASSES);
    const REAL loss = (REAL)gradients_of(&model, images, labels, samples);
    write_npy(output, "logits", logits, (int[]){samples, CLASSES}, 2);
    write_npy(output, "loss", &loss, NULL, 0);
    for_every_parameter(output, "gradient", model.gradient, 0);

    for (int i = 0; i < steps; i++) {
        read_batch(inputs, i, samples, images, labels);
        losses[i] = (REAL)gradients_of(&model, images, labels, samples);
        update(&model, rates[i], momentum, weight_decay);
    }
    write_npy(output, "losses", losses, &steps, 1);
    for_every_parameter(output, "parameter", model.parameter, 0);
}

/* The value of an option; NULL where it is not there. */
static const char *option(int count, char **words, const char *name) {
    for (int i = 2; i + 1 < count; i += 2)
        if (strcmp(words[i], name) == 0)
            return words[i + 1];
    return NULL;
}

int main(int count, char **words) {
    const char *request = option(count, words, "--request");
    if (request && strcmp(words[1], "train") == 0)
        train(request, option(count, words, "--keep-states"), option(count, words, "--start-state"));
    else if (request && strcmp(words[1], "probe") == 0)
        probe(request);
    else
        FAIL("type: lenet train|probe --request FILE [--keep-states FOLDER] [--start-state FILE]");
    return 0;
}
