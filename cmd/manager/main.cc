// The KubeRay operator: what /manager in the operator image runs.
#include "operator/process.h"

int main(int argc, char** argv) { return manta::operator_::run_manager({argv + 1, argv + argc}); }
