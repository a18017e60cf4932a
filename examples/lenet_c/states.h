/* Training states: what numpy.savez writes, a zip archive without compression of .npy arrays. docs/implementing.md defines them. */
#ifndef STATES_H
#define STATES_H

#include "model.h"

/* Write folder/epoch_<n>.npz, whole or not at all. */
void keep_state(const Model *model, const char *folder, int epoch, int step);

/* Take over parameters and velocities; returns how many epochs and steps they were trained. */
void restore_state(Model *model, const char *path, int *epoch, int *step);

#endif
