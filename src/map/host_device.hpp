// Functions of this folder are compiled for the host and, where a GPU compiler reads them, for the device too.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define CORNERTURN_HOST_DEVICE __host__ __device__
#else
#define CORNERTURN_HOST_DEVICE
#endif
