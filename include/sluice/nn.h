// Neural networks: modules with named parameters, layers, losses.
#ifndef SLUICE_NN_H_
#define SLUICE_NN_H_

#include <sluice/nn/activations.h>
#include <sluice/nn/attention.h>
#include <sluice/nn/containers.h>
#include <sluice/nn/gradients.h>
#include <sluice/nn/init.h>
#include <sluice/nn/layers.h>
#include <sluice/nn/losses.h>
#include <sluice/nn/module.h>
#include <sluice/nn/parameters.h>
#include <sluice/nn/recurrent.h>
#include <sluice/nn/summary.h>

#endif  // SLUICE_NN_H_
