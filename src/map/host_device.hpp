// Functions of this folder are compiled for the host; a GPU compiler also compiles them for the device.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define CORNERTURN_HOST_DEVICE __host__ __device__
#else
#define CORNERTURN_HOST_DEVICE
#endif
