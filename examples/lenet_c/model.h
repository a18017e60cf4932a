/* LeNet-5 for 28x28 grey images: forward, backward and SGD with momentum, one sample after the other, in the precision REAL. */
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include <stdint.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10, ARRAYS = 10, PARAMETERS = 61706 };

/* One parameter array: its name and axes in the canonical layout, and where it begins among all parameters. */
typedef struct {
    const char *name;
    int axes[4];
    int dimensions;
    size_t size, offset;
} Array;

extern const Array arrays[ARRAYS];

typedef struct {
    REAL parameter[PARAMETERS], gradient[PARAMETERS], velocity[PARAMETERS];
} Model;

/* Class scores of one image. */
void logits_of(const Model *model, const REAL *image, REAL logits[CLASSES]);

/* Mean loss of a mini-batch; its gradients are left in model->gradient. */
double gradients_of(Model *model, const REAL *images, const int64_t *labels, int samples);

/* v = m v + g + weight_decay w; w -= rate v. */
void update(Model *model, double rate, double momentum, double weight_decay);

/* Glorot and Bengio's uniform distribution, from the seed; biases are zero. */
void draw_weights(Model *model, uint32_t seed);

#endif
